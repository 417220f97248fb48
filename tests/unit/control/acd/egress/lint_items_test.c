/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lint_items_test.c - findings as data, and in the words of the user
 */
#include "control/acd/egress/lint_items.h"

#include <string.h>

#include "tests/unit/tap.h"

static const char yaml[] = "version: 1\n"
			   "agents:\n"
			   "  - id: \"w\"\n"
			   "    use: [\"github\"]\n"
			   "    allow:\n"
			   "      - { id: allow-1, names: [\".com\"] }\n"
			   "      - { id: allow-2, ips: [\"10.0.0.1\"] }\n"
			   "      - { id: allow-3, names: [\"x.b.example\"] }\n"
			   "    deny:\n"
			   "      - { id: deny-1, names: [\".b.example\"] }\n";

static void test_explain(void)
{
	static const struct {
		const char *msg, *want;
		bool ours;
	} cases[] = {
		{ "w:6:32: below com", "'.com': below com", true },
		{ "w:7:30: denied", "'10.0.0.1': denied", true },
		{ "w:4:11: there is no preset 'github'; there is: a",
		  "there is no preset 'github'; there is: a", true },
		{ "w:99:1: odd", "odd", true },
		{ "w:x:1: odd", "w:x:1: odd", false },
		{ "w:1", "w:1", false },
		{ "work:6:32: below com", "work:6:32: below com", false },
		{ "policy/policy.yaml:6:1: x", "policy/policy.yaml:6:1: x",
		  false },
		{ "", "", false },
	};
	char text[64];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		is_int(lint_explain(cases[i].msg, "w", yaml, text,
				    sizeof(text)),
		       cases[i].ours, "whose it is");
		is_str(text, cases[i].want, "%s", cases[i].msg);
	}
}

static void test_hint(void)
{
	char text[256] = "there is no preset 'x'; there is: a, b";
	char other[64] = "something else; there is more";

	lint_hint(text, sizeof(text), "work");
	ok(strstr(text, "'x'; `ac policy mode work balanced`") &&
		   !strstr(text, "a, b"),
	   "%s", text);
	lint_hint(other, sizeof(other), "work");
	is_str(other, "something else; there is more", "no other is touched");
}

static void test_items(void)
{
	json_t *items = lint_items(
		"w:6:32: below com [error: public-suffix]\n"
		"w:7:30: denied [warning: builtin-denied]\n"
		"w:8:9: rule 'allow-3' allows x.b.example, which 'deny-1' "
		"denies [note: deny-shadows]\n"
		"f:1:1: odd [info: odd]\n1 errors, 1 warnings, 2 notes\n",
		"error ottergate f:2:2: broken\nmore\n");
	json_t *body = json_pack("{s:[s,s], s:[s]}", "allow",
				 "tcp://10.0.0.1:5", "x.b.example", "deny",
				 ".b.example");
	json_t *about = lint_items_about(items, "w", yaml, body);
	char *text = json_dumps(about, JSON_COMPACT);

	is_int(json_array_size(items), 5, "all of them");
	is_str(json_string_value(
		       json_object_get(json_array_get(items, 3), "level")),
	       "info", "notes are infos");
	is_str(json_string_value(
		       json_object_get(json_array_get(items, 4), "text")),
	       "f:2:2: broken", "a fault of form");
	is_str(text,
	       "[{\"level\":\"warning\",\"text\":\"'10.0.0.1': denied\"},"
	       "{\"level\":\"warning\",\"text\":\"'x.b.example': the denial "
	       "'.b.example' wins over it\"}]",
	       "those about what was just said");
	free(text);
	json_decref(about);
	json_decref(body);
	json_decref(items);
}

int main(void)
{
	test_explain();
	test_hint();
	test_items();
	return done_testing();
}
