/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_set_test.c - many patterns in one walk: what it finds, held
 * against trying them one by one, and what it costs, counted in nodes
 */
#include "ottergate/policy/request/path_set.h"

#include <stdio.h>
#include <string.h>

#include "tests/unit/ottergate/policy/request/path_oracle.h"
#include "tests/unit/ottergate/policy/request/path_sets.h"
#include "tests/unit/tap.h"

/* --- the same as one by one ----------------------------------------------- */

static const char *const parts[] = { "a",     "b",     "ab",     "*",   "**",
				     "a*",    "*b",    "a*b",    "A",   "%2F",
				     "a%2Fb", "*%2f*", "%3A",    "%c3", "",
				     "a*a",   "a;b",   "x.json", "a.",  "*.b",
				     "x",     "#",     "a#",     "#*",  "#2b",
				     "*#",    "##",    "###",    "a##" };
static const char *const path_parts[] = {
	"a",       "b",  "ab",  "aab",    "A",  "%2F",   "a%2Fb", "%3A", "%C3",
	"",        "aa", "a;b", "x.json", ":",  "b%3Fa", "a.b.A", "a.",  ".a",
	"a.b%2Fa", "1",  "a12", "12b",    "22", "1%2Fb", "2.a"
};

static uint32_t pick(uint32_t *state, uint32_t n)
{
	*state = *state * 1664525u + 1013904223u;
	return (*state >> 8) % n;
}

static void make(char *out, size_t size, const char *const *v, size_t n,
		 uint32_t *state)
{
	size_t at = 0, segments = 1 + pick(state, 4);

	for (size_t i = 0; i < segments; i++)
		at += (size_t)snprintf(out + at, size - at, "/%s",
				       v[pick(state, (uint32_t)n)]);
}

#define SET 24u

static void test_oracle(void)
{
	static char text[SET][64];
	struct ipath_pattern v[SET];
	unsigned wrong = 0, found = 0, tried = 0;
	uint32_t state = 1;

	for (unsigned round = 0; round < 300; round++) {
		const struct ipath_set *exact = NULL, *like = NULL;
		struct arena arena = { 0 };

		for (uint16_t i = 0; i < SET; i++) {
			make(text[i], sizeof(text[i]), parts, ARRAY_SIZE(parts),
			     &state);
			v[i] = (struct ipath_pattern){ text[i], i };
		}
		if (ipath_set_make(&arena, v, SET, false, &exact) < 0 ||
		    ipath_set_make(&arena, v, SET, true, &like) < 0)
			abort();
		for (unsigned k = 0; k < 30; k++) {
			struct ipath_hits e = { 0 }, l = { 0 };
			char path[64];

			make(path, sizeof(path), path_parts,
			     ARRAY_SIZE(path_parts), &state);
			wrong += ipath_set_match(exact, slice_str(path), &e) <
				 0;
			wrong += ipath_set_like(like, slice_str(path), &l) < 0;
			for (uint16_t i = 0; i < SET; i++, tried++) {
				bool want =
					oracle_match(text[i], slice_str(path));

				found += want;
				if (ipath_hit(&e, i) != want ||
				    ipath_hit(&l, i) !=
					    oracle_match_deny(
						    text[i], slice_str(path))) {
					printf("# %s for %s\n", path, text[i]);
					wrong++;
				}
			}
		}
		arena_done(&arena);
	}
	is_int(wrong, 0, "%u patterns and paths, %u match: as one by one",
	       tried, found);
	ok(found > 1000, "enough of them match");
}

/* --- work ----------------------------------------------------------------- */

#define MANY 4096u

/* Patterns as the rules of a forge have them. */
static void forge(char text[MANY][64], unsigned n)
{
	static const char *const forms[][2] = {
		{ "/repos/*/*/n", "/**" }, { "/**/user/n", "" },
		{ "/api/v4/*/n", "/*" },   { "/orgs/*/n", "" },
		{ "/**/n", "/*/tokens" },  { "/v1/*:n", "" },
	};

	for (unsigned i = 0; i < n; i++)
		snprintf(text[i], 64, "%s%u%s", forms[i % ARRAY_SIZE(forms)][0],
			 i, forms[i % ARRAY_SIZE(forms)][1]);
}

static uint64_t work_of(unsigned n, const char *path)
{
	static char text[MANY][64];
	static struct ipath_pattern v[MANY];
	const struct ipath_set *s = NULL;
	struct ipath_hits hits = { 0 };
	struct arena arena = { 0 };

	forge(text, n);
	for (unsigned i = 0; i < n; i++)
		v[i] = (struct ipath_pattern){ text[i], (uint16_t)(i % 256) };
	if (ipath_set_make(&arena, v, n, true, &s) < 0 ||
	    ipath_set_like(s, slice_str(path), &hits) < 0)
		abort();
	arena_done(&arena);
	return hits.work;
}

