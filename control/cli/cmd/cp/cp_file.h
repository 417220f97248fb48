/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cp_file.h - one regular file into or out of a running sandbox
 */
#ifndef CONTROL_CLI_CMD_CP_FILE_H
#define CONTROL_CLI_CMD_CP_FILE_H

#include "control/cli/wire/client.h"
#include "control/cli/cmd/cp/cp_dest.h"

struct cp_file {
	struct client *client;
	const char *name; /* of the instance */
	void (*moved)(void *arg, size_t len); /* progress; NULL: none */
	void *arg;
};

/* Not a regular file on both sides, or something unexpected: the caller copies
 * it as a tree instead, which also reports errors. Nothing was done. */
#define CP_FILE_NOT 1

/* Copies the local file @src to @dst in the sandbox; if @dst is a directory, to
 * @base in it. Returns 0 or CP_FILE_NOT. Fails with a negative errno and @err;
 * then @dst is unchanged. */
int cp_file_in(const struct cp_file *f, const char *src, const char *dst,
	       const char *base, struct err *err);
/* Copies @src in the sandbox to the local @dest. Returns as cp_file_in(); after
 * a failure a pipe or a device may have got a part. */
int cp_file_out(const struct cp_file *f, const char *src,
		const struct cp_dest *dest, struct err *err);

#endif
