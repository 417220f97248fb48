/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cp_file.h - one regular file into or out of a running sandbox
 */
#ifndef CONTROL_CLI_CMD_CP_FILE_H
#define CONTROL_CLI_CMD_CP_FILE_H

#include "control/cli/wire/client.h"
#include "control/cli/cmd/cp_dest.h"

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
/* @src there to @dest here. Likewise, but that what is no regular file may have
 * got a part. */
int cp_file_out(const struct cp_file *f, const char *src,
		const struct cp_dest *dest, struct err *err);

#endif
