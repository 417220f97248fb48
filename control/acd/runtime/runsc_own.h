/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc_own.h - makes the layers of ours, below and above those of an image
 */
#ifndef CONTROL_ACD_RUNTIME_RUNSC_OWN_H
#define CONTROL_ACD_RUNTIME_RUNSC_OWN_H

#include "control/acd/runtime/runsc_spec.h"

/* Makes the layer for the bottom, @dir, as runsc_places has it. What exists
 * there stays. Returns 0 or a negative errno. */
int own_bottom_make(const char *dir);
/*
 * Makes the layer for the top, @dir: copies of @covers, root's. If @dir exists
 * it is complete and is left as it is. Returns 0 or a negative errno: -ENOENT if
 * a source is missing.
 */
int own_top_make(const char *dir, const struct runsc_cover *covers);

#endif
