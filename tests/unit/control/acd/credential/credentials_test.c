/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credentials_test.c - credentials of an instance: options, said and stored
 */
#include "control/acd/credential/credentials.h"

#include <string.h>

#include "tests/unit/tap.h"

static void test_parse(void)
{
	static const struct {
		const char *json, *said;
	} rows[] = {
		{ "[\"github\"]", NULL },
		{ "[{\"name\":\"a\",\"mode\":\"handover\",\"env\":\"A_B\","
		  "\"push\":\"allow\",\"methods\":[\"GET\"],\"paths\":"
		  "[\"/x/**\"]}]",
		  NULL },
		{ "[]", NULL },
		{ "{}", "must be a list" },
		{ "[1]", "its name, or an object" },
		{ "[\"\"]", "no credential's name" },
		{ "[\".a\"]", "no credential's name" },
		{ "[\"A\"]", "no credential's name" },
		{ "[{\"name\":\"a\",\"value\":\"x\"}]", "value" },
		{ "[{\"name\":\"a\",\"mode\":\"x\"}]",
		  "surrogate or handover" },
		{ "[{\"name\":\"a\",\"push\":\"x\"}]", "ask, allow or deny" },
		{ "[{\"name\":\"a\",\"env\":\"A-B\"}]", "A-B" },
		{ "[{\"name\":\"a\",\"env\":\"A=B\"}]", "variable" },
		{ "[{\"name\":\"a\",\"env\":\"PATH\"}]", "of its own" },
		{ "[{\"name\":\"a\",\"env\":\"LD_X\"}]", "of its own" },
		{ "[{\"name\":\"a\",\"env\":\"GIT_CONFIG_KEY_0\"}]",
		  "of its own" },
		{ "[{\"name\":\"a\",\"env\":\"SSL_CERT_FILE\"}]",
		  "of its own" },
		{ "[{\"name\":\"a\",\"env\":\"PATHS\"}]", NULL },
		{ "[{\"name\":\"a\",\"env\":\"LD\"}]", NULL },
		{ "[{\"name\":\"none\"}]", "no credential's name" },
		{ "[\"none\"]", NULL },
		{ "[{\"name\":\"a\",\"paths\":[\"/\\\"x\"]}]", "no path" },
		{ "[{\"name\":\"a\",\"paths\":[\"x\"]}]", "no path" },
		{ "[{\"name\":\"a\",\"methods\":[\"get\"]}]", "no method" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct credentials l = { 0 }, again = { 0 };
		struct err err = { 0 };
		int rc = credentials_load(rows[i].json, &l, &err);
		SCOPED_STR text = NULL;

		if (rows[i].said) {
			ok(rc == -EINVAL && strstr(err.msg, rows[i].said),
			   "%s: %s", rows[i].json, err.msg);
			continue;
		}
		text = credentials_store(&l);
		ok(rc == 0 && text && credentials_load(text, &again, &err) == 0,
		   "%s: stored and read: %s", rows[i].json, err.msg);
		is_int(again.n, l.n, "the same");
		is_int(again.only, l.only, "and the blueprint's, or not");
		credentials_done(&l);
		credentials_done(&again);
	}
}

static void test_merge(void)
{
	struct credentials base = { 0 }, own = { 0 }, all = { 0 };
	struct err err = { 0 };

	if (credentials_load("[\"a\",\"b\"]", &base, &err) < 0 ||
	    credentials_load("[{\"name\":\"b\",\"env\":\"B\"},\"c\"]", &own,
			     &err) < 0)
		ok(false, "%s", err.msg);
	is_int(credentials_merge(&base, &own, &all, &err), 0, "merged");
	is_int(all.n, 3, "each once");
	ok(!credentials_find(&all, "a")->own &&
		   credentials_find(&all, "b")->own &&
		   credentials_find(&all, "b")->env,
	   "what was said for the instance goes before");
	credentials_done(&base);
	credentials_done(&own);
	credentials_done(&all);
}

/* "none" takes back those before it, wherever they were said. */
static void test_none(void)
{
	static const struct {
		const char *base, *own;
		size_t n;
		bool only;
	} rows[] = {
		{ "[\"a\",\"b\"]", "[\"none\"]", 0, true },
		{ "[\"a\",\"b\"]", "[\"c\",\"none\"]", 0, true },
		{ "[\"a\",\"b\"]", "[\"none\",\"c\"]", 1, true },
		{ "[\"a\",\"b\"]", "[\"c\"]", 3, false },
		{ "[\"none\"]", "[\"c\"]", 1, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct credentials base = { 0 }, own = { 0 }, all = { 0 };
		struct err err = { 0 };

		ok(credentials_load(rows[i].base, &base, &err) == 0 &&
			   credentials_load(rows[i].own, &own, &err) == 0 &&
			   credentials_merge(&base, &own, &all, &err) == 0,
		   "%s, %s %s", rows[i].base, rows[i].own, err.msg);
		is_int(all.n, rows[i].n, "as many");
		is_int(all.only, rows[i].only, "with the blueprint's or not");
		credentials_done(&base);
		credentials_done(&own);
		credentials_done(&all);
	}
}

int main(void)
{
	test_parse();
	test_merge();
	test_none();
	return done_testing();
}
