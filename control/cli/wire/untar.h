/* SPDX-License-Identifier: Apache-2.0 */
/*
 * untar.h - filters an archive of a sandbox before the system's tar
 *
 * Passes regular files, directories, symbolic and hard links below one expected
 * name, and nothing else: no device, no path that leads elsewhere, no setuid
 * bit, no owner. Headers are written again in one form that all tars read
 * alike, so no tar can find in them what this filter did not.
 */
#ifndef CONTROL_CLI_WIRE_UNTAR_H
#define CONTROL_CLI_WIRE_UNTAR_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/slice.h"

#define UNTAR_BLOCK 512u
#define UNTAR_NAME_MAX 4096u /* bytes of a name, with its NUL */

/* Takes output, borrowed. A negative result ends the filter. */
typedef int (*untar_fn)(void *arg, const void *data, size_t len);

struct untar {
	untar_fn fn;
	void *arg;
	const char *top; /* every name is this or below it */
	uint8_t block[UNTAR_BLOCK];
	size_t have; /* bytes of block */
	uint64_t skip; /* blocks of an entry's data that are still to come */
	/* GNU long name and link name, being read or waiting for an entry */
	char name[UNTAR_NAME_MAX], link[UNTAR_NAME_MAX];
	char *into; /* one of these, while it is being read; else NULL */
	size_t into_len, into_want;
	bool has_name, has_link, ended;
	const char *why; /* reason of a refusal, for people; a constant */
};

/* Begins an archive. Keeps @top by reference. There is nothing to free. */
void untar_init(struct untar *u, const char *top, untar_fn fn, void *arg);
/* Takes a piece of any size and passes what is whole and allowed to @fn; what
 * comes after the archive's end is ignored. Returns 0, -EBADMSG with @u->why,
 * or a negative result of @fn. After a failure the filter cannot go on. */
int untar_feed(struct untar *u, const void *data, size_t len) ATTR_WUR;
/* Ends the archive. Returns 0, or -EBADMSG with @u->why if it is incomplete. */
int untar_finish(struct untar *u) ATTR_WUR;

#endif
