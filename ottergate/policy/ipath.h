/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipath.h - the one canonicaliser of request paths
 *
 * What is matched is what is forwarded (catalogue H8). Paths that two servers
 * may read differently are refused: dot segments in any spelling, empty
 * segments, backslashes, control bytes, what would be one of these when it
 * were decoded once more (RFC 3986 §5.2.4, §6.2.2). Canonical: unreserved
 * characters plain, everything else that was encoded still so, hex in upper
 * case. An encoded slash stays encoded: servers disagree on whether it
 * separates, so patterns are matched in a way that holds for both.
 */
#ifndef OTTERGATE_POLICY_IPATH_H
#define OTTERGATE_POLICY_IPATH_H

#include <stdbool.h>

#include "lib/slice.h"

#define IPATH_MAX 8192u /* bytes, query included */
#define IPATH_PATH_MAX 4096u /* of these, without it; as it is sent on */
#define IPATH_SEGMENTS_MAX 64u

struct ipath {
	size_t path_len; /* of @s: the path */
	size_t len; /* with '?' and query, which is as it came */
	char s[IPATH_MAX + 1]; /* NUL-terminated */
};

/* @target: origin form, "/path?query", or "*" alone (RFC 9112 §3.2.4).
 * -EBADMSG: refused; -E2BIG: longer than the limits above. @ret is of no use
 * then. */
int ipath_canon(struct slice target, struct ipath *ret) ATTR_WUR;

/*
 * The canonical @path as the most lenient server may read it: decoded but for
 * slashes, without the parameters of segments, what would be a query when
 * decoded, and slashes at the end. @out has room for @path.
 */
size_t ipath_plain(struct slice path, char *out);

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
