/* SPDX-License-Identifier: Apache-2.0 */
/*
 * treehash_test.c - every change of a tree changes its digest; a copy does not
 */
#include "control/acd/storage/treehash.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "control/acd/storage/treecopy.h"
#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static char top[] = "/var/tmp/treehash_test.XXXXXX";
static char tree[64], copy[64];

static char *at(const char *leaf)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", tree, leaf);
	return path;
}

static void put(const char *leaf, const char *text)
{
	if (file_replace(at(leaf), text, strlen(text), 0640) < 0)
		ok(false, "write %s", leaf);
}

static struct treehash hash(const char *label, const char *path)
{
	struct treehash h = { 0 };
	struct err err = { 0 };

	if (treehash_add(&h, label, path, &err) < 0)
		ok(false, "hash: %s", err.msg);
	return h;
}

static bool same(const struct treehash *a, const struct treehash *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static void fresh(void)
{
	const struct timespec times[2] = { { .tv_sec = 1000 },
					   { .tv_sec = 2000 } };

	file_remove_tree(tree);
	if (mkdir(tree, 0755) < 0 || mkdir(at("d"), 0755) < 0 ||
	    mkdir(at("e"), 0755) < 0)
		ok(false, "directories");
	put("a", "one");
	put("d/b", "two");
	if (symlink("a", at("link")) < 0)
		ok(false, "a link");
	utimensat(AT_FDCWD, at("a"), times, 0);
	utimensat(AT_FDCWD, at("d/b"), times, 0);
	utimensat(AT_FDCWD, at("d"), times, 0);
	utimensat(AT_FDCWD, at("e"), times, 0);
	utimensat(AT_FDCWD, at("link"), times, AT_SYMLINK_NOFOLLOW);
	utimensat(AT_FDCWD, tree, times, 0);
}

static void test_copy(void)
{
	struct treehash a, b;
	struct err err = { 0 };

	fresh();
	a = hash("x", tree);
	is_int((int)a.files, 5, "entries");
	is_int((int)a.bytes, 6, "bytes");
	if (mkdir(copy, 0700) < 0 || treecopy(tree, copy, &err) < 0)
		ok(false, "copy: %s", err.msg);
	b = hash("x", copy);
	ok(same(&a, &b), "a copy has the same");
	b = hash("y", tree);
	ok(!same(&a, &b), "another label has not");
}

static void touch_time(void)
{
	const struct timespec times[2] = { { .tv_sec = 1000 },
					   { .tv_sec = 2000, .tv_nsec = 1 } };

	utimensat(AT_FDCWD, at("a"), times, 0);
}

/* Each makes one change, and leaves the times of the directories as they
 * were. */
static void change(int which)
{
	const struct timespec times[2] = { { .tv_sec = 1000 },
					   { .tv_sec = 2000 } };
	SCOPED_STR b = strdup(at("d/b"));

	switch (which) {
	case 0:
		put("a", "onf");
		utimensat(AT_FDCWD, at("a"), times, 0);
		break;
	case 1:
		touch_time();
		break;
	case 2:
		chmod(at("a"), 0600);
		break;
	case 3: /* the same file elsewhere */
		rename(b, at("e/b"));
		break;
	case 4:
		rename(b, at("d/c"));
		break;
	case 5:
		unlink(at("link"));
		if (symlink("b", at("link")) < 0)
			ok(false, "a link");
		utimensat(AT_FDCWD, at("link"), times, AT_SYMLINK_NOFOLLOW);
		break;
	case 6:
		chmod(at("d"), 0700);
		break;
	case 7:
		chmod(tree, 0700);
		break;
	case 8:
		unlink(b);
		break;
	default:
		put("d/new", "");
	}
	utimensat(AT_FDCWD, at("d"), times, 0);
	utimensat(AT_FDCWD, at("e"), times, 0);
	utimensat(AT_FDCWD, tree, times, 0);
}

static void test_changes(void)
{
	static const char *const what[] = {
		"a byte",
		"a time by 1 ns",
		"a mode",
		"a directory",
		"a name",
		"the target of a link",
		"a mode of a directory",
		"that of the root",
		"a file less",
		"a file more",
	};
	struct treehash a, b;

	for (int i = 0; i < (int)ARRAY_SIZE(what); i++) {
		fresh();
		a = hash("x", tree);
		change(i);
		b = hash("x", tree);
		ok(!same(&a, &b), "seen: %s", what[i]);
	}
}

static void test_attrs(void)
{
	struct treehash a, b, c;

	fresh();
	a = hash("x", tree);
	if (setxattr(at("d"), "user.x", "1", 1, 0) < 0) {
		skip("no attributes here");
		return;
	}
	b = hash("x", tree);
	ok(!same(&a, &b), "seen: an attribute");
	setxattr(at("d"), "user.x", "2", 1, 0);
	c = hash("x", tree);
	ok(!same(&b, &c), "and its value");
}

#define LONG (600 * 1024)

/* "two", zeros up to LONG and at the end @last; the zeros are written, or a
 * hole. */
static struct treehash hash_long(bool written, char last)
{
	static char zeros[LONG];
	const struct timespec times[2] = { { .tv_sec = 1000 },
					   { .tv_sec = 2000 } };

	fresh();
	{
		SCOPED_FD fd = open(at("d/b"), O_WRONLY | O_CLOEXEC);

		if ((written && pwrite(fd, zeros, LONG - 3, 3) < 0) ||
		    pwrite(fd, &last, 1, LONG) < 0)
			ok(false, "write");
	}
	utimensat(AT_FDCWD, at("d/b"), times, 0);
	return hash("x", tree);
}

static void test_holes(void)
{
	struct treehash a = hash_long(false, 'a'), b = hash_long(true, 'a'),
			c = hash_long(false, 'b');

	ok(same(&a, &b), "a hole is what zeros are");
	ok(!same(&a, &c), "seen: a byte behind it");
	fresh();
	if (truncate(at("a"), INT64_C(8) << 40) < 0) {
		skip("no such large files here");
		return;
	}
	a = hash("x", tree);
	is_int((long long)a.bytes, (INT64_C(8) << 40) + 3, "8 TiB of nothing");
}

static void test_bad(void)
{
	struct treehash h = { 0 };
	struct err err = { 0 };

	is_int(treehash_add(&h, "x", "/nonexistent", &err), -ENOENT, "none");
	fresh();
	if (symlink(tree, copy) < 0)
		ok(false, "a link");
	is_int(treehash_add(&h, "x", copy, &err), -ENOTDIR, "a link: %s",
	       err.msg);
}

int main(void)
{
	if (!mkdtemp(top))
		return 1;
	snprintf(tree, sizeof(tree), "%s/tree", top);
	snprintf(copy, sizeof(copy), "%s/copy", top);
	test_copy();
	test_changes();
	test_attrs();
	test_holes();
	file_remove_tree(copy);
	test_bad();
	file_remove_tree(top);
	return done_testing();
}
