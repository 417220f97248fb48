/* SPDX-License-Identifier: Apache-2.0 */
/*
 * publish_test.c - published ports as people write them
 */
#include "control/shared/publish.h"

#include <stdlib.h>

#include "tests/unit/tap.h"

static const struct {
	const char *text, *read; /* NULL: refused */
	bool loopback;
} cases[] = {
	{ "8080", "127.0.0.1:8080:8080", true },
	{ "8080:80", "127.0.0.1:8080:80", true },
	{ "0:80", "127.0.0.1:0:80", true },
	{ "127.0.0.2:1:65535", "127.0.0.2:1:65535", true },
	{ "127.0.0.1:8080", "127.0.0.1:8080:8080", true },
	{ "0.0.0.0:8080:80", "0.0.0.0:8080:80", false },
	{ "192.168.1.5:80", "192.168.1.5:80:80", false },
	{ "[::1]:8080", "[::1]:8080:8080", true },
	{ "[::]:8080:80", "[::]:8080:80", false },
	{ "[fd12::5]:1:2", "[fd12::5]:1:2", false },
	{ "", NULL, false },
	{ "0", NULL, false },
	{ "8080:0", NULL, false },
	{ "65536", NULL, false },
	{ "99999999999", NULL, false },
	{ "80:65536", NULL, false },
	{ ":80", NULL, false },
	{ "80:", NULL, false },
	{ "1:2:3", NULL, false },
	{ "127.0.0.1", NULL, false },
	{ "127.0.0.1:", NULL, false },
	{ "127.0.0.1:1:2:3", NULL, false },
	{ "127.1:80", NULL, false },
	{ "1.2.3.4.5:80", NULL, false },
	{ "localhost:80", NULL, false },
	{ "::1:80", NULL, false },
	{ "[::1]", NULL, false },
	{ "[::1]80", NULL, false },
	{ "[::1:80", NULL, false },
	{ "[fe80::1%eth0]:80", NULL, false },
	{ "+80", NULL, false },
	{ "80/tcp", NULL, false },
	{ "80-90", NULL, false },
	{ "80 ", NULL, false },
	{ "[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]:1", NULL,
	  false },
};

static void test_cases(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct publish p = { .inner = 7 };
		struct err err = { 0 };
		char text[PUBLISH_TEXT_MAX] = "";
		int rc = publish_parse(cases[i].text, &p, &err);

		is_int(rc, cases[i].read ? 0 : -EINVAL, "'%s'", cases[i].text);
		if (rc < 0) {
			is_int(p.inner, 7, "nothing is changed");
			continue;
		}
		publish_text(&p, text);
		is_str(text, cases[i].read, "what it says");
		is_int(publish_is_loopback(&p), cases[i].loopback,
		       "who reaches it");
	}
}

static const struct {
	const char *a, *b;
	bool meet;
} pairs[] = {
	{ "80", "80:1", true },
	{ "80", "81", false },
	{ "80", "127.0.0.2:80", false },
	{ "80", "0.0.0.0:80", true },
	{ "0.0.0.0:80", "1.2.3.4:80", true },
	{ "80", "[::1]:80", false },
	{ "[::]:80", "[::1]:80", true },
	{ "[::]:80", "0.0.0.0:80", false },
	{ "0:80", "0:80", false },
};

static bool all_same(const struct publish *a, const struct publish *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!publish_same(&a[i], &b[i]))
			return false;
	return true;
}

static void test_meets(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		struct publish a = { 0 }, b = { 0 };
		struct err err = { 0 };

		publish_parse(pairs[i].a, &a, &err);
		publish_parse(pairs[i].b, &b, &err);
		is_int(publish_meets(&a, a.outer, &b, b.outer), pairs[i].meet,
		       "%s and %s", pairs[i].a, pairs[i].b);
	}
}

#define TEN "\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\",\"10\""
#define SIX ",\"11\",\"12\",\"13\",\"14\",\"15\",\"16\""

static const struct {
	const char *json;
	int rc;
	size_t n;
} lists[] = {
	{ NULL, 0, 0 },
	{ "[]", 0, 0 },
	{ "[\"80\", \"0:80\"]", 0, 2 },
	{ "[" TEN SIX "]", 0, 16 },
	{ "[" TEN SIX ",\"17\"]", -EINVAL, 0 },
	{ "[\"80\", \"80:90\"]", -EINVAL, 0 },
	{ "[\"80\", \"0.0.0.0:80\"]", -EINVAL, 0 },
	{ "[\"0:80\", \"0:80\"]", -EINVAL, 0 },
	{ "[\"0:80\", \"127.0.0.1:0:80\"]", -EINVAL, 0 },
	{ "[\"0:80\", \"0:81\", \"127.0.0.2:0:80\"]", 0, 3 },
	{ "[80]", -EINVAL, 0 },
	{ "[null]", -EINVAL, 0 },
	{ "{}", -EINVAL, 0 },
	{ "[", -EINVAL, 0 },
};

static void test_lists(void)
{
	struct publish v[PUBLISH_MAX], again[PUBLISH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		struct err err = { 0 };
		size_t n = 0, m = 99;
		char *stored;

		is_int(publish_load(lists[i].json, v, &n, &err), lists[i].rc,
		       "%s", lists[i].json ? lists[i].json : "none");
		is_int(n, lists[i].n, "so many");
		if (lists[i].rc < 0)
			continue;
		stored = publish_store(v, n);
		ok(publish_load(stored, again, &m, &err) == 0 && m == n &&
			   all_same(v, again, n),
		   "stored and read again");
		free(stored);
	}
}

int main(void)
{
	test_cases();
	test_meets();
	test_lists();
	return done_testing();
}
