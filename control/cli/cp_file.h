/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cp_file.h - one regular file into or out of a running sandbox
 */
#ifndef CONTROL_CLI_CP_FILE_H
#define CONTROL_CLI_CP_FILE_H

#include "control/cli/client.h"

struct cp_file {
	struct client *client;
	const char *name; /* of the instance */
	void (*moved)(void *arg, size_t len); /* bytes, as they go */
	void *arg;
};

/* That is no plain file on either side, or something is not as it should be:
 * the way for trees is the one to take, and to tell. Nothing was done. */
#define CP_FILE_NOT 1

/* @src here to @dst there; a directory takes it as @base. 0, CP_FILE_NOT, or
 * negative with @err: then nothing of it is there. */
int cp_file_in(const struct cp_file *f, const char *src, const char *dst,
	       const char *base, struct err *err);
/*
 * What a copy to @final here has to do: put a new file in place, or write into
 * what is there: to replace a pipe or a device would take it from all others.
 * A link is refused: the agent may have made it, and what it leads to is not
 * what was named. Negative with @err.
 */
#define CP_FINAL_PLACE 0
#define CP_FINAL_WRITE 1
int cp_final(const char *final, struct err *err);
/* @src there to @final here, which is no directory. Likewise, but that what is
 * no regular file may have got a part. */
int cp_file_out(const struct cp_file *f, const char *src, const char *final,
		struct err *err);

#endif
