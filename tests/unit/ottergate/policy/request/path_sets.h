/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipath_sets.h - a set of one pattern, for tests and fuzz targets
 */
#ifndef TESTS_UNIT_OTTERGATE_POLICY_IPATH_SETS_H
#define TESTS_UNIT_OTTERGATE_POLICY_IPATH_SETS_H

#include <stdlib.h>

#include "ottergate/policy/ipath_set.h"

/* Whether @pattern hits @path; -E2BIG: to find it is too much work. */
static inline int one_asks(const char *pattern, struct slice path, bool loose)
{
	const struct ipath_pattern one = { pattern, 0 };
	const struct ipath_set *s = NULL;
	struct ipath_hits hits = { 0 };
	struct arena arena = { 0 };
	int r = ipath_set_make(&arena, &one, 1, loose, &s);

	if (r == 0)
		r = loose ? ipath_set_like(s, path, &hits) :
			    ipath_set_match(s, path, &hits);
	arena_done(&arena);
	if (r < 0 && r != -E2BIG)
		abort();
	return r < 0 ? r : ipath_hit(&hits, 0);
}

static inline bool one_hits(const char *pattern, struct slice path, bool loose)
{
	int r = one_asks(pattern, path, loose);

	if (r < 0)
		abort();
	return r;
}

static inline bool one_matches(const char *pattern, struct slice path)
{
	return one_hits(pattern, path, false);
}

static inline bool one_is_like(const char *pattern, struct slice path)
{
	return one_hits(pattern, path, true);
}

#endif
