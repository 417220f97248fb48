/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_ask_test.c - which sandboxes a list is to have
 */
#include "control/acd/api/e2b/list_ask.h"

#include "control/shared/json.h"
#include "tests/unit/tap.h"

#define ID "0123456789abcdef0123"

static void test_has(void)
{
	static const struct {
		struct list_query q;
		enum e2b_state state;
		bool has;
	} rows[] = {
		{ { 0 }, E2B_RUNNING, true },
		{ { 0 }, E2B_PAUSED, true },
		{ { 0 }, E2B_GONE, false },
		{ { .state = "paused" }, E2B_RUNNING, false },
		{ { .state = "running,paused" }, E2B_PAUSED, true },
		{ { .metadata = "a%2520b=c" }, E2B_RUNNING, true },
		{ { .metadata = "a%2520b=c&x=%2525" }, E2B_RUNNING, true },
		{ { .metadata = "a+b=c" }, E2B_RUNNING, true },
		{ { .metadata = "a%2520b=d" }, E2B_RUNNING, false },
		{ { .metadata = "y=c" }, E2B_RUNNING, false },
		{ { .metadata = "" }, E2B_RUNNING, true },
		{ { .template = "base" }, E2B_RUNNING, true },
		{ { .template = "other" }, E2B_RUNNING, false },
		{ { .since = "1970-01-01T00:00:00Z" }, E2B_RUNNING, true },
		{ { .since = "1970-01-01T00:00:00.099Z" }, E2B_RUNNING, true },
		{ { .since = "1970-01-01T00:00:00.100Z" }, E2B_RUNNING, false },
		{ { .since = "1970-01-01T01:00:00.099123+01:00" },
		  E2B_RUNNING,
		  true },
		{ { .since = "1970-01-01T02:00:00.1 02:00" },
		  E2B_RUNNING,
		  false },
		{ { .since = "2026-01-01T00:00:00-00:30" },
		  E2B_RUNNING,
		  false },
		{ { .next = "101-" ID }, E2B_RUNNING, true },
		{ { .next = "100-" ID }, E2B_RUNNING, false },
		{ { .next = "99-" ID }, E2B_RUNNING, false },
		{ { .next = "99-" ID, .order = "asc" }, E2B_RUNNING, true },
		{ { .next = "100-" ID, .order = "asc" }, E2B_RUNNING, false },
	};
	SCOPED_JSON metadata = json_pack("{s:s, s:s}", "a b", "c", "x", "%");
	static char base[] = "base";
	const struct e2b_box b = { .id = ID,
				   .template = base,
				   .metadata = metadata,
				   .started_ms = 100 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct list_ask a;
		struct err err = { 0 };

		ok(list_ask(&rows[i].q, &a, &err) == 0 &&
			   list_ask_has(&a, &b, rows[i].state) == rows[i].has,
		   "row %zu %s", i, err.msg);
		list_ask_done(&a);
	}
}

static void test_bad(void)
{
	static const struct list_query rows[] = {
		{ .metadata = "a" },
		{ .metadata = "a=%" },
		{ .metadata = "a=%25zz" },
		{ .metadata = "a=%00" },
		{ .metadata = "a=%FF" },
		{ .state = "gone" },
		{ .order = "up" },
		{ .limit = "0" },
		{ .limit = "101" },
		{ .limit = "x" },
		{ .next = "x" },
		{ .next = "1-x" },
		{ .since = "" },
		{ .since = "2026-01-01" },
		{ .since = "2026-01-01T00:00:00" },
		{ .since = "2026-01-01T00:00:00+1:00" },
		{ .since = "2026-01-01T00:00:00+01:00x" },
		{ .since = "1969-12-31T00:00:00Z" },
		{ .next = "-" ID },
		{ .next = "99999999999999999999-" ID },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct list_ask a;
		struct err err = { 0 };

		ok(list_ask(&rows[i], &a, &err) < 0, "row %zu: %s", i, err.msg);
		list_ask_done(&a);
	}
}

static void test_token(void)
{
	const struct e2b_box b = { .id = ID, .started_ms = 1700000000123 };
	char text[LIST_TOKEN_MAX + 1];
	const struct list_query q = { .next = text };
	struct list_ask a;
	struct err err = { 0 };

	list_token(&b, text);
	is_str(text, "1700000000123-" ID, "a token");
	ok(list_ask(&q, &a, &err) == 0 && a.after_ms == b.started_ms, "read");
	list_ask_done(&a);
}

int main(void)
{
	test_has();
	test_bad();
	test_token();
	return done_testing();
}
