/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_set.h - finds which of many patterns a path matches, in one walk over it
 *
 * A set is made once, with the policy, and then only read. The cost of a walk
 * depends on the length of the path, not on the number of patterns; if it would
 * exceed IPATH_SET_WORK_MAX, the walk fails.
 *
 * In a pattern "*" stands for any number of characters of one segment, "#" for
 * one or more digits, and a segment "**" for any number of segments, also none;
 * all else stands for itself, in the same case. A segment with an encoded slash
 * is matched by "**", and by patterns with "%2F" in that place.
 */
#ifndef OTTERGATE_POLICY_REQUEST_PATH_SET_H
#define OTTERGATE_POLICY_REQUEST_PATH_SET_H

#include <stdbool.h>

#include "lib/attr.h"
#include "lib/slice.h"
#include "lib/arena.h"

#define IPATH_SET_ITEMS 512u
#define IPATH_SET_NODES_MAX (1u << 20)
/* Nodes that all walks for one struct ipath_hits may visit together. With the
 * shipped rules an ordinary path of 2 KiB takes up to some 41,000 (tests/unit/
 * blueprints/credential_work_test). */
#define IPATH_SET_WORK_MAX 65536u

struct ipath_set;

struct ipath_pattern {
	const char *text;
	/* The caller's number of what it belongs to, below IPATH_SET_ITEMS.
	 * Patterns may have the same. */
	uint16_t item;
};

struct ipath_hits { /* zeroed by the caller before the first walk */
	/* The items of which a pattern matches: ipath_hit(). */
	uint64_t bits[IPATH_SET_ITEMS / 64];
	uint64_t work; /* nodes that were visited for them */
};

/* Returns true if a pattern of @item matches. */
static inline bool ipath_hit(const struct ipath_hits *h, size_t item)
{
	return h->bits[item / 64] >> item % 64 & 1;
}

/* Makes a set of the @n patterns, which are borrowed for the call, and sets
 * *@ret to it. It lives in @arena and is freed with that. @loose: it is for
 * ipath_set_like(), else for ipath_set_match(). A pattern that no canonical
 * path can match is left out. Returns 0, -ENOMEM, or -E2BIG beyond
 * IPATH_SET_NODES_MAX. */
int ipath_set_make(struct arena *arena, const struct ipath_pattern *v, size_t n,
		   bool loose, const struct ipath_set **ret) ATTR_WUR;
/* Adds to @hits the items that the canonical @path (path.h, without query)
 * matches, and the work. Returns 0, with no hits if @s is NULL or @path is "*".
 * Fails with -ENOMEM, or -E2BIG beyond IPATH_SET_WORK_MAX; the bits of @hits
 * are incomplete then. */
int ipath_set_match(const struct ipath_set *s, struct slice path,
		    struct ipath_hits *hits) ATTR_WUR;
/*
 * Does the same for rules that deny, so that @path also matches if some server
 * could read it as what the pattern names: with encoded slashes as separators;
 * in any case; with a slash at the end, encoded or not; with parameters
 * (";a=b"); with any character encoded; and without what follows a dot in the
 * last segment (".json", ".JSON.gz", "."), unless the segment begins with it.
 */
int ipath_set_like(const struct ipath_set *s, struct slice path,
		   struct ipath_hits *hits) ATTR_WUR;

#endif
