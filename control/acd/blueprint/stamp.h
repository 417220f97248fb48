/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stamp.h - a number that changes with what is in a folder
 */
#ifndef CONTROL_ACD_BLUEPRINT_STAMP_H
#define CONTROL_ACD_BLUEPRINT_STAMP_H

#include <stdint.h>

#define STAMP_ENTRIES_MAX 8192u /* of one folder */

/* Returns @seed mixed with the names, inodes, sizes, modes and times of all that
 * is below @path. Links are not followed. A folder that is not there is an empty
 * one. Two calls give different numbers if something changed between them, later
 * than a tick of the file system's clock after the first. What has more than
 * STAMP_ENTRIES_MAX entries, or cannot be read, always gives the same number, so
 * that its changes are not seen. */
uint64_t stamp_folder(uint64_t seed, const char *path);

#endif
