/* SPDX-License-Identifier: Apache-2.0 */
/*
 * untar.h - a filter before the system's tar, for an archive that a sandbox
 * wrote
 *
 * Lets through regular files, directories, symbolic and hard links below one
 * expected name, and nothing else: no device, no path that leads elsewhere,
 * no setuid bit, no owner. Every header is written anew, in one form that
 * all tars read alike, so that none can see in it what this filter did not.
 */
#ifndef CONTROL_CLI_WIRE_UNTAR_H
#define CONTROL_CLI_WIRE_UNTAR_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/slice.h"

#define UNTAR_BLOCK 512u
#define UNTAR_NAME_MAX 4096u /* bytes of a name, with its NUL */

/* Gets what may pass. A negative result ends it. */
typedef int (*untar_fn)(void *arg, const void *data, size_t len);

struct untar {
	untar_fn fn;
	void *arg;
	const char *top; /* every name is this or below it */
	uint8_t block[UNTAR_BLOCK];
	size_t have; /* bytes of block */
	uint64_t skip; /* blocks of data that still pass */
	/* GNU long name and link name under way or waiting for their entry */
	char name[UNTAR_NAME_MAX], link[UNTAR_NAME_MAX];
	char *into; /* the one that data goes to, NULL: none */
	size_t into_len, into_want;
	bool has_name, has_link, ended;
	const char *why; /* after a refusal, for people */
};

/* @top is kept by reference. */
void untar_init(struct untar *u, const char *top, untar_fn fn, void *arg);
/* -EBADMSG: refused, @u->why says why; else what @fn returned. */
int untar_feed(struct untar *u, const void *data, size_t len) ATTR_WUR;
/* The archive is over. -EBADMSG: in the middle. */
int untar_finish(struct untar *u) ATTR_WUR;

#endif
