/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipath_set.h - which of many patterns a path matches, in one walk over it
 *
 * A set is made once, with the policy, and only read then. What a walk costs
 * depends on the length of the path, not on how many patterns there are; where
 * it would be more than IPATH_SET_WORK_MAX, there is no answer.
 *
 * "*" stands for any run within a segment, "#" for a run of one or more digits,
 * a segment "**" for any number of segments, also none; the rest is exact and
 * heeds case. A segment with an
 * encoded slash is matched by "**", and by patterns that have "%2F" there
 * themselves.
 */
#ifndef OTTERGATE_POLICY_IPATH_SET_H
#define OTTERGATE_POLICY_IPATH_SET_H

#include <stdbool.h>

#include "lib/attr.h"
#include "lib/slice.h"
#include "lib/arena.h"

#define IPATH_SET_ITEMS 512u
#define IPATH_SET_NODES_MAX (1u << 20)
/* Nodes that all walks for the same hits visit together. A path of 2 KiB that
 * nobody made for it takes up to some 41,000 of the shipped rules' (tests/unit/
 * blueprints/credential_work_test). */
#define IPATH_SET_WORK_MAX 65536u

struct ipath_set;

struct ipath_pattern {
	const char *text;
	uint16_t item; /* what it belongs to, below IPATH_SET_ITEMS */
};

struct ipath_hits { /* items of which a pattern matches; zeroed: none */
	uint64_t bits[IPATH_SET_ITEMS / 64];
	uint64_t work; /* nodes that were visited for them */
};

static inline bool ipath_hit(const struct ipath_hits *h, size_t item)
{
	return h->bits[item / 64] >> item % 64 & 1;
}

/* @loose: for ipath_set_like(), else for ipath_set_match(). The set lives in
 * @arena. -ENOMEM, -E2BIG: more nodes than IPATH_SET_NODES_MAX. */
int ipath_set_make(struct arena *arena, const struct ipath_pattern *v, size_t n,
		   bool loose, const struct ipath_set **ret) ATTR_WUR;
/* Adds the items that the canonical @path (ipath.h) matches, and the work.
 * -ENOMEM; -E2BIG: more than IPATH_SET_WORK_MAX, @hits says nothing then. */
int ipath_set_match(const struct ipath_set *s, struct slice path,
		    struct ipath_hits *hits) ATTR_WUR;
/*
 * The same for what denies, in every way in which a server may find the same
 * thing: also when encoded slashes do separate, whatever the case, with a slash
 * at the end, encoded or not, with parameters (";a=b"), with any character
 * encoded, and without what follows any dot of the last segment (".json",
 * ".JSON.gz", "."), but for one that the segment begins with.
 */
int ipath_set_like(const struct ipath_set *s, struct slice path,
		   struct ipath_hits *hits) ATTR_WUR;

#endif
