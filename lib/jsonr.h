/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jsonr.h - a strict, bounded reader of whole JSON texts (RFC 8259)
 *
 * Pulls values out of a slice in the order in which they stand; no tree, no
 * allocation. What another reader might understand otherwise is refused:
 * control bytes in strings, lone surrogates, comments, trailing commas,
 * numbers of other forms, more than JSONR_DEPTH_MAX levels. Duplicate keys
 * are the caller's to refuse. Each call returns -EBADMSG on what it does not
 * take; the reader is of no use then.
 */
#ifndef LIB_JSONR_H
#define LIB_JSONR_H

#include <stdbool.h>

#include "lib/slice.h"

#define JSONR_DEPTH_MAX 64u

enum jsonr_kind {
	JSONR_OBJECT,
	JSONR_ARRAY,
	JSONR_STRING,
	JSONR_NUMBER,
	JSONR_BOOL,
	JSONR_NULL,
};

struct jsonr {
	struct slice in; /* what is left */
	unsigned depth;
	bool first; /* nothing of the innermost object or array is read yet */
};

void jsonr_init(struct jsonr *j, struct slice text);
/* What comes next, enum jsonr_kind. */
int jsonr_peek(struct jsonr *j) ATTR_WUR;
/* '{' or '['. */
int jsonr_open(struct jsonr *j, char bracket) ATTR_WUR;
/* 1: a value follows, for an object its key is in *ret_key, between the quotes
 * and not unescaped (NULL: an array); 0: it was the end of it. */
int jsonr_next(struct jsonr *j, struct slice *ret_key) ATTR_WUR;
/* What stands between the quotes, not unescaped. */
int jsonr_string(struct jsonr *j, struct slice *ret) ATTR_WUR;
/* A whole number from 0 on. -ERANGE. */
int jsonr_u64(struct jsonr *j, uint64_t *ret) ATTR_WUR;
int jsonr_skip(struct jsonr *j) ATTR_WUR; /* one value of any kind */
int jsonr_end(struct jsonr *j) ATTR_WUR; /* nothing but blanks is left */

/* Unescapes what jsonr_string() gave; it never grows. Returns its length, which
 * is at most @size. -EBADMSG, -ENOBUFS. */
ssize_t jsonr_unescape(struct slice raw, void *out, size_t size) ATTR_WUR;
/* Is it this text (ASCII), whichever way it is escaped? */
bool jsonr_is(struct slice raw, const char *text);

#endif
