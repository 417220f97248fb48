/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_strip_test.c - no setuid bit and no capability is left in an image
 */
#include "control/shared/step_strip.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "lib/file.h"
#include "tests/unit/tap.h"

/* Revision 2 of a file's capability, CAP_NET_RAW permitted (linux/capability.h). */
static const unsigned char cap[20] = { 1, 0, 0, 2, 0, 0x20 };

static void make(const char *path, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || fchmod(fd, mode) < 0)
		ok(false, "make %s", path);
	if (fd >= 0)
		close(fd);
}

static unsigned mode_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) < 0 ? 0 : st.st_mode & 07777;
}

static void begin(void)
{
	file_remove_tree("root");
	file_remove_tree("out");
	file_mkdir_p("root/usr/bin/deep/er", 0755);
	file_mkdir_p("out", 0755);
}

static void test_bits(void)
{
	struct err err = { 0 };
	size_t n = 0;

	begin();
	make("root/usr/bin/su", 04755);
	make("root/usr/bin/deep/er/wall", 02755);
	make("root/usr/bin/ls", 0755);
	make("out/su", 04755);
	if (chmod("root/usr/bin/deep", 02775) < 0 ||
	    symlink("../../../out/su", "root/usr/bin/link") < 0 ||
	    symlink("../out", "root/dir") < 0)
		ok(false, "prepare");
	is_int(step_strip("root", &n, &err), 0, "an image is stripped: %s",
	       err.msg);
	is_int(mode_of("root/usr/bin/su"), 0755, "of setuid");
	is_int(mode_of("root/usr/bin/deep/er/wall"), 0755, "of setgid, deep");
	is_int(mode_of("root/usr/bin/deep"), 0775, "of a directory's");
	is_int(n, 3, "and these are counted");
	is_int(mode_of("out/su"), 04755, "no link leads out of it");
	is_int(mode_of("root/" STEP_STRIP_LIST), 0444, "it has a list");
	is_int(step_strip("root", &n, &err), 0, "again");
	is_int(n, 0, "nothing is left");
}

static void test_capability(void)
{
	struct err err = { 0 };
	size_t n = 0;

	begin();
	make("root/usr/bin/ping", 0755);
	if (setxattr("root/usr/bin/ping", "security.capability", cap,
		     sizeof(cap), 0) < 0) {
		skip("no right to set a capability");
		return;
	}
	is_int(step_strip("root", &n, &err), 0, "a capability: %s", err.msg);
	ok(getxattr("root/usr/bin/ping", "security.capability", NULL, 0) < 0 &&
		   n == 1,
	   "is taken away");
}

/* What an install step may have left where the list belongs. */
static void test_list(void)
{
	struct err err = { 0 };
	SCOPED_STR text = NULL;
	size_t n = 0;

	begin();
	file_mkdir_p("root/usr/libexec/ac", 0755);
	make("out/victim", 0644);
	if (symlink("../../../../out/victim", "root/" STEP_STRIP_LIST) < 0)
		ok(false, "prepare");
	is_int(step_strip("root", &n, &err), 0, "a link for a list");
	is_int(mode_of("out/victim"), 0644, "is replaced, not followed");
	is_int(mode_of("root/" STEP_STRIP_LIST), 0444, "by the list");

	begin();
	file_mkdir_p("root/usr/libexec/ac", 0755);
	if (file_write_atomic("root/" STEP_STRIP_LIST, "/bin/su\n", 8, 0666) <
	    0)
		ok(false, "prepare");
	is_int(step_strip("root", &n, &err), 0, "a list of the image's own");
	is_int(file_read("root/" STEP_STRIP_LIST, 64, &text, NULL), 0,
	       "is a new one");
	is_str(text, "", "and empty");

	begin();
	if (symlink("../../out", "root/usr/libexec") < 0)
		ok(false, "prepare");
	ok(step_strip("root", &n, &err) < 0, "a link on its way: %s", err.msg);
	ok(access("out/ac", F_OK) < 0, "nothing is written outside");
}

static void test_depth(void)
{
	char path[4096] = "root";
	struct err err = { 0 };
	size_t n = 0;

	begin();
	for (int i = 0; i < 600; i++)
		strcat(path, "/d");
	file_mkdir_p(path, 0755);
	is_int(step_strip("root", &n, &err), -ELOOP, "too deep: %s", err.msg);
	ok(access("root/" STEP_STRIP_LIST, F_OK) < 0,
	   "and no start takes such an image");
	is_int(step_strip("none", &n, &err), -ENOENT, "no image");
}

int main(void)
{
	test_bits();
	test_capability();
	test_list();
	test_depth();
	file_remove_tree("root");
	file_remove_tree("out");
	return done_testing();
}
