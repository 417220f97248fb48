/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_test.c - whole files, and trees a sandbox made to hurt
 *
 * Everything happens in a new directory, which is the working directory.
 */
#include "lib/file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/str.h"
#include "tests/unit/tap.h"

static int exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static int put(const char *path, const char *text)
{
	return file_write_atomic(path, text, strlen(text), 0644);
}

static void test_read(void)
{
	SCOPED_STR a = NULL;
	SCOPED_STR b = NULL;
	SCOPED_STR c = NULL;
	SCOPED_STR d = NULL;
	SCOPED_STR e = NULL;
	char *none = NULL;
	size_t len = 7;

	put("read", "hello");
	ok(file_read("read", 5, &a, &len) == 0 && len == 5, "to the maximum");
	is_str(a, "hello", "the text");
	is_int(file_read("read", 4, &none, &len), -EFBIG, "past it");
	is_int(file_read("read", 0, &none, &len), -EFBIG, "a maximum of 0");
	is_int(file_read("read", SIZE_MAX, &b, NULL), 0, "no maximum");
	put("empty", "");
	ok(file_read("empty", 0, &c, &len) == 0 && len == 0, "an empty file");
	is_str(c, "", "is an empty string");
	ok(file_read("/proc/self/stat", 65536, &d, &len) == 0 && len > 10,
	   "a file that claims to be empty");
	is_int(file_read("/proc/self/stat", 9, &none, &len), -EFBIG,
	       "and is larger than allowed");
	ok(file_read("/proc/sys/kernel/pid_max", 64, &e, &len) == 0 && len > 3,
	   "one that tells all in its first read");
	is_int(file_read("missing", 9, &none, &len), -ENOENT, "no file");
	is_int(file_read(".", 9, &none, &len), -EINVAL, "a directory");
	is_int(file_read("/dev/zero", 9, &none, &len), -EINVAL, "a device");
	if (ok(mkfifo("fifo", 0600) == 0, "make a FIFO"))
		is_int(file_read("fifo", 9, &none, &len), -EINVAL,
		       "a FIFO does not hold us");
	ok(!none, "failures return nothing");
}

static void test_read_links(void)
{
	SCOPED_STR a = NULL;
	SCOPED_STR b = NULL;
	char *none = NULL;

	ok(symlink("read", "link") == 0, "make a link");
	is_int(file_read("link", 9, &a, NULL), 0, "file_read follows it");
	is_int(file_read_at(AT_FDCWD, "link", 9, &none, NULL), -ELOOP,
	       "file_read_at does not");
	is_int(file_read_at(AT_FDCWD, "read", 9, &b, NULL), 0, "it reads");
}

/* Sizes around those of the steps in which a file of no size is read. */
static void test_read_sizes(void)
{
	static const size_t sizes[] = { 1, 4095, 4096, 4097, 70000 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		SCOPED_MEM data = malloc(sizes[i]);
		SCOPED_STR back = NULL;
		size_t len = 0;

		if (!data)
			return;
		memset(data, (int)i + 1, sizes[i]);
		is_int(file_write_atomic("sized", data, sizes[i], 0600), 0,
		       "write %zu bytes", sizes[i]);
		ok(file_read("sized", sizes[i], &back, &len) == 0 &&
			   len == sizes[i] && !memcmp(back, data, len) &&
			   !back[len],
		   "and read them");
	}
}

static void test_write(void)
{
	char name[256];
	struct stat st;

	umask(077);
	is_int(file_write_atomic("w", "1", 1, 0644), 0, "write");
	umask(022);
	ok(stat("w", &st) == 0 && (st.st_mode & 07777) == 0644,
	   "the mode is exact");
	ok(symlink("w", "wlink") == 0 && put("wlink", "22") == 0,
	   "write to a link");
	ok(lstat("wlink", &st) == 0 && S_ISREG(st.st_mode), "replaces it");
	ok(stat("w", &st) == 0 && st.st_size == 1, "not what it names");
	is_int(put("no/dir", "x"), -ENOENT, "no directory");
	ok(mkdir("wd", 0700) == 0 && put("wd/f", "x") == 0, "one deeper");
	ok(put("wd", "x") < 0 && exists("wd/f"), "not over a directory");
	memset(name, 'n', 255);
	name[255] = '\0';
	is_int(put(name, "x"), 0, "the longest name");
	ok(unlink("wd/f") == 0 && rmdir("wd") == 0, "no temporary is left");
}

static void test_put(void)
{
	SCOPED_STR text = NULL;

	put("p", "a longer text");
	is_int(file_put("p", "short"), 0, "put");
	ok(file_read("p", 99, &text, NULL) == 0, "read back");
	is_str(text, "short", "nothing of the old text");
	is_int(file_put("missing", "x"), -ENOENT, "put creates nothing");
	is_int(file_put("link", "x"), -ELOOP, "put follows no link");
	is_int(file_put("/dev/full", "x"), -ENOSPC, "a failing write shows");
}

