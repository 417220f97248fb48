/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sbom.h - has a child list what is in an image (control/ac_sbom.c)
 */
#ifndef CONTROL_ACD_IMAGE_SBOM_H
#define CONTROL_ACD_IMAGE_SBOM_H

#include "control/acd/daemon/children.h"
#include "control/acd/image/gather.h"
#include "lib/slice.h"

#define IMAGE_SBOM_MAX (15u * 1024 * 1024) /* bytes; more is -EMSGSIZE */
#define IMAGE_SBOMS_MAX 2u /* at a time */
#define IMAGE_SBOM_MS 120000u

struct image_sbom;

/* @document: JSON that nothing has checked, as it comes from files of the
 * image; a view for the time of the call. @err: NULL on success; -EIO with what
 * the child says. */
typedef void (*image_sbom_fn)(void *arg, struct slice document,
			      const struct err *err);

/* Starts. @children and what is in @w are borrowed, @i for the call; @tool
 * ("ac-0.1.0") too. Returns 0 with *@ret, and calls @fn once, later, after which
 * *@ret is gone; or a negative errno with @err: -EBUSY for too many, -ENOTSUP if
 * this runtime mounts no image. */
int image_sbom_start(const struct images_world *w, struct children *children,
		     const struct image *i, const char *tool, image_sbom_fn fn,
		     void *arg, struct image_sbom **ret, struct err *err);
/* Ends it without calling @fn. NULL is fine. */
void image_sbom_cancel(struct image_sbom *b);
/* For tests: runs another program; kept by reference. */
void image_sbom_set_program(const char *path);

#endif
