/* SPDX-License-Identifier: Apache-2.0 */
/*
 * images.h - which images of blueprints does the engine have already
 */
#ifndef CONTROL_ACD_BLUEPRINT_IMAGES_H
#define CONTROL_ACD_BLUEPRINT_IMAGES_H

#include "control/acd/blueprint/build.h"
#include "control/runtime.h"

/* Asks @rt, which must not go before its answers; what it has is noted in
 * @builds, by and by. A failure leaves an image unknown: the first run tells. */
void images_look(struct runtime *rt, struct builds *builds);

#endif
