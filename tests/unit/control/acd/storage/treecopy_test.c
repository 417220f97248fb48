/* SPDX-License-Identifier: Apache-2.0 */
/*
 * treecopy_test.c - copies between trees that an agent has prepared
 *
 * Needs files of several owners, so root; elsewhere it is skipped.
 */
#include "control/acd/storage/treecopy.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static char top[] = "/var/tmp/treecopy_test.XXXXXX";
static char from[64], to[64], victim[64];

static void put(const char *base, const char *leaf, const char *text)
{
	SCOPED_STR path = str_printf("%s/%s", base, leaf);
	SCOPED_STR dir = strdup(path ? path : "");

	*strrchr(dir, '/') = '\0';
	if (file_mkdir_p(dir, 0755) < 0 ||
	    file_write_atomic(path, text, strlen(text), 0640) < 0)
		ok(false, "write %s", path);
}

static void point(const char *base, const char *leaf, const char *at)
{
	SCOPED_STR path = str_printf("%s/%s", base, leaf);

	if (symlink(at, path) < 0)
		ok(false, "link %s", path);
}

/* What it says, without following a link at the end. */
static const char *get(const char *base, const char *leaf)
{
	static char text[64];
	SCOPED_STR path = str_printf("%s/%s", base, leaf);
	SCOPED_STR data = NULL;

	text[0] = '\0';
	if (file_read_at(AT_FDCWD, path, sizeof(text) - 1, &data, NULL) == 0)
		snprintf(text, sizeof(text), "%s", data);
	return text;
}

static struct stat look(const char *base, const char *leaf)
{
	SCOPED_STR path = str_printf("%s/%s", base, leaf);
	struct stat st = { 0 };

	lstat(path, &st);
	return st;
}

static void fresh(void)
{
	file_remove_tree(from);
	file_remove_tree(to);
	file_remove_tree(victim);
	file_mkdir_p(from, 0755);
	file_mkdir_p(to, 0755);
	file_mkdir_p(victim, 0755);
	put(victim, "file", "precious");
}

static void victim_is_whole(const char *what)
{
	is_str(get(victim, "file"), "precious", "%s: not written through",
	       what);
	is_str(get(victim, "a"), "", "%s: nothing was put there", what);
}

static void test_in(void)
{
	SCOPED_STR file = str_printf("%s/file", victim);
	SCOPED_STR none = str_printf("%s/a", victim);
	SCOPED_STR up = str_printf("../../%s/file", strrchr(victim, '/') + 1);
	struct err err = { 0 };

	fresh();
	put(from, "CLAUDE.md", "mine");
	put(from, "dangling", "mine");
	put(from, "sub/a", "mine");
	put(from, "deep/x/rel", "mine");
	put(from, "wasdir", "mine");
	put(from, "wasfile/a", "mine");
	point(to, "CLAUDE.md", file);
	point(to, "dangling", none);
	point(to, "sub", victim);
	put(to, "deep/x/other", "stays");
	point(to, "deep/x/rel", up);
	put(to, "wasdir/a", "old");
	put(to, "wasfile", "old");
	put(to, "alone", "stays");
	is_int(treecopy(from, to, &err), 0, "copy: %s", err.msg);
	victim_is_whole("in");
	is_str(get(to, "CLAUDE.md"), "mine", "a link is replaced");
	is_str(get(to, "dangling"), "mine", "also one to nothing");
	is_str(get(to, "sub/a"), "mine", "one in place of a directory");
	ok(S_ISDIR(look(to, "sub").st_mode), "which is one now");
	is_str(get(to, "deep/x/rel"), "mine", "one further down");
	is_str(get(to, "wasdir"), "mine", "a file for a directory");
	is_str(get(to, "wasfile/a"), "mine", "a directory for a file");
	is_str(get(to, "deep/x/other"), "stays", "what is not in the way");
	is_str(get(to, "alone"), "stays", "stays");
}

static void test_kinds(void)
{
	SCOPED_STR a = str_printf("%s/a", from);
	SCOPED_STR b = str_printf("%s/b", from);
	SCOPED_STR fifo = str_printf("%s/fifo", from);
	struct err err = { 0 };

	fresh();
	put(from, "a", "one");
	point(from, "link", "/etc/passwd");
	if (link(a, b) < 0 || mkfifo(fifo, 0600) < 0 || chown(a, 4321, 4321))
		ok(false, "files");
	is_int(treecopy(from, to, &err), 0, "copy: %s", err.msg);
	is_int(look(to, "a").st_uid, 4321, "owners");
	ok(look(to, "a").st_ino == look(to, "b").st_ino, "hard links");
	ok(S_ISLNK(look(to, "link").st_mode), "links");
	ok(S_ISFIFO(look(to, "fifo").st_mode), "FIFOs");
	is_int(treecopy(from, to, &err), 0, "again: %s", err.msg);
	is_int(treecopy(victim, "/nonexistent", &err), -ENOENT, "nowhere: %s",
	       err.msg);
}

