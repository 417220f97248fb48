/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_test.c - disk limits by a file, and files on their way in and out
 *
 * Runs in a mount namespace of its own. Project quota needs a kernel and a
 * disk that have it: where there are none, that it is told so.
 */
#include "control/acd/storage/disk.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "control/acd/storage/disk_image.h"
#include "control/acd/storage/disk_quota.h"
#include "control/acd/storage/treejob.h"
#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/step.h"
#include "tests/unit/tap.h"

#define OWNER 4321u
#define MIB (UINT64_C(1) << 20)

static char top[64], dir[96], at[96];
static struct disk_spec spec = {
	.dir = dir, .at = at, .uid = OWNER, .gid = OWNER
};

static int settle(uint64_t bytes, struct err *err)
{
	*err = (struct err){ 0 };
	spec.bytes = bytes;
	return disk_settle(&spec, err);
}

/* Makes <base>/<leaf> with @text, owned by the agent's side. */
static void put(const char *base, const char *leaf, const char *text)
{
	SCOPED_STR path = str_printf("%s/%s", base, leaf);

	if (file_write_atomic(path, text, strlen(text), 0640) < 0 ||
	    chown(path, OWNER, OWNER) < 0)
		ok(false, "write %s", path);
}

/* What <base>/<leaf> says, "" when it is not there. */
static const char *get(const char *base, const char *leaf)
{
	static char text[64];
	SCOPED_STR path = str_printf("%s/%s", base, leaf);
	SCOPED_STR data = NULL;

	text[0] = '\0';
	if (file_read(path, sizeof(text) - 1, &data, NULL) == 0)
		snprintf(text, sizeof(text), "%s", data);
	return text;
}

static uid_t owner(const char *base, const char *leaf)
{
	SCOPED_STR path = str_printf("%s/%s", base, leaf);
	struct stat st = { .st_uid = 1 };

	lstat(path, &st);
	return st.st_uid;
}

/* Bytes written to <at>/workspace/big until that was refused. */
static uint64_t fill(int *ret_errno)
{
	static char chunk[64 * 1024];
	SCOPED_STR path = str_printf("%s/workspace/big", at);
	SCOPED_FD fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	uint64_t all = 0;
	ssize_t n;

	while ((n = write(fd, chunk, sizeof(chunk))) > 0 && all < 512 * MIB)
		all += (uint64_t)n;
	*ret_errno = n < 0 ? errno : 0;
	return all;
}

static void test_free(void)
{
	struct disk_use use = { .limit = 1 };
	struct err err;

	spec.bytes = 0;
	ok(disk_is_settled(&spec), "no limit: nothing to do");
	is_int(settle(0, &err), 0, "and that does nothing");
	ok(!disk_has_image(dir), "no disk.img");
	disk_look(dir, at, &use);
	is_int(use.held, DISK_FREE, "held by nothing");
	is_int(use.limit, 0, "no limit to tell");
	is_str(disk_held_name(use.held), NULL, "without a name");
	spec.bytes = MIB;
	ok(!disk_is_settled(&spec), "with a limit there is");
}

static void test_no_way(void)
{
	struct err err;
	char text[128];

	if (mount("none", "/dev", "tmpfs", 0, NULL) < 0 ||
	    mknod("/dev/null", S_IFCHR | 0666, makedev(1, 3)) < 0) {
		ok(false, "an empty /dev");
		return;
	}
	is_int(settle(32 * MIB, &err), -ENODEV, "no loop device: refused");
	ok(strstr(err.msg, "AC_LOOP") && strstr(err.msg, "32"),
	   "with a way out: %s", err.msg);
	ok(!disk_has_image(dir), "nothing is left of the attempt");
	is_str(get(dir, "workspace/a"), "one", "the files are where they were");
	is_int(disk_means(dir, text, sizeof(text)), -ENOTSUP, "told before");
	umount2("/dev", MNT_DETACH);
}

