/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cp_dest.h - where a copy out of a sandbox goes to
 *
 * The directory is opened once, and what follows goes by its descriptor: an
 * agent with a live workspace could otherwise put a link in its place between
 * two looks at the path, and have the file written elsewhere.
 */
#ifndef CONTROL_CLI_CMD_CP_DEST_H
#define CONTROL_CLI_CMD_CP_DEST_H

#include <limits.h>
#include <stddef.h>

#include "lib/err.h"

/* The last component of @path into @ret: -EINVAL when there is none ("/",
 * "..", ""); a slash at the end does not count. Pure. */
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

/*
 * Opens the directory that takes the copy: @path itself with the entry called
 * @base when it is a directory, else what is before its last component.
 * Returns 0, the caller ends @ret with cp_dest_done(). Fails with -EINVAL when
 * @path ends in no name, -ENOMEM, or what open(2) says.
 */
int cp_dest_open(const char *path, const char *base, struct cp_dest *ret,
		 struct err *err);
void cp_dest_done(struct cp_dest *dest);
#define SCOPED_CP_DEST __attribute__((cleanup(cp_dest_done))) struct cp_dest

/*
 * Says what a copy has to do: put a new file in place, or write into what is
 * there, since to replace a pipe or a device would take it from all others.
 * Refuses a link with -ELOOP: the agent may have made it, and what it leads to
 * is not what was named. Negative with @err.
 */
#define CP_DEST_PLACE 0
#define CP_DEST_WRITE 1
int cp_dest_kind(const struct cp_dest *dest, struct err *err);

/* Room for a name from cp_dest_temp(). */
#define CP_DEST_TEMP 32

/* Writes a new random name, for a file that is renamed at its end. Returns 0,
 * fails with what getrandom(2) says. */
int cp_dest_temp(char ret[CP_DEST_TEMP]);

#endif