/* As deep as an agent can make it: no path leads to its end, which has a
 * file, and a second name of one at the top. */
#define DEPTH 900
#define NAME_BYTES 120

static int down(const char *base, bool make)
{
	char name[NAME_BYTES + 1];
	int fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	memset(name, 'd', sizeof(name) - 1);
	name[NAME_BYTES] = '\0';
	for (int i = 0; i < DEPTH && fd >= 0; i++) {
		int next;

		if (make && mkdirat(fd, name, 0750) < 0)
			ok(false, "mkdir at %d", i);
		next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(fd);
		fd = next;
	}
	return fd;
}

static void deep_make(void)
{
	SCOPED_FD fd = down(from, true);
	SCOPED_FD file =
		openat(fd, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0640);
	SCOPED_STR one = str_printf("%s/one", from);
	const struct timespec times[2] = { { .tv_sec = 1000 },
					   { .tv_sec = 2000 } };

	put(from, "one", "one of two");
	if (file < 0 || fd_write_all(file, "deep", 4) < 0 ||
	    fchown(file, 4321, 4322) < 0 ||
	    linkat(AT_FDCWD, one, fd, "two", 0) < 0 || futimens(fd, times) < 0)
		ok(false, "files at the end");
}

static void test_deep(void)
{
	SCOPED_STR links = str_printf("%s.links", to);
	SCOPED_FD fd = -1;
	struct err err = { 0 };
	struct stat st = { 0 }, one;

	fresh();
	deep_make();
	/* As one that was cut off leaves it. */
	file_mkdir_p(links, 0700);
	put(links, "123", "old");
	is_int(treecopy(from, to, &err), 0, "copy: %s", err.msg);
	is_int(treecopy(from, to, &err), 0, "and once more: %s", err.msg);
	fd = down(to, false);
	ok(fd >= 0 && fstat(fd, &st) == 0 && st.st_mtime == 2000,
	   "all the way down, with the time of the last directory");
	ok(fstatat(fd, "file", &st, 0) == 0 && st.st_size == 4 &&
		   st.st_uid == 4321 && st.st_gid == 4322 &&
		   (st.st_mode & 07777) == 0640,
	   "the file there");
	one = look(to, "one");
	ok(fstatat(fd, "two", &st, 0) == 0 && st.st_ino == one.st_ino &&
		   st.st_nlink == 2,
	   "and the other name of one at the top");
	is_int(access(links, F_OK), -1, "nothing is left beside it");
}

static void test_holes(void)
{
	SCOPED_STR path = str_printf("%s/sparse", from);
	SCOPED_STR copy = str_printf("%s/sparse", to);
	SCOPED_FD fd = -1;
	struct err err = { 0 };
	struct stat st;
	char text[7] = "";

	fresh();
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (ftruncate(fd, 1 << 30) < 0 ||
	    pwrite(fd, "middle", 6, 512 << 20) != 6)
		ok(false, "a sparse file");
	is_int(treecopy(from, to, &err), 0, "copy: %s", err.msg);
	st = look(to, "sparse");
	is_int(st.st_size, 1 << 30, "its size");
	ok(st.st_blocks < 2048, "its holes: %lld blocks",
	   (long long)st.st_blocks);
	fd_closep(&fd);
	fd = open(copy, O_RDONLY | O_CLOEXEC);
	ok(pread(fd, text, 6, 512 << 20) == 6 && strcmp(text, "middle") == 0,
	   "and what is in between");
}

int main(void)
{
	if (getuid() != 0) {
		skip("files of others need root");
		return done_testing();
	}
	if (!mkdtemp(top))
		return 1;
	snprintf(from, sizeof(from), "%s/from", top);
	snprintf(to, sizeof(to), "%s/to", top);
	snprintf(victim, sizeof(victim), "%s/victim", top);
	test_in();
	test_kinds();
	test_deep();
	test_holes();
	file_remove_tree(top);
	return done_testing();
}