static void test_in(void)
{
	SCOPED_STR big = str_printf("%s/workspace/big", at);
	struct disk_use use;
	struct err err;
	uint64_t n;
	int code;

	is_int(settle(32 * MIB, &err), 0, "settle: %s", err.msg);
	is_str(get(at, "workspace/a"), "one", "the file is in disk.img");
	is_int(owner(at, "workspace/a"), OWNER, "with its owner");
	is_str(get(at, "home/.h"), "hidden", "those of the home too");
	is_int(owner(at, "workspace/link"), OWNER, "and links");
	is_str(get(dir, "workspace/a"), "", "and not outside");
	is_int(owner(dir, "workspace"), OWNER, "whose directory stays his");
	n = fill(&code);
	is_int(code, ENOSPC, "full at some time");
	ok(n > 16 * MIB && n < 32 * MIB, "before the limit: %llu",
	   (unsigned long long)n);
	disk_look(dir, at, &use);
	is_int(use.held, DISK_FILE, "held by a file");
	is_int(use.limit, 32 * MIB, "its limit");
	ok(use.files > 0 && use.files_limit > use.files, "files are counted");
	ok(use.used <= use.limit && use.used + use.limit / 64 >= use.limit,
	   "full: %llu", (unsigned long long)use.used);
	is_int(settle(16 * MIB, &err), -EDQUOT, "no smaller than its use: %s",
	       err.msg);
	is_int(settle(64 * MIB, &err), 0, "larger: %s", err.msg);
	ok(fill(&code) > n, "holds more");
	if (big)
		unlink(big);
	is_int(settle(24 * MIB, &err), 0, "smaller again: %s", err.msg);
	is_str(get(at, "workspace/a"), "one", "and all is there");
}

/* An earlier run that has not let go yet. */
static void test_held(void)
{
	SCOPED_STR path = str_printf("%s/workspace/a", at);
	struct err err;
	int fds[2];
	char byte;
	pid_t pid;

	if (pipe(fds) < 0)
		return;
	pid = fork();
	if (pid == 0) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);

		if (fd >= 0 && write(fds[1], "x", 1) == 1)
			usleep(300000);
		_exit(0);
	}
	is_int(read(fds[0], &byte, 1), 1, "a process has a file open");
	is_int(settle(24 * MIB, &err), 0, "it is waited for: %s", err.msg);
	is_str(get(at, "workspace/a"), "one", "then it is mounted");
	waitpid(pid, NULL, 0);
	close(fds[0]);
	close(fds[1]);
}

static void test_between(void)
{
	SCOPED_STR planted = str_printf("%s/workspace/planted", at);
	SCOPED_STR outside = str_printf("%s/victim", top);
	struct err err;

	if (file_write_atomic(outside, "", 0, 0600) < 0 ||
	    symlink(outside, planted) < 0)
		ok(false, "a link for the copy to follow");
	umount2(at, MNT_DETACH);
	put(dir, "workspace/planted", "mine");
	put(dir, "workspace/b", "two");
	put(dir, "workspace/a", "newer");
	is_int(settle(24 * MIB, &err), 0, "the next run: %s", err.msg);
	is_str(get(outside, ""), "", "nothing went through a link");
	is_str(get(at, "workspace/planted"), "mine", "which was replaced");
	is_str(get(at, "workspace/b"), "two", "what was put there came along");
	is_str(get(at, "workspace/a"), "newer", "and counts");
	is_str(get(dir, "workspace/b"), "", "outside is empty again");
}

/* The file was enlarged, and then acd was killed. */
static void test_cut_off(void)
{
	struct statvfs fs = { 0 };
	SCOPED_STR image = str_printf("%s/disk.img", dir);
	struct err err;

	umount2(at, MNT_DETACH);
	if (truncate(image, 96 * MIB) < 0)
		ok(false, "truncate");
	is_int(settle(96 * MIB, &err), 0, "the next run: %s", err.msg);
	statvfs(at, &fs);
	ok((uint64_t)fs.f_blocks * fs.f_frsize > 64 * MIB,
	   "has what was asked for: %llu",
	   (unsigned long long)fs.f_blocks * fs.f_frsize);
	is_int(settle(24 * MIB, &err), 0, "and back: %s", err.msg);
}

