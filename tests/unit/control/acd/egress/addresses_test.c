/* SPDX-License-Identifier: Apache-2.0 */
/*
 * addresses_test.c - the machine's addresses: what is told, what is taken
 */
#include "control/acd/egress/addresses.h"

#include <stdlib.h>

#include "control/cli/host/self_addresses.h"
#include "control/shared/json.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static const struct {
	const char *list, *want; /* NULL: refused */
} rows[] = {
	{ "[]", "" },
	{ "[\"203.0.113.7\"]", "203.0.113.7\n" },
	{ "[\"2001:DB8:0::7\", \"10.0.0.1\"]", "10.0.0.1\n2001:db8::7\n" },
	{ "[\"10.0.0.2\", \"10.0.0.1\", \"10.0.0.2\"]",
	  "10.0.0.1\n10.0.0.2\n" },
	{ "[\"10.0.0.1\\n10.0.0.2\"]", NULL },
	{ "[\"fe80::1%eth0\"]", NULL },
	{ "[\"\"]", NULL },
	{ "[7]", NULL },
	{ "{}", NULL },
};

static void test_rows(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		SCOPED_JSON list = json_loads(rows[i].list, 0, NULL);
		SCOPED_STR text = NULL;
		struct err err = { 0 };
		int rc = addresses_text(list, &text, &err);

		is_int(rc, rows[i].want ? 0 : -EINVAL, "%s %s", rows[i].list,
		       err.msg);
		if (rows[i].want)
			is_str(text, rows[i].want, "its text");
	}
}

static void test_many(void)
{
	SCOPED_JSON list = json_array();
	SCOPED_STR text = NULL;
	struct err err = { 0 };

	for (unsigned i = 0; i < ADDRESSES_MAX; i++) {
		SCOPED_STR a = str_printf(
			"2001:db8:1111:2222:3333:4444:5555:%x", 0x1000 + i);

		json_array_append_new(list, json_string(a));
	}
	is_int(addresses_text(list, &text, &err), 0, "as many as may be");
	is_int(strlen(text), ADDRESSES_MAX * 39, "all of them");
	json_array_append_new(list, json_string("10.0.0.1"));
	is_int(addresses_text(list, &text, &err), -EINVAL, "one more");
}

static void test_now(void)
{
	SCOPED_JSON list = addresses_now();
	SCOPED_STR text = NULL;
	struct err err = { 0 };

	ok(json_is_array(list), "the machine's own");
	is_int(addresses_text(list, &text, &err), 0, "are addresses: %s",
	       err.msg);
	ok(text && !strstr(text, "127.0.0.1\n") && !strstr(text, "fe80:"),
	   "without loopback and links");
}

int main(void)
{
	test_rows();
	test_many();
	test_now();
	return done_testing();
}
