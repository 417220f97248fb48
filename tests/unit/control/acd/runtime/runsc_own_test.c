/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc_own_test.c - the layers of ours, below and above those of an image
 */
#include "control/acd/runtime/runsc_own.h"

#include <sys/stat.h>

#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/own_test.XXXXXX";

static char *in(const char *path)
{
	return str_printf("%s/%s", dir, path);
}

static unsigned mode_of(const char *path)
{
	SCOPED_STR at = in(path);
	struct stat st = { 0 };

	return lstat(at, &st) < 0 ? 0 : st.st_mode;
}

static void has(const char *path, const char *text)
{
	SCOPED_STR at = in(path);
	SCOPED_STR have = NULL;

	file_read(at, 1u << 20, &have, NULL);
	is_str(have, text, "%s", path);
}

static void test_bottom(void)
{
	SCOPED_STR bottom = in("bottom");

	is_int(own_bottom_make(bottom), 0, "the layer for the bottom");
	ok(S_ISDIR(mode_of("bottom/workspace")), "has directories");
	is_int(mode_of("bottom/etc/hosts"), S_IFREG | 0444, "and empty files");
	is_int(own_bottom_make(bottom), 0, "once more changes nothing");
}

static void test_missing(void)
{
	const struct runsc_cover none[] = { { "a/b", "/nonexistent", 0444 },
					    { NULL, NULL, 0 } };
	SCOPED_STR top = in("none");

	is_int(own_top_make(top, none), -ENOENT, "a source that is missing");
	is_int(mode_of("none"), 0, "leaves no layer");
}

static void test_top(void)
{
	SCOPED_STR file = in("source");
	SCOPED_STR top = in("top");
	const struct runsc_cover covers[] = {
		{ "usr/libexec/ac/guard", file, 0555 },
		{ "etc/conf", file, 0444 },
		{ NULL, NULL, 0 },
	};

	file_write_atomic(file, "first", 5, 0600);
	umask(077);
	is_int(own_top_make(top, covers), 0, "the layer for the top");
	umask(022);
	has("top/usr/libexec/ac/guard", "first");
	is_int(mode_of("top/usr/libexec/ac/guard"), S_IFREG | 0555,
	       "a program");
	is_int(mode_of("top/etc/conf"), S_IFREG | 0444, "a text");
	is_int(mode_of("top"), S_IFDIR | 0755, "the top directory");
	is_int(mode_of("top/usr/libexec"), S_IFDIR | 0755,
	       "directories are their owner's alone");
	file_write_atomic(file, "later", 5, 0600);
	is_int(own_top_make(top, covers), 0, "once more");
	has("top/usr/libexec/ac/guard", "first");
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	umask(022);
	test_bottom();
	test_missing();
	test_top();
	file_remove_tree(dir);
	return done_testing();
}