static void test_clean(void)
{
	struct disk_removal d = { .spec = spec, .home = true };
	struct err err = { 0 };
	struct disk_use use;

	umount2(at, MNT_DETACH);
	is_int(disk_remove(&d, &err), 0, "clean: %s", err.msg);
	disk_look(dir, at, &use);
	ok(use.used < use.limit && use.held == DISK_FILE, "disk.img stays");
	is_int(settle(24 * MIB, &err), 0, "the next run: %s", err.msg);
	is_str(get(at, "home/.h"), "", "its home was wiped");
	is_str(get(at, "workspace/b"), "two", "its workspace was not");
}

static void test_out(void)
{
	struct err err;

	umount2(at, MNT_DETACH);
	put(dir, "workspace/b", "mine");
	spec.bytes = 0;
	ok(!disk_is_settled(&spec), "without a limit: something to do");
	is_int(settle(0, &err), 0, "undo: %s", err.msg);
	is_str(get(dir, "workspace/a"), "newer", "the files are back");
	is_int(owner(dir, "workspace/a"), OWNER, "with their owner");
	is_str(get(dir, "workspace/b"), "mine", "what was there stays");
	ok(!disk_has_image(dir), "disk.img is gone");
	ok(disk_is_settled(&spec), "and that is all");
}

static void unlink_fat(void)
{
	SCOPED_STR path = str_printf("%s/workspace/fat", dir);

	if (path)
		unlink(path);
}

static bool is_mounted(void)
{
	struct stat a, b;

	return stat(at, &a) == 0 && stat(top, &b) == 0 && a.st_dev != b.st_dev;
}

static void test_too_much(void)
{
	SCOPED_STR path = str_printf("%s/workspace/fat", dir);
	SCOPED_STR home = str_printf("%s/home", dir);
	static char data[1024 * 1024];
	struct err err;

	file_mkdir_p(home, 0700);
	memset(data, 'x', sizeof(data));
	for (int i = 0; i < 40; i++) {
		SCOPED_FD fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);

		fd_write_all(fd, data, sizeof(data));
	}
	is_int(settle(32 * MIB, &err), -EDQUOT, "they hold more: %s", err.msg);
	ok(!disk_has_image(dir), "nothing is left of the attempt");
	is_str(get(dir, "workspace/b"), "mine", "and nothing was lost");
}

