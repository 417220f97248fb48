/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base_test.c - which files differed: names of any bytes, limits, damage
 */
#include "control/cli/layer/base.h"

#include <fcntl.h>
#include <string.h>

#include "lib/file.h"
#include "tests/unit/tap.h"

#define OID "0123456789abcdef0123456789abcdef01234567"

static char top[64];
static int dir;
static const struct layer_key key = { .since = 10, .dev = 2, .ino = 3 };

static void begin(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(top, sizeof(top), "%s/ac-base.XXXXXX",
		 tmp && strlen(tmp) < 40 ? tmp : "/tmp");
	ok(mkdtemp(top) != NULL, "a directory");
	dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static struct base make(const char *names, size_t len)
{
	struct base b = { .prefix = strdup("sub\n\xff/") };

	str_copy(b.commit, sizeof(b.commit), OID);
	is_int(base_set_dirty(&b, slice_of(names, len)), 0, "names are taken");
	return b;
}

static void test_names(void)
{
	static const char names[] = "z\0na\nme\0\xff\xfe\0a b\0%41\0\"q";
	static const char *const dirty[] = { "z",   "na\nme", "\xff\xfe",
					     "a b", "%41",    "\"q" };
	struct base b = make(names, sizeof(names));
	SCOPED_BASE got = { .prefix = NULL };
	struct layer_key other = key;

	is_int(base_save(&b, dir, &key), 0, "it is written");
	base_done(&b);
	is_int(base_load(dir, &key, &got), 0, "and read");
	is_str(got.commit, OID, "the commit");
	is_str(got.prefix, "sub\n\xff/", "the place");
	for (size_t i = 0; i < ARRAY_SIZE(dirty); i++)
		ok(!base_has(&got, dirty[i]), "name %zu differed", i);
	ok(base_has(&got, "A"), "another did not");
	ok(base_has(&got, "na"), "nor one that is a part of a name");
	base_done(&got);
	other.since++;
	is_int(base_load(dir, &other, &got), 0, "of another layer");
	ok(!base_has(&got, "A"), "nothing is known");
}

static void test_limits(void)
{
	static char many[2 * (BASE_DIRTY_MAX + 1)];
	static char longest[4200];
	struct base b = { .prefix = NULL };

	for (size_t i = 0; i < sizeof(many); i += 2)
		many[i] = 'x';
	is_int(base_set_dirty(&b, slice_of(many, sizeof(many))), -E2BIG,
	       "too many differ");
	base_done(&b);
	is_int(base_set_dirty(&b, slice_of(many, sizeof(many) - 2)), 0,
	       "one less may");
	base_done(&b);
	is_int(base_set_dirty(&b, slice_of("a\0b", 3)), -EBADMSG,
	       "a name without its end");
	base_done(&b);
	is_int(base_set_dirty(&b, slice_of("a\0\0", 3)), -EBADMSG,
	       "an empty name");
	base_done(&b);
	memset(longest, 'n', sizeof(longest) - 1);
	is_int(base_set_dirty(&b, slice_of(longest, sizeof(longest))), -EBADMSG,
	       "a name that is too long");
	base_done(&b);
}

static void test_oids(void)
{
	ok(base_is_oid(OID), "SHA-1");
	ok(base_is_oid(OID "0123456789abcdef01234567"), "SHA-256");
	ok(!base_is_oid(OID "0"), "neither");
	ok(!base_is_oid(""), "none");
	ok(!base_is_oid("--upload-pack=0123456789abcdef0123456789"), "words");
	ok(!base_is_oid("ABCDEF6789abcdef0123456789abcdef01234567"),
	   "upper case");
}

#define HEAD(commit, n)                                          \
	"{\"since\":10,\"dev\":2,\"ino\":3,\"commit\":\"" commit \
	"\",\"prefix\":\"\",\"n\":" n "}\n"

static void test_damage(void)
{
	static const struct {
		const char *what, *text;
		bool known;
	} rows[] = {
		{ "whole", HEAD(OID, "0"), true },
		{ "with a file", HEAD(OID, "1") "{\"dirty\":\"a\"}\n", true },
		{ "empty", "", false },
		{ "cut short", HEAD(OID, "2") "{\"dirty\":\"a\"}\n", false },
		{ "no JSON", HEAD(OID, "1") "{\"dirty\":\n", false },
		{ "a bad escape", HEAD(OID, "1") "{\"dirty\":\"%0\"}\n",
		  false },
		{ "a NUL", HEAD(OID, "1") "{\"dirty\":\"a%00b\"}\n", false },
		{ "another kind", HEAD(OID, "1") "{\"dirty\":7}\n", false },
		{ "an option", HEAD("--output=/etc/passwd", "0"), false },
		{ "an expression", HEAD("HEAD~1", "0"), false },
		{ "an array", "[1]\n", false },
	};
	SCOPED_STR path = str_printf("%s/base", top);

	for (size_t i = 0; path && i < ARRAY_SIZE(rows); i++) {
		SCOPED_BASE b = { .prefix = NULL };

		is_int(file_replace(path, rows[i].text, strlen(rows[i].text),
				    0600),
		       0, "%s", rows[i].what);
		is_int(base_load(dir, &key, &b), 0, "is no failure");
		is_int(base_has(&b, "other"), rows[i].known, "%s: known",
		       rows[i].what);
	}
}

int main(void)
{
	begin();
	test_names();
	test_limits();
	test_oids();
	test_damage();
	fd_closep(&dir);
	(void)file_remove_tree(top);
	return done_testing();
}
