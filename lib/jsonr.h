/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jsonr.h - a strict, bounded reader of whole JSON texts (RFC 8259)
 *
 * The caller takes the values out of a slice in their order; there is no tree
 * and no allocation. What another parser might read differently is refused:
 * control bytes in strings, lone surrogates, comments, trailing commas, other
 * number formats, more than JSONR_DEPTH_MAX levels. The caller has to refuse
 * duplicate keys.
 *
 * Each int function returns -EBADMSG for anything unexpected; the reader must
 * not be used after that. Results are views of the text.
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
	struct slice in; /* unread rest */
	unsigned depth;
	/* nothing was read yet from the innermost object or array */
	bool first;
};

/* Starts at the front of @text, which must outlive the reader. */
void jsonr_init(struct jsonr *j, struct slice text);
/* Returns the kind of the next value (enum jsonr_kind) without taking it. */
int jsonr_peek(struct jsonr *j) ATTR_WUR;
/* Takes @bracket, '{' or '['. Returns 0. */
int jsonr_open(struct jsonr *j, char bracket) ATTR_WUR;
/* Advances within the innermost array (@ret_key is NULL) or object. Returns 1
 * if a value follows; its key is then in *@ret_key, without quotes and still
 * escaped. Returns 0 at the end, having left the array or object. */
int jsonr_next(struct jsonr *j, struct slice *ret_key) ATTR_WUR;
/* Takes a string: *@ret is what stands between the quotes, still escaped.
 * Returns 0. */
int jsonr_string(struct jsonr *j, struct slice *ret) ATTR_WUR;
/* Takes a whole number from 0 on. Returns 0, or -ERANGE beyond UINT64_MAX. */
int jsonr_u64(struct jsonr *j, uint64_t *ret) ATTR_WUR;
/* Takes one value of any kind and ignores it. Returns 0. */
int jsonr_skip(struct jsonr *j) ATTR_WUR;
/* Returns 0 if only blanks are left and every bracket is closed. */
int jsonr_end(struct jsonr *j) ATTR_WUR;

/* Unescapes a string from jsonr_string() into @out, without a NUL; the result
 * is never longer than @raw. Returns its length, -EBADMSG for a bad escape, or
 * -ENOBUFS if it exceeds @size bytes. */
ssize_t jsonr_unescape(struct slice raw, void *out, size_t size) ATTR_WUR;
/* Returns true if the escaped string @raw means @text (ASCII, at most 64
 * bytes). */
bool jsonr_is(struct slice raw, const char *text);

#endif
