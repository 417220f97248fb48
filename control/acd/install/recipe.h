/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recipe.h - the Dockerfile of an image that a blueprint describes
 */
#ifndef CONTROL_ACD_INSTALL_RECIPE_H
#define CONTROL_ACD_INSTALL_RECIPE_H

#include "control/acd/blueprint/blueprint.h"
#include "control/shared/paths.h"
#include "lib/buf.h"
#include "lib/err.h"

/* Where recipes are written: RECIPES/IMAGE/Dockerfile (images/build.sh). */
#define RECIPES AC_STATE "/cache/recipes"
#define RECIPE_PARENTS_MAX 8u /* images that are made from each other */

/* Appends the Dockerfile that @b describes, whose `from` is set. Returns 0,
 * -ENOBUFS or -ENOMEM. */
int recipe_text(const struct blueprint_build *b, struct buf *out);
/*
 * Writes the recipe of @image below the directory @dir, and of those that it is
 * made from; removes what is left there of an image that has another recipe. A
 * file that has not changed stays as it is. Returns 0, or a negative errno with
 * @err.
 */
int recipe_write(const char *dir, const char *image, struct err *err);

#endif
