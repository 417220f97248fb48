/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known.h - whether there is anything at a path that the user named
 */
#ifndef CONTROL_CLI_LAYER_KNOWN_H
#define CONTROL_CLI_LAYER_KNOWN_H

#include "control/cli/layer/stage.h"

/* Looks for @path among the changes in @stage, which are sorted and not selected
 * from, in the user's directory @root, and in the commit that is checked out there.
 * Returns 1 if it is in one of them, 0 if not, or a negative errno. */
int known_path(const struct stage *stage, int root, const char *path) ATTR_WUR;

#endif