static void test_mkdir(void)
{
	is_int(file_mkdir_p("a/b//c/", 0755), 0, "mkdir_p");
	ok(exists("a/b/c"), "made them");
	is_int(file_mkdir_p("a/b/c", 0755), 0, "again");
	is_int(file_mkdir_p("/", 0755), 0, "the root");
	is_int(file_mkdir_p(".", 0755), 0, "here");
	is_int(file_mkdir_p("p", 0755), -ENOTDIR, "a file");
	is_int(file_mkdir_for("own", getuid(), getgid()), 0, "one of a user's");
	is_int(file_mkdir_for("own", getuid(), getgid()), 0, "again");
	is_int(file_mkdir_for("p", getuid(), getgid()), -ENOTDIR, "a file");
	ok(symlink("own", "to-own") == 0, "a link");
	is_int(file_mkdir_for("to-own", getuid(), getgid()), -ENOTDIR,
	       "to a directory is none");
	is_int(file_mkdir_for("no/such", getuid(), getgid()), -ENOENT,
	       "no parent");
	is_int(file_mkdir_p("p/x", 0755), -ENOTDIR, "below a file");
	is_int(file_mkdir_p("", 0755), -ENOENT, "nothing");
	is_int(file_mkdir_p("/proc/none", 0755), -ENOENT, "not possible");
}

/* Whoever may not give it away leaves none of its own behind. */
static void test_mkdir_not_for(void)
{
	int status = 1;
	pid_t pid;

	if (mkdir("open", 0700) < 0 || chmod("open", 0777) < 0)
		abort();
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (chdir("open") < 0 ||
		    (geteuid() == 0 &&
		     (setgid(65534) < 0 || setuid(65534) < 0)))
			_exit(2);
		if (file_mkdir_for("a", 0, 0) != -EPERM)
			_exit(3);
		_exit(access("a", F_OK) < 0 && errno == ENOENT ? 0 : 4);
	}
	ok(waitpid(pid, &status, 0) == pid && status == 0,
	   "a directory that cannot be given away is none: %d",
	   WEXITSTATUS(status));
}

static void test_read_all(void)
{
	char mem[9] = "";
	int fd[2];

	for (size_t n = 7; n <= 9; n++) {
		if (pipe(fd) < 0 || fd_write_all(fd[1], "123456789", n) < 0)
			abort();
		close(fd[1]);
		is_int(fd_read_all(fd[0], mem, 8), n <= 8 ? (int)n : -EMSGSIZE,
		       "%zu bytes of 8", n);
		close(fd[0]);
	}
	ok(memcmp(mem, "12345678", 8) == 0, "are those that came");
	is_int(fd_read_all(-1, mem, 8), -EBADF, "no descriptor to read");
}

static void test_write_all(void)
{
	SCOPED_FD full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	is_int(fd_write_all(full, "x", 1), -ENOSPC, "write_all fails");
	is_int(fd_write_all(full, NULL, 0), 0, "nothing to write");
	is_int(fd_write_all(-1, "x", 1), -EBADF, "no descriptor");
}

static void test_remove_small(void)
{
	is_int(file_remove_tree("missing"), 0, "a missing tree is gone");
	is_int(file_remove_tree("missing/x"), 0, "below a missing one");
	put("rf", "x");
	ok(file_remove_tree("rf") == 0 && !exists("rf"), "a file");
	ok(mkdir("rd", 0) == 0 && file_remove_tree("rd") == 0 && !exists("rd"),
	   "an empty directory");
	put("rf", "x");
	is_int(file_remove_tree("rf/x"), -ENOTDIR, "below a file");
	is_int(file_remove_tree("/proc/self/stat"), -EPERM, "not possible");
}

static void test_remove_links(void)
{
	ok(mkdir("safe", 0700) == 0 && put("safe/file", "x") == 0, "a victim");
	mkdir("evil", 0700);
	ok(symlink("../safe", "evil/dir") == 0 &&
		   symlink("../safe/file", "evil/file") == 0 &&
		   symlink("..", "evil/up") == 0 &&
		   symlink("/", "evil/root") == 0 &&
		   symlink("gone", "evil/dangling") == 0,
	   "links out of the tree");
	ok(file_remove_tree("evil") == 0 && !exists("evil"), "remove it");
	ok(exists("safe/file"), "the victim is alive");
	ok(symlink("safe", "l") == 0 && file_remove_tree("l") == 0 &&
		   !exists("l") && exists("safe/file"),
	   "a link as the tree: only the link");
	ok(symlink("safe", "l") == 0 && file_remove_tree("l/") < 0 &&
		   exists("safe/file"),
	   "a link with a slash: refused");
}

