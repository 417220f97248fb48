/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lint_items_test.c - findings as data, and in the words of the user
 */
#include "control/acd/egress/lint_items.h"

#include <string.h>

#include "control/shared/json.h"
#include "tests/unit/tap.h"

#define PLACE(file) "\"file\":\"" file "\",\"line\":6,\"column\":32,"

static const char answer[] =
	"{\"ok\":false,\"error\":\"w:6:32: below com\",\"lint\":["
	"{\"level\":\"info\",\"code\":\"deny-shadows\",\"text\":\"w:6:32: "
	"which 'deny-1' denies\"," PLACE(
		"w") "\"message\":\"which 'deny-1' "
		     "denies\",\"about\":\"x.b.example\",\"by\":\".b.example\"}"
		     ","
		     "{\"level\":\"warning\",\"code\":\"builtin-denied\","
		     "\"text\":\"w:6:32: "
		     "denied\"," PLACE(
			     "w") "\"message\":\"denied\",\"about\":\"10.0.0."
				  "1\"},"
				  "{\"level\":\"warning\",\"code\":\"odd\","
				  "\"text\":\"f:6:32: odd\"," PLACE(
					  "f") "\"message\":\"odd\",\"about\":"
					       "\"x.b.example\"},"
					       "{\"level\":\"error\",\"code\":"
					       "\"public-suffix\",\"text\":"
					       "\"w:6:32: below com\"," PLACE(
						       "w") "\"message\":"
							    "\"below "
							    "com\",\"about\":"
							    "\".com\"}"
							    "],\"dropped\":0}";

static void test_explain(void)
{
	static const struct {
		const char *item, *want;
	} cases[] = {
		{ "{\"file\":\"w\",\"message\":\"below "
		  "com\",\"about\":\".com\"}",
		  "'.com': below com" },
		{ "{\"file\":\"w\",\"message\":\"odd\"}", "odd" },
		{ "{\"file\":\"w\",\"code\":\"no-preset\",\"about\":\"x\","
		  "\"message\":\"there is: a, b\"}",
		  "there is no preset 'x'; `ac policy mode work balanced` "
		  "takes out what was set, `ac presets` lists what there is" },
		{ "{\"file\":\"work\",\"text\":\"work:6:32: odd\",\"message\":"
		  "\"odd\",\"about\":\".com\"}",
		  "work:6:32: odd" },
		{ "{\"text\":\"cannot be read\",\"message\":\"x\"}",
		  "cannot be read" },
		{ "{}", "" },
		{ "7", "" },
	};
	char text[256];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		SCOPED_JSON item =
			json_loads(cases[i].item, JSON_DECODE_ANY, NULL);

		lint_explain(item, "w", "work", text, sizeof(text));
		is_str(text, cases[i].want, "%s", cases[i].item);
	}
}

static void test_items(void)
{
	SCOPED_JSON items = lint_items(answer, strlen(answer));
	SCOPED_JSON body = json_pack("{s:[s,s], s:[s]}", "allow",
				     "tcp://10.0.0.1:5", "x.b.example", "deny",
				     ".b.example");
	SCOPED_JSON about = lint_items_about(items, "w", "work", body);
	SCOPED_STR text = json_dumps(about, JSON_COMPACT);

	is_int(json_array_size(items), 4, "all of them, and the error once");
	is_str(jsonx_text_at(lint_error(items), "code"), "public-suffix",
	       "what refuses it");
	is_str(text,
	       "[{\"level\":\"warning\",\"text\":\"'x.b.example': the denial "
	       "'.b.example' wins over it\"},"
	       "{\"level\":\"warning\",\"text\":\"'10.0.0.1': denied\"}]",
	       "those about what was just said");
}

static void test_no_items(void)
{
	static const char failed[] = "{\"ok\":false,\"error\":\"x: cannot be "
				     "read\",\"lint\":[],\"dropped\":0}";
	SCOPED_JSON items = lint_items(failed, strlen(failed));
	SCOPED_JSON cut = lint_items(answer, 60);
	SCOPED_JSON other = lint_items("{\"lint\":7}", 10);
	SCOPED_JSON none = lint_items("", 0);
	char text[64];

	is_int(json_array_size(items), 1, "a failure without a finding is one");
	lint_explain(lint_error(items), "w", "work", text, sizeof(text));
	is_str(text, "x: cannot be read", "in its own words");
	ok(cut && json_array_size(cut) == 0, "half an answer has none");
	ok(other && json_array_size(other) == 0, "nor has another one");
	ok(none && json_array_size(none) == 0, "nor has nothing");
	ok(lint_error(none) == NULL, "which refuses nothing");
}

int main(void)
{
	test_explain();
	test_items();
	test_no_items();
	return done_testing();
}
