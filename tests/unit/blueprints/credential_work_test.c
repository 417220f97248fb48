/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credential_work_test.c - what it takes to judge a path by the shipped rules,
 * counted in nodes: a path of a client's gets its answer, and one that is made to
 * cost ends at the limit
 */
#include "tests/unit/blueprints/credential_world.h"

#include <stdio.h>

#include "ottergate/policy/request/path.h"
#include "ottergate/policy/request/path_set.h"
#include "tests/unit/tap.h"

static struct credential_kinds *kinds;

/* Is there an answer? */
static bool work_of(const struct rule *rule, const char *path, uint64_t *ret)
{
	struct http_verdict v =
		decide_http(rule, slice_str("GET"), slice_str(path));

	*ret = v.work;
	if (v.status == 414)
		return false;
	if (v.status == 503)
		abort();
	return true;
}

#define LONG 2048u /* more than a name that people give to a file */

/* @start, and @unit as often as it fits into @max bytes. */
static void fill(char *path, size_t max, const char *start, const char *unit)
{
	size_t len = strlen(start), n = strlen(unit);

	memcpy(path, start, len);
	for (; len + n <= max; len += n)
		memcpy(path + len, unit, n);
	path[len] = '\0';
}

/* Long, but not made for it: none has more than 64 segments, as any that gets
 * as far as this. */
static void test_natural(const struct rule *rule, const char *kind)
{
	static const char *const starts[] = {
		"/repos/acme/tools/contents/",
		"/acme/tools/raw/main/",
		"/api/v4/projects/acme%2Ftools/repository/files/",
		"/api/v4/projects/17/repository/files/",
		"/acme/tools/-/raw/main/",
		"/@acme%2F",
		"/p/-/",
		"/repository/hosted/p/-/",
		"/v1/models/",
	};
	static const char *const units[] = {
		"a-long-name-of-a-part-of-some-module-of-ours-that-is-so-"
		"called.d/",
		"a-long-name-of-a-part-of-some-module-of-ours-that-is-called%"
		"2F",
		"name",
		"0123456789",
		"x_test.go.",
	};
	char path[LONG + 1];
	uint64_t work, most = 0;
	int bad = 0;

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		for (size_t k = 0; k < ARRAY_SIZE(units); k++) {
			fill(path, LONG, starts[i], units[k]);
			if (work_of(rule, path, &work))
				most = work > most ? work : most;
			else
				bad++;
		}
	is_int(bad, 0, "%s: paths of 2 KiB have an answer, after at most %llu",
	       kind, (unsigned long long)most);
}

static void test_made(const struct rule *rule, const char *kind)
{
	static const char *const units[] = {
		"/api/v4/projects/1",
		"/api/v4/projects/a%2Fa",
		"/api/v4",
		"/api/v4/groups/a",
		"%2Fapi%2Fv4%2Fprojects",
		"/-/package/@a",
		"/-/npm/v1/tokens",
		"/info/lfs.a.a.a.a",
		"/api/v3/a",
		"%2F",
		"/variables.variables.",
		"/a.a.a.a.a.a",
		"/@a%2F@a%2F@a",
		"/11111111",
		"/-",
	};
	char path[IPATH_PATH_MAX + 1];
	unsigned over = 0;
	uint64_t work, most = 0;

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		for (size_t k = 0; k < ARRAY_SIZE(units); k++) {
			fill(path, IPATH_PATH_MAX, units[i], units[k]);
			over += !work_of(rule, path, &work);
			most = work > most ? work : most;
		}
	ok(most < IPATH_SET_WORK_MAX + 4096,
	   "%s: a path that is made ends at %llu nodes, %u of %zu without "
	   "answer",
	   kind, (unsigned long long)most, over,
	   ARRAY_SIZE(units) * ARRAY_SIZE(units));
}

static void test_kind(enum secret_kind kind, const char *host, const char *name)
{
	struct request rq = { .path = PATH_TLS, .port = 443 };
	struct err err = { 0 };
	struct verdict v;
	struct judge j;
	struct name n;

	if (!ok(judge_begin(&j, kinds, kind, PUSH_ASK, NULL, &err) == 0,
		"%s: rules %s", name, err.msg))
		return;
	if (name_canon(slice_str(host), &n) < 0)
		abort();
	rq.name = &n;
	rq.method = slice_str("GET");
	rq.target = slice_str("/");
	v = decide(j.agent, &rq);
	if (ok(v.rule && v.rule->http, "%s: a rule of %s", name, host)) {
		test_natural(v.rule, name);
		test_made(v.rule, name);
	}
	judge_end(&j);
}

int main(void)
{
	struct err err = { 0 };

	if (ok(credential_kinds_load(WORLD_FILES, &kinds, &err) == 0,
	       "the files that are shipped %s", err.msg)) {
		test_kind(SECRET_GITHUB, "github.com", "github");
		test_kind(SECRET_GITHUB, "api.github.com", "github's API");
		test_kind(SECRET_GITLAB, "gitlab.com", "gitlab");
		test_kind(SECRET_NPM, "registry.test", "npm");
	}
	credential_kinds_free(kinds);
	return done_testing();
}