static void test_work(void)
{
	static char path[IPATH_PATH_MAX + 1];
	static const char *const units[] = { "/a",       "/user",  "/n1",
					     "/repos/a", "/a%2Fb", "/v1;a=b",
					     "/a.n1",    ".",      ".n1" };

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		size_t unit = strlen(units[i]), len = 0;
		uint64_t few, many;

		if (*units[i] != '/')
			len = (size_t)sprintf(path, "/repos/a/a/n1");
		for (; len + unit < sizeof(path); len += unit)
			memcpy(path + len, units[i], unit);
		path[len] = '\0';
		few = work_of(12, path);
		many = work_of(MANY, path);
		ok(many <= few + few / 2,
		   "%s…: 4,096 patterns cost what 12 do: %llu, %llu nodes",
		   units[i], (unsigned long long)many, (unsigned long long)few);
		/* Up to four readings of it, two of them with dots. */
		ok(many <= 8 * len, "at most 8 nodes a byte: %.1f",
		   (double)many / (double)len);
	}
}

static void test_twice(void)
{
	char path[2048];
	uint64_t one, two;

	memset(path, 'a', sizeof(path));
	path[0] = '/';
	path[1001] = '\0';
	one = work_of(MANY, path);
	path[1001] = 'a';
	path[2001] = '\0';
	two = work_of(MANY, path);
	ok(two <= 2 * one + 64, "a path twice as long costs twice: %llu, %llu",
	   (unsigned long long)two, (unsigned long long)one);
}

/* What costs more than the limit gets no answer, also when it is the second
 * walk for the same request. */
static void test_work_limit(void)
{
	static const struct ipath_pattern v[] = { { "/**/a*a*a*a*a*a*a*b", 0 },
						  { "/**/*a*a*a*a*a*b/c", 1 },
						  { "/**/*%2F*a*a*a*b", 2 } };
	static char path[IPATH_PATH_MAX + 1] = "/";
	const struct ipath_set *s = NULL;
	struct ipath_hits hits = { 0 };
	struct arena arena = { 0 };

	memset(path + 1, 'a', sizeof(path) - 2);
	if (ipath_set_make(&arena, v, ARRAY_SIZE(v), true, &s) < 0)
		abort();
	is_int(ipath_set_like(s, slice_str(path), &hits), -E2BIG,
	       "a path that is made to cost has no answer");
	ok(hits.work <= IPATH_SET_WORK_MAX + 64, "found at once: %llu nodes",
	   (unsigned long long)hits.work);
	hits = (struct ipath_hits){ 0 };
	is_int(ipath_set_like(s, slice_str("/a/aab"), &hits), 0,
	       "another one of the same set has");
	hits.work = IPATH_SET_WORK_MAX;
	is_int(ipath_set_match(s, slice_str("/a/aab"), &hits), -E2BIG,
	       "but not where the walk before it took all");
	arena_done(&arena);
}

static void test_limits(void)
{
	static char text[64];
	struct ipath_pattern v[2] = { { text, 511 }, { "no/slash", 1 } };
	const struct ipath_set *s = NULL;
	struct ipath_hits hits = { 0 };
	struct arena arena = { 0 };

	snprintf(text, sizeof(text), "/a/**");
	is_int(ipath_set_make(&arena, v, 2, false, &s), 0, "a set is made");
	is_int(ipath_set_match(s, slice_str("/a/b"), &hits), 0, "and walked");
	ok(ipath_hit(&hits, 511) && !ipath_hit(&hits, 1), "the last item");
	hits = (struct ipath_hits){ 0 };
	is_int(ipath_set_match(s, slice_str("*"), &hits), 0, "no path");
	is_int(ipath_set_match(NULL, slice_str("/a"), &hits), 0, "no set");
	is_int(hits.work, 0, "nothing is walked for these");
	arena_done(&arena);
	arena = (struct arena){ 0 };
	is_int(ipath_set_make(&arena, v, 0, false, &s), 0, "an empty set");
	is_int(ipath_set_match(s, slice_str("/a"), &hits), 0, "is walked");
	ok(!ipath_hit(&hits, 511), "and has nothing");
	arena_done(&arena);
}

int main(void)
{
	test_oracle();
	test_work();
	test_twice();
	test_work_limit();
	test_limits();
	return done_testing();
}
