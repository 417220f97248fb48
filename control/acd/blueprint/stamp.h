/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stamp.h - a number that changes with what is in a folder
 */
#ifndef CONTROL_ACD_BLUEPRINT_STAMP_H
#define CONTROL_ACD_BLUEPRINT_STAMP_H

#include <stdint.h>

#define STAMP_ENTRIES_MAX \
	8192u /* of one folder; beyond, no stamp is another's */

/* Returns @seed mixed with the names, inodes, sizes, modes and times of all that
 * is below @path, which links are not followed from. A folder that is not there
 * is an empty one. Two calls give the same number only if nothing changed between
 * them; one that is larger than STAMP_ENTRIES_MAX, or cannot be read, gives a new
 * number each time. */
uint64_t stamp_folder(uint64_t seed, const char *path);

#endif
