/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path.h - the only code that makes request paths canonical
 *
 * The path that is matched is the one that is forwarded (catalogue H8). Paths
 * that two servers may read differently are refused: dot segments in any
 * spelling, empty segments, backslashes, control bytes, and what would become
 * one of these if it were decoded once more (RFC 3986 §5.2.4, §6.2.2).
 *
 * In the canonical form unreserved characters are plain; all others stay as
 * they were, with hex digits in upper case. An encoded slash stays encoded:
 * servers disagree whether it separates segments, so patterns are matched in a
 * way that holds for both (path_set.h). No side effects, no allocation.
 */
#ifndef OTTERGATE_POLICY_REQUEST_PATH_H
#define OTTERGATE_POLICY_REQUEST_PATH_H

#include <stdbool.h>

#include "lib/slice.h"

#define IPATH_MAX 8192u /* bytes, query included */
#define IPATH_PATH_MAX 4096u /* of these, without it; as it is sent on */
#define IPATH_SEGMENTS_MAX 64u

struct ipath {
	size_t path_len; /* bytes of the path at the beginning of s */
	size_t len; /* of all of s: with '?' and the query, unchanged */
	char s[IPATH_MAX + 1]; /* NUL-terminated */
};

/* Sets *@ret to the canonical form of @target: "/path?query", or "*" alone (RFC
 * 9112 §3.2.4). Returns 0; -EBADMSG if it is refused; -E2BIG beyond the limits
 * above. After a failure @ret is of no use. */
int ipath_canon(struct slice target, struct ipath *ret) ATTR_WUR;

/*
 * Writes to @out the canonical @path as the most lenient server may read it:
 * decoded except for slashes, and without the parameters of segments, what
 * follows an encoded '?' or '#', and slashes at the end. Returns the length, at
 * most that of @path; writes no NUL.
 */
size_t ipath_plain(struct slice path, char *out);

/*
 * Writes to @out the name of a parameter of a query, as lenient servers read
 * it: decoded, with '+' for a blank; without blanks, brackets and '$' at the
 * beginning; up to a bracket or a NUL; in lower case, with "_" for "-", "." and
 * blanks. Ends with a NUL, and is cut to @size bytes with it.
 */
void ipath_param(struct slice name, char *out, size_t size);

/* Decodes %XX once; what is no such escape stays. Writes at most @size bytes,
 * and no NUL; the rest is cut. Returns how many were written. */
size_t ipath_decode(struct slice in, char *out, size_t size);

#endif