static void test_remove_names(void)
{
	static const char *const names[] = {
		"new\nline", "tab\t",   " ",          "-rf",        "...",
		"..\n",      "\033[2J", "\xff\xfe",   "*",          "\\",
		"'",         "\"",      ".removed-0", ".removed-1",
	};
	char longest[256];

	memset(longest, 'x', 255);
	longest[255] = '\0';
	ok(mkdir("odd", 0700) == 0 && chdir("odd") == 0, "a directory");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		ok(mkdir(names[i], 0700) == 0 && chdir(names[i]) == 0 &&
			   put("\n", "x") == 0 && chdir("..") == 0,
		   "odd name %zu", i);
	ok(mkdir(longest, 0700) == 0 && mkfifo("fifo", 0) == 0 &&
		   chdir("..") == 0,
	   "the longest name, a FIFO");
	ok(file_remove_tree("odd") == 0 && !exists("odd"), "all removed");
}

/*
 * A tree of @levels with a file and a twin directory on each, and names that
 * the removal would like to give to what it moves up.
 */
static int make_deep(const char *top, int levels)
{
	SCOPED_FD home = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = mkdir(top, 0700) || chdir(top);

	for (int i = 0; i < levels && !rc; i++) {
		rc = mkdir("d", 0700) || (i % 64 == 0 && mkdir("t", 0700)) ||
		     (i % 64 == 0 && mkdir("t/t", 0700)) || chdir("d");
	}
	if (!rc)
		rc = close(open("file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	if (fchdir(home) < 0)
		return -1;
	return rc;
}

static void test_deep(void)
{
	uint64_t size = 0;

	ok(make_deep("deep", 5000) == 0, "a tree of 5000 levels");
	ok(mkdir("deep/.removed-0", 0700) == 0 &&
		   mkdir("deep/.removed-0/x", 0700) == 0 &&
		   put("deep/.removed-1", "x") == 0 &&
		   symlink("../safe", "deep/.removed-2") == 0 &&
		   mkdir("deep/.removed-3", 0700) == 0,
	   "with our names taken");
	is_int(file_tree_size("deep", &size), 0, "can be measured");
	is_int(file_remove_tree("deep"), 0, "and removed");
	ok(!exists("deep") && exists("safe/file"), "it, and nothing else");
}

static void test_wide(void)
{
	uint64_t size = 0;
	int made = 0;

	mkdir("wide", 0700);
	for (int i = 0; i < 3000; i++) {
		char name[64];

		snprintf(name, sizeof(name), "wide/%d", i);
		made += i % 3 ? close(open(name, O_CREAT | O_CLOEXEC | O_WRONLY,
					   0600)) == 0 :
				mkdir(name, 0700) == 0;
		snprintf(name, sizeof(name), "wide/%d/x", i);
		if (i % 3 == 0)
			made += mkdir(name, 0700) == 0;
	}
	is_int(made, 4000, "a wide tree");
	is_int(file_tree_size("wide", &size), 0, "can be measured");
	ok(file_remove_tree("wide") == 0 && !exists("wide"), "and removed");
}

static void test_size(void)
{
	char data[40960];
	uint64_t size = 0, before = 0, linked = 0;
	struct stat st;

	memset(data, 1, sizeof(data));
	mkdir("sz", 0700);
	mkdir("sz/a", 0700);
	ok(file_tree_size("sz", &before) == 0, "size of empty directories");
	is_int(file_write_atomic("sz/a/f", data, sizeof(data), 0600), 0,
	       "write a file");
	sync();
	ok(stat("sz/a/f", &st) == 0 && file_tree_size("sz", &size) == 0,
	   "size with it");
	ok(size >= before + (uint64_t)st.st_blocks * 512, "has grown by it");
	ok(link("sz/a/f", "sz/l") == 0 && file_tree_size("sz", &linked) == 0 &&
		   linked == size,
	   "a second link costs nothing");
	ok(symlink("/", "sz/root") == 0 && symlink("..", "sz/up") == 0 &&
		   file_tree_size("sz", &linked) == 0 && linked < size + 65536,
	   "links are not followed");
	ok(file_tree_size("sz/a/f", &size) == 0 &&
		   size == (uint64_t)st.st_blocks * 512 / 2,
	   "a file alone: its share");
	is_int(file_tree_size("missing", &size), -ENOENT, "no tree");
	ok(symlink("/", "rootlink") == 0 &&
		   file_tree_size("rootlink", &size) == 0 && size < 65536,
	   "a link as the tree");
}

int main(void)
{
	char home[] = "/tmp/file_test-XXXXXX";

	if (!mkdtemp(home) || chdir(home) < 0) {
		perror(home);
		return 1;
	}
	test_read();
	test_read_links();
	test_read_sizes();
	test_write();
	test_put();
	test_mkdir();
	test_mkdir_not_for();
	test_read_all();
	test_write_all();
	test_remove_small();
	test_remove_links();
	test_remove_names();
	test_deep();
	test_wide();
	test_size();
	ok(chdir("/") == 0 && file_remove_tree(home) == 0 && !exists(home),
	   "everything is removed");
	return done_testing();
}
