/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cp_dest.h - the destination of a copy out of a sandbox
 *
 * The directory is opened once and used by its descriptor. An agent with a live
 * workspace could otherwise replace it by a link between two look-ups of the
 * path, and so redirect the file.
 */
#ifndef CONTROL_CLI_CMD_CP_DEST_H
#define CONTROL_CLI_CMD_CP_DEST_H

#include <limits.h>
#include <stddef.h>

#include "lib/err.h"

/* Copies the last component of @path, without slashes at the end, to @ret.
 * Returns 0, or -EINVAL if there is none ("/", "..", "") or it does not fit.
 * Has no side effects. */
int cp_base_name(const char *path, char *ret, size_t size);

struct cp_dest {
	int dir; /* descriptor (O_PATH) of the directory */
	char name[NAME_MAX + 1]; /* in @dir, whether or not it exists */
	char *shown; /* the path, for messages */
};

#define CP_DEST_INIT      \
	{                 \
		.dir = -1 \
	}

/* Opens the directory that gets the copy: @path with the name @base if @path is
 * a directory, else the parent of @path. Returns 0. Fails with -EINVAL if @path
 * has no usable last component, -ENOMEM, or the errno of open(2). The caller
 * calls cp_dest_done() in all cases. */
int cp_dest_open(const char *path, const char *base, struct cp_dest *ret,
		 struct err *err);
/* Closes and frees what @dest holds; accepts CP_DEST_INIT. */
void cp_dest_done(struct cp_dest *dest);
#define SCOPED_CP_DEST __attribute__((cleanup(cp_dest_done))) struct cp_dest

/* Returns CP_DEST_PLACE if a new file is put in place by a rename, or
 * CP_DEST_WRITE if a pipe or a device is there: a rename would take it from its
 * other users. Fails with -ELOOP on a symbolic link, which the agent may have
 * made, or with the errno of fstatat(2), with @err. */
#define CP_DEST_PLACE 0
#define CP_DEST_WRITE 1
int cp_dest_kind(const struct cp_dest *dest, struct err *err);

/* Size of a name from cp_dest_temp(). */
#define CP_DEST_TEMP 32

/* Writes a random name for a temporary file. Returns 0, or the negative errno
 * of getrandom(2). */
int cp_dest_temp(char ret[CP_DEST_TEMP]);

#endif
