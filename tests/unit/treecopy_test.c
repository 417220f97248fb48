/* SPDX-License-Identifier: Apache-2.0 */
/*
 * treecopy_test.c - copies between trees that an agent has prepared
 *
 * Needs mounts, so root; elsewhere it is skipped.
 */
#include "control/acd/treecopy.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

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

static bool may_mount(void)
{
	pid_t pid = fork();
	int status = 1;

	if (pid == 0)
		_exit(unshare(CLONE_NEWNS) < 0);
	return waitpid(pid, &status, 0) == pid && status == 0;
}

int main(void)
{
	if (getuid() != 0 || !may_mount()) {
		skip("mounts need root and CAP_SYS_ADMIN");
		return done_testing();
	}
	if (!mkdtemp(top))
		return 1;
	snprintf(from, sizeof(from), "%s/from", top);
	snprintf(to, sizeof(to), "%s/to", top);
	snprintf(victim, sizeof(victim), "%s/victim", top);
	test_in();
	test_kinds();
	file_remove_tree(top);
	return done_testing();
}
