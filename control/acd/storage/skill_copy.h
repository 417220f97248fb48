/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skill_copy.h - copies the skills of a blueprint to where a sandbox reads them
 */
#ifndef CONTROL_ACD_STORAGE_SKILL_COPY_H
#define CONTROL_ACD_STORAGE_SKILL_COPY_H

#include <stddef.h>

#include "lib/err.h"

#define SKILL_FILES_MAX 512u /* files and folders, of all skills of a start */
#define SKILL_BYTES_MAX (8u * 1024 * 1024) /* the same */
#define SKILL_DEPTH_MAX 8u /* folders within each other */
#define SKILL_FILE "SKILL.md" /* which each must have */

struct skill_source {
	const char *name; /* of the copy: no path */
	const char *dir; /* of its blueprint, absolute */
	const char *folder; /* below that, without ".." */
};

struct skill_spec {
	const char *to; /* made, with mode 0755; what is there is removed */
	const struct skill_source *v;
	size_t n;
};

/*
 * Copies each skill to @to/NAME. A treejob_work. A folder is opened once, below
 * its blueprint's, without following a link; all else is reached from there.
 * Files become 0644, or 0755 if one of the bits for execution is set, and belong
 * to the caller. Returns 0. Fails with a message, and nothing is left at @to, if
 * a skill is missing, has no SKILL.md, is larger than the limits, or has
 * anything but files and folders.
 */
int skill_copy(const void *what, struct err *err);

#endif
