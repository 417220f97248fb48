/* SPDX-License-Identifier: Apache-2.0 */
/*
 * risky.h - which files make the user's own programs run an agent's code
 *
 * A list of names that is never complete: it is shown, and decides nothing but
 * whether a question is asked.
 */
#ifndef CONTROL_CLI_LAYER_RISKY_H
#define CONTROL_CLI_LAYER_RISKY_H

/* Returns what runs the file @path (relative to the workspace), a constant, or
 * NULL. Has no side effects. */
const char *risky_file(const char *path);
/* Returns the same for a symbolic link @path with the target @target: also if it
 * leads out of the workspace. */
const char *risky_link(const char *path, const char *target);

#endif
