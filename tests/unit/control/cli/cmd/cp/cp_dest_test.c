/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cp_dest_test.c - which side of a copy a word is, and what it is called there
 */
#include "control/cli/cmd/cp/cp_dest.h"

#include "control/cli/cmd/cp/cp.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static void test_copy_sides(void)
{
	static const struct {
		const char *word;
		int want;
		bool remote, stream;
		const char *name, *path;
	} sides[] = {
		{ "a", 0, false, false, "", "a" },
		{ "-", 0, false, true, "", "-" },
		{ "box:/etc", 0, true, false, "box", "/etc" },
		{ "b:x", 0, true, false, "b_", "x" },
		{ "box:a:b", 0, true, false, "box", "a:b" },
		{ "./a:b", 0, false, false, "", "./a:b" },
		{ "/a:b", 0, false, false, "", "/a:b" },
		{ "box:", 0, true, false, "box", "/workspace" },
		{ ":x", -EINVAL, true, false, "", "" },
		{ "", -EINVAL, false, false, "", "" },
	};
	static const char *const bases[][2] = {
		{ "a", "a" },   { "a/b", "b" },  { "/a/b/", "b" },
		{ "a//", "a" }, { "..", NULL },  { "/", NULL },
		{ "", NULL },   { "a/.", NULL }, { "...", "..." },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sides); i++) {
		struct err err = { 0 };
		struct cp_side s;
		int rc = cp_side_parse(sides[i].word, &s, &err);

		is_int(rc, sides[i].want, "copy side '%s'", sides[i].word);
		if (rc < 0)
			continue;
		ok(s.remote == sides[i].remote && s.stream == sides[i].stream &&
			   strcmp(s.name, sides[i].name) == 0,
		   "whose side '%s' is", sides[i].word);
		is_str(s.path, sides[i].path, "its path");
	}
	for (i = 0; i < ARRAY_SIZE(bases); i++) {
		char base[256];
		int rc = cp_base_name(bases[i][0], base, sizeof(base));

		is_str(rc < 0 ? NULL : base, bases[i][1], "name of '%s'",
		       bases[i][0]);
	}
}

int main(void)
{
	test_copy_sides();
	return done_testing();
}
