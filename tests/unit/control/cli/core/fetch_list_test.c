/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch_list_test.c - names of branches, and lists of commits from a sandbox
 */
#include "control/cli/core/fetch_list.h"

#include "lib/str.h"
#include "tests/unit/tap.h"

#define A40 "0123456789abcdef0123456789abcdef01234567"
#define B40 "fedcba9876543210fedcba9876543210fedcba98"
#define HEAD "ac-fetch 1 sha1 false\n"

static void test_names(void)
{
	/* What follows is written from right to left. */
	static const char to_left[] = { 'a', '\xe2', '\x80', '\xae', 'b', 0 };
	static const struct {
		const char *name;
		bool good;
	} rows[] = {
		{ "main", true },      { "a/b-c.d_e", true },
		{ "fix/#12", true },   { "gr\xc3\xbc\xc3\x9f", true },
		{ "", false },         { "HEAD", false },
		{ "x/HEAD", true },    { "-x", false },
		{ "x/-y", false },     { "x-y", true },
		{ ".x", false },       { "x/.y", false },
		{ "x.", false },       { "x.lock", false },
		{ "x.lock/y", false }, { "x..y", false },
		{ "x/", false },       { "/x", false },
		{ "x//y", false },     { "@", false },
		{ "a@b", true },       { "a@{b", false },
		{ "a b", false },      { "a~b", false },
		{ "a^b", false },      { "a:b", false },
		{ "a?b", false },      { "a*b", false },
		{ "a[b", false },      { "a\\b", false },
		{ "a\nb", false },     { "a\033[31mb", false },
		{ "a\177", false },    { "a\xff", false },
		{ to_left, false },    { "../../heads/main", false },
	};
	char longest[FETCH_REF_NAME_MAX + 2];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char shown[64];

		str_escape(shown, sizeof(shown), rows[i].name,
			   strlen(rows[i].name));
		is_int(fetch_ref_good(rows[i].name), rows[i].good, "'%s'",
		       shown);
	}
	memset(longest, 'a', sizeof(longest));
	longest[FETCH_REF_NAME_MAX + 1] = '\0';
	ok(!fetch_ref_good(longest), "one that is too long");
	longest[FETCH_REF_NAME_MAX] = '\0';
	ok(fetch_ref_good(longest), "the longest");
}

static void test_list(void)
{
	static const char text[] = HEAD A40
		" refs/heads/x\n" B40 " refs/heads/a/b\n" A40
		" refs/heads/-\n" A40 " HEAD\n\n" A40 "\n" B40 "\nend\n";
	struct fetch_list l;

	is_int(fetch_list_parse(slice_str(text), &l), 0, "a list");
	is_int(l.oid_len, 40, "of SHA-1");
	ok(!l.shallow, "whole");
	is_int(l.n_odd, 1, "a name is refused");
	is_str(l.odd, "-", "that one");
	is_int(l.history.len, 82, "two commits");
	if (is_int(l.n_refs, 3, "three references")) {
		is_str(l.refs[0].name, "HEAD", "a detached HEAD");
		is_str(l.refs[1].name, "a/b", "a branch");
		is_str(l.refs[1].oid, B40, "its commit");
		is_str(l.refs[2].name, "x", "another");
	}
	fetch_list_done(&l);
	/* None of its beginnings is one. */
	for (size_t i = 0; i + 1 < sizeof(text); i++) {
		if (fetch_list_parse(slice_of(text, i), &l) != -EBADMSG)
			ok(false, "the first %zu bytes are no list", i);
		fetch_list_done(&l);
	}
}

static void test_refused(void)
{
	static const char *const rows[] = {
		"ac-fetch 2 sha1 false\n\nend\n",
		"ac-fetch 1 md5 false\n\nend\n",
		"ac-fetch 1 sha256 false\n" A40 " refs/heads/x\n\nend\n",
		HEAD A40 " refs/tags/x\n\nend\n",
		HEAD A40 "  refs/heads/x\n\nend\n",
		HEAD A40 " HEAD\n" A40 " HEAD\n\nend\n",
		HEAD A40 " refs/heads/x\n" B40 " refs/heads/x\n\nend\n",
		HEAD "0123456789ABCDEF0123456789abcdef01234567"
		     " refs/heads/x\n\nend\n",
		HEAD "\n" A40 " x\nend\n",
		HEAD "\nend\nend\n",
		HEAD "\nend\n\n",
		HEAD "\nend",
	};
	struct fetch_list l;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		is_int(fetch_list_parse(slice_str(rows[i]), &l), -EBADMSG,
		       "row %zu", i);
		fetch_list_done(&l);
	}
}

int main(void)
{
	test_names();
	test_list();
	test_refused();
	return done_testing();
}
