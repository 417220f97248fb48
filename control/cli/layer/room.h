/* SPDX-License-Identifier: Apache-2.0 */
/*
 * room.h - whether the user's disk has room for an apply
 */
#ifndef CONTROL_CLI_LAYER_ROOM_H
#define CONTROL_CLI_LAYER_ROOM_H

#include <sys/statvfs.h>

#include "control/cli/layer/steps.h"

#define ROOM_SPARE_PERCENT 5u /* of what is needed, besides */

struct room_need {
	uint64_t bytes, inodes;
};

/* Sets what the steps, whose copies are in the directory @copies, need at most at
 * one time. What is deleted makes no room, since that comes last. Returns 0 or a
 * negative errno. */
int room_need(const struct steps *steps, int copies,
	      struct room_need *ret) ATTR_WUR;
/* Returns true if a file system has that and the spare. Has no side effects. */
bool room_fits(const struct room_need *need, const struct statvfs *fs);
/* Checks it for the user's directory @root, of the name @path. Returns 0; -ENOSPC or
 * another negative errno with @err. */
int room_check(const struct steps *steps, int copies, int root,
	       const char *path, struct err *err) ATTR_WUR;

#endif