/* A copy into a new disk.img that fails, whatever for, changes nothing. */
static void test_fails(void)
{
	SCOPED_STR path = str_printf("%s/workspace/many", dir);
	SCOPED_STR other = str_printf("%s/workspace/other", dir);
	struct err err;
	char name[128];

	unlink_fat();
	file_mkdir_p(path, 0700);
	for (int i = 0; i < 2500; i++) {
		snprintf(name, sizeof(name), "%s/%d", path, i);
		close(open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	}
	is_int(settle(16 * MIB, &err), -EDQUOT, "more files than it can: %s",
	       err.msg);
	ok(!disk_has_image(dir), "nothing is left of the attempt");
	file_remove_tree(path);
	if (mkdir(other, 0700) < 0 ||
	    mount("none", other, "tmpfs", 0, NULL) < 0)
		ok(false, "a mount");
	is_int(settle(32 * MIB, &err), -EXDEV, "another file system: %s",
	       err.msg);
	ok(!disk_has_image(dir) && !is_mounted(), "nothing is left of it");
	is_str(get(dir, "workspace/b"), "mine", "and nothing was moved");
	umount2(other, MNT_DETACH);
	spec.bytes = 0;
	ok(disk_is_settled(&spec), "the next run has nothing to do");
}

static void on_settled(void *arg, const struct err *err)
{
	*(int *)arg = err ? err->code : 1;
}

/* Told to leave off before it began: as if it had never been asked. */
static void test_canceled(void)
{
	struct loop *loop = loop_new();
	struct treejob *j = NULL;
	struct err err = { 0 };
	int code = 0;

	spec.bytes = 32 * MIB;
	is_int(treejob_run(loop, disk_settle, &spec, on_settled, &code, &j,
			   &err),
	       0, "a limit is to hold %s", err.msg);
	treejob_cancel(j);
	STEP_UNTIL(loop, code);
	loop_free(loop);
	is_int(code, -ECANCELED, "and then not");
	spec.bytes = 0;
	ok(!is_mounted() && disk_is_settled(&spec), "all is as before");
	is_str(get(dir, "workspace/b"), "mine", "nothing was moved");
}

/* After its rename acd was killed: the files are there twice, and disk.img
 * has no room for them once more. */
static void test_twin(void)
{
	static char data[1024 * 1024];
	SCOPED_STR twin = str_printf("%s/disk.img.twin", dir);
	SCOPED_STR part = str_printf("%s/disk.img.new", dir);
	SCOPED_STR fat = str_printf("%s/workspace/fat", dir);
	SCOPED_STR links = str_printf("%s/home.new.links", dir);
	struct err err;

	for (int i = 0; i < 20; i++) {
		SCOPED_FD fd = open(fat, O_WRONLY | O_CREAT | O_APPEND, 0600);

		fd_write_all(fd, data, sizeof(data));
	}
	put(dir, "disk.img.new", "half");
	file_mkdir_p(links, 0700);
	is_int(settle(32 * MIB, &err), 0, "one that was cut off: %s", err.msg);
	ok(access(part, F_OK) < 0 && access(links, F_OK) < 0 &&
		   access(twin, F_OK) < 0,
	   "and all that was left of it is gone");
	umount2(at, MNT_DETACH);
	for (int i = 0; i < 20; i++) {
		SCOPED_FD fd = open(fat, O_WRONLY | O_CREAT | O_APPEND, 0600);

		fd_write_all(fd, data, sizeof(data));
	}
	put(dir, "workspace/b", "mine");
	is_int(settle(32 * MIB, &err), -EDQUOT, "no room for more: %s",
	       err.msg);
	put(dir, "disk.img.twin", "");
	is_int(settle(32 * MIB, &err), 0, "but for the same: %s", err.msg);
	is_str(get(at, "workspace/b"), "mine", "which is there once");
	is_str(get(dir, "workspace/b"), "", "in its place");
	ok(access(twin, F_OK) < 0, "and that is forgotten");
	umount2(at, MNT_DETACH);
	is_int(settle(0, &err), 0, "and out again: %s", err.msg);
	is_str(get(dir, "workspace/b"), "mine", "with all");
	unlink_fat();
}

static void test_destroy(void)
{
	struct disk_removal d = { .spec = spec, .all = true };
	struct err err = { 0 };

	is_int(disk_remove(&d, &err), 0, "destroy: %s", err.msg);
	is_int(access(dir, F_OK), -1, "all is gone");
	is_int(disk_remove(&d, &err), 0, "again");
}

static void test_files(void)
{
	SCOPED_STR link = str_printf("%s/workspace/link", dir);

	put(dir, "workspace/a", "one");
	put(dir, "home/.h", "hidden");
	if (symlink("/etc/passwd", link) < 0 || lchown(link, OWNER, OWNER) < 0)
		ok(false, "symlink");
	test_no_way();
	if (disk_image_devices() == 0) {
		skip("no loop devices");
		return;
	}
	test_in();
	test_held();
	test_between();
	test_cut_off();
	test_clean();
	test_out();
	test_too_much();
	test_fails();
	test_canceled();
	test_twin();
}

int main(void)
{
	char template[] = "/tmp/disk_test.XXXXXX";
	SCOPED_STR home = NULL;
	SCOPED_STR workspace = NULL;

	if (!mkdtemp(template))
		return 1;
	snprintf(top, sizeof(top), "%s", template);
	snprintf(dir, sizeof(dir), "%s/one", top);
	snprintf(at, sizeof(at), "%s/mnt", top);
	home = str_printf("%s/home", dir);
	workspace = str_printf("%s/workspace", dir);
	file_mkdir_p(home, 0700);
	file_mkdir_p(workspace, 0700);
	test_free();
	if (disk_quota_here(top))
		skip("this disk has project quota");
	else if (getuid() != 0 || chown(home, OWNER, OWNER) < 0 ||
		 chown(workspace, OWNER, OWNER) < 0 ||
		 unshare(CLONE_NEWNS) < 0 ||
		 mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		skip("mounts need root and CAP_SYS_ADMIN");
	else
		test_files();
	test_destroy();
	umount2(at, MNT_DETACH);
	file_remove_tree(top);
	return done_testing();
}
