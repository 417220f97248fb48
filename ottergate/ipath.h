/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipath.h - the one canonicaliser of request paths, and how rules match them
 *
 * What is matched is what is forwarded (catalogue H8). Paths that two servers
 * may read differently are refused: dot segments in any spelling, empty
 * segments, backslashes, control bytes, what would be one of these when it
 * were decoded once more (RFC 3986 §5.2.4, §6.2.2). Canonical: unreserved
 * characters plain, everything else that was encoded still so, hex in upper
 * case. An encoded slash stays encoded: servers disagree on whether it
 * separates, so patterns are matched in a way that holds for both.
 */
#ifndef OTTERGATE_IPATH_H
#define OTTERGATE_IPATH_H

#include <stdbool.h>

#include "lib/slice.h"

#define IPATH_MAX 8192u /* bytes, query included */

struct ipath {
	size_t path_len; /* of @s: the path */
	size_t len; /* with '?' and query, which is as it came */
	char s[IPATH_MAX + 1]; /* NUL-terminated */
};

/* @target: origin form, "/path?query", or "*" alone (RFC 9112 §3.2.4).
 * -EBADMSG: refused. @ret is of no use then. */
int ipath_canon(struct slice target, struct ipath *ret) ATTR_WUR;

/*
 * Does the canonical @path match? "*" stands for any run within a segment,
 * a segment "**" for any number of segments, also none; the rest is exact and
 * heeds case. A segment with an encoded slash is matched by "**", and by
 * patterns that have "%2F" there themselves.
 */
bool ipath_match(const char *pattern, struct slice path);
/*
 * The same for what denies, in every way in which a server may find the same
 * thing: also when encoded slashes do separate, whatever the case, with a slash
 * at the end, with parameters (";a=b"), with a format (".json") at the end, with
 * any character encoded.
 */
bool ipath_match_deny(const char *pattern, struct slice path);

/*
 * The name of a parameter of a query, as lenient servers read it, in lower
 * case: decoded, '+' a blank, without blanks, brackets and '$' in front, cut
 * where an index "[…]" or a NUL begins, and "-", "." and blanks as "_". Cut to
 * @size, NUL included.
 */
void ipath_param(struct slice name, char *out, size_t size);

/* Decodes %XX; whatever does not decode stays. Returns bytes in @out, at most
 * @size (the rest is cut). */
size_t ipath_decode(struct slice in, char *out, size_t size);

#endif
