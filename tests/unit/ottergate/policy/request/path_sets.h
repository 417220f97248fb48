/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_sets.h - a set of one pattern, for tests and fuzz targets
 */
#ifndef TESTS_UNIT_OTTERGATE_POLICY_REQUEST_PATH_SETS_H
#define TESTS_UNIT_OTTERGATE_POLICY_REQUEST_PATH_SETS_H

#include <stdlib.h>

#include "ottergate/policy/request/path_set.h"

/* Whether @pattern hits @path; -E2BIG: to find it is too much work. */
static inline int one_asks(const char *pattern, struct slice path, bool loose)
{
	const struct ipath_pattern one = { pattern, 0 };
	const struct ipath_set *s = NULL;
	struct ipath_hits hits = { 0 };
	struct arena arena = { 0 };
	int rc = ipath_set_make(&arena, &one, 1, loose, &s);

	if (rc == 0)
		rc = loose ? ipath_set_like(s, path, &hits) :
			     ipath_set_match(s, path, &hits);
	arena_done(&arena);
	if (rc < 0 && rc != -E2BIG)
		abort();
	return rc < 0 ? rc : ipath_hit(&hits, 0);
}

static inline bool one_hits(const char *pattern, struct slice path, bool loose)
{
	int rc = one_asks(pattern, path, loose);

	if (rc < 0)
		abort();
	return rc;
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
