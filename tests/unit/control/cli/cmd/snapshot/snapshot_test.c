/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_test.c - what NAME[:TAG] means
 */
#include "control/cli/cmd/snapshot/snapshot.h"

#include "tests/unit/tap.h"

static const struct {
	const char *word;
	int code;
	const char *name, *tag;
} cases[] = {
	{ "one", 0, "one", NULL },
	{ "one:two", 0, "one", "two" },
	{ "one:", -EINVAL, NULL, NULL },
	{ ":two", -EINVAL, NULL, NULL },
	{ "a:b:c", -EINVAL, NULL, NULL }, /* "a:b" is no name */
	{ "../x:t", -EINVAL, NULL, NULL },
	{ "one:../../x", 0, "one", "../../x" }, /* acd refuses the tag */
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct snapshot_word w = { 0 };
		struct err err = { 0 };
		int rc = snapshot_word_parse(cases[i].word, &w, &err);

		is_int(rc, cases[i].code, "%s: %s", cases[i].word, err.msg);
		if (rc < 0)
			continue;
		is_str(w.name, cases[i].name, "its name");
		is_str(w.tag, cases[i].tag, "its tag");
	}
	return done_testing();
}
