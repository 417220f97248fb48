/* SPDX-License-Identifier: Apache-2.0 */
/*
 * images.h - finds out which images of blueprints the engine has
 */
#ifndef CONTROL_ACD_BLUEPRINT_IMAGES_H
#define CONTROL_ACD_BLUEPRINT_IMAGES_H

#include "control/acd/blueprint/build.h"
#include "control/runtime.h"

/* Asks @rt about the image of each blueprint and returns at once. The answers
 * come later, from the loop: each image that is there is noted in @builds. Both
 * must live until then. Ignores failures: acd then does not know whether the
 * image is there until its first run. */
void images_look(struct runtime *rt, struct builds *builds);
/* Does that for one image, as after it was built. */
void image_look(struct runtime *rt, struct builds *builds, const char *image);

#endif
