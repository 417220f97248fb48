/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mounts_test.c - workspaces, their owners, and mount.sock
 *
 * Runs in a mount namespace of its own: nothing of it is seen outside.
 */
#include "control/acd/storage/mount_sock.h"
#include "control/acd/storage/mounts.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "control/acd/storage/idmap.h"
#include "control/acd/storage/volumes.h"
#include "lib/file.h"
#include "lib/sock.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

#define HOST_UID 4321u

static struct loop *loop;
static char top[64], state[80], run[80], sock[80];

static void test_swap_lines(void)
{
	static const struct {
		uint32_t a, b;
		int want;
		const char *lines;
	} cases[] = {
		{ 0, 1000, 0,
		  "0 1000 1\n1 1 999\n1000 0 1\n1001 1001 4294966294\n" },
		{ 1000, 1000, 0,
		  "0 0 1000\n1000 1000 1\n1001 1001 4294966294\n" },
		{ 1001, 1000, 0,
		  "0 0 1000\n1000 1001 1\n1001 1000 1\n"
		  "1002 1002 4294966293\n" },
		{ 4294967294u, 1000, 0,
		  "0 0 1000\n1000 4294967294 1\n1001 1001 4294966293\n"
		  "4294967294 1000 1\n" },
		{ 4294967295u, 1000, -EINVAL, NULL },
	};
	char out[256];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		is_int(idmap_swap_lines(out, sizeof(out), cases[i].a,
					cases[i].b),
		       cases[i].want, "swap %u %u", cases[i].a, cases[i].b);
		if (cases[i].lines)
			is_str(out, cases[i].lines, "its lines");
	}
	is_int(idmap_swap_lines(out, 20, 0, 1000), -ENOBUFS, "no room");
}

static void instance_make(const char *name)
{
	static const char *const leaves[] = { "workspace", "home" };

	for (size_t i = 0; i < ARRAY_SIZE(leaves); i++) {
		SCOPED_STR dir = str_printf("%s/%s/%s", state, name, leaves[i]);

		file_mkdir_p(dir, 0700);
		if (chown(dir, HOST_UID, HOST_UID) < 0)
			ok(false, "chown %s", dir);
	}
}

static void user_owns(const char *dir, const char *leaf)
{
	SCOPED_STR path = str_printf("%s/%s", dir, leaf);

	if (chown(path, HOST_UID, HOST_UID) < 0)
		ok(false, "chown %s", path);
}

static uid_t owner_of(const char *dir, const char *leaf)
{
	SCOPED_STR path = str_printf("%s/%s", dir, leaf);
	struct stat st = { .st_uid = 77777 };

	stat(path, &st);
	return st.st_uid;
}

static void test_own(void)
{
	struct mounts_spec spec = { .name = "one",
				    .host_uid = HOST_UID,
				    .host_gid = HOST_UID };
	struct mounts_paths p;
	SCOPED_STR file = NULL;
	SCOPED_STR disk = str_printf("%s/one/workspace", state);

	is_int(mounts_prepare(&spec, &p, NULL), -ENOENT, "no folders yet");
	instance_make("one");
	if (!ok(mounts_prepare(&spec, &p, NULL) == 0, "prepare"))
		return;
	file = str_printf("%s/f", p.workspace);
	is_int(owner_of(p.workspace, "."), 1000, "the agent owns it inside");
	is_int(file_write_atomic(file, "x", 1, 04755), 0, "write");
	if (chown(file, 1000, 1000) < 0)
		ok(false, "chown");
	is_int(owner_of(disk, "f"), HOST_UID, "the user owns it outside");
	is_int(mounts_prepare(&spec, &p, NULL), 0, "again, without release");
	is_int(owner_of(p.workspace, "f"), 1000, "the file is there");
	mounts_release("one");
	is_int(access(p.workspace, F_OK), -1, "released: gone");
	is_int(owner_of(disk, "f"), HOST_UID, "the file is not");
	spec.workspace_ro = true;
	mounts_prepare(&spec, &p, NULL);
	is_int(open(file, O_WRONLY | O_CLOEXEC), -1, "read-only");
	is_int(errno, EROFS, "by the mount");
	mounts_release("one");
	mounts_release("one");
	mounts_release("never");
}

static void test_links(void)
{
	const struct mounts_spec spec = { .name = "sly",
					  .host_uid = HOST_UID,
					  .host_gid = HOST_UID };
	SCOPED_STR dir = str_printf("%s/sly", state);
	SCOPED_STR link = str_printf("%s/sly/workspace", state);
	SCOPED_STR home = str_printf("%s/sly/home", state);
	struct mounts_paths p;
	SCOPED_STR shown = NULL;

	file_mkdir_p(dir, 0700);
	file_mkdir_p(home, 0700);
	if (symlink("/etc", link) < 0)
		ok(false, "symlink");
	mounts_prepare(&spec, &p, NULL);
	shown = str_printf("%s/passwd", p.workspace);
	is_int(access(shown, F_OK), -1, "a link in its place is not followed");
	mounts_release("sly");
}

static int look_errno(const char *base, const char *leaf, int flags)
{
	SCOPED_STR path = str_printf("%s/%s", base, leaf);
	SCOPED_FD fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);

	return fd < 0 ? errno : 0;
}

static bool is_empty(const char *base, const char *leaf)
{
	SCOPED_STR path = str_printf("%s/%s", base, leaf);
	SCOPED_DIR dir = opendir(path);
	const struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			return false;
	return dir != NULL;
}

static off_t size_of(const char *base, const char *leaf)
{
	SCOPED_STR path = str_printf("%s/%s", base, leaf);
	struct stat st = { .st_size = -1 };

	lstat(path, &st);
	return st.st_size;
}

static int move_errno(const char *base, const char *from, const char *to)
{
	SCOPED_STR a = str_printf("%s/%s", base, from);
	SCOPED_STR b = str_printf("%s/%s", base, to);

	return rename(a, b) < 0 ? errno : 0;
}

static void test_covered(const char *seen, const char *disk)
{
	is_int(size_of(seen, ".env"), 0, "a blocked file is empty");
	is_int(look_errno(seen, ".env", O_WRONLY), EROFS, "and stays so");
	ok(is_empty(seen, "deep/secret"), "a blocked directory is empty");
	is_int(look_errno(seen, "deep/secret/new", O_WRONLY | O_CREAT), EROFS,
	       "nothing is made in it");
	is_int(size_of(seen, "open"), 4, "its neighbour is there");
	is_int(move_errno(seen, ".env", "x"), EBUSY, "it cannot be moved");
	is_int(move_errno(seen, "open", ".env"), EBUSY, "nor replaced");
	is_int(move_errno(seen, "deep", "sunk"), EBUSY, "nor what it is in");
	is_int(move_errno(seen, "deep/down", "deep/sunk"), EBUSY,
	       "at any depth");
	is_int(move_errno(seen, "deep/free", "deep/down/free"), EXDEV,
	       "its content is another mount's");
	is_int(move_errno(seen, "deep/free", "deep/moved"), 0,
	       "what hides nothing is free");
	is_int(move_errno(seen, "deep/moved", "deep/free"), 0, "back again");
	is_int(move_errno(seen, "empty", "full"), 0,
	       "so is where nothing was to hide");
	is_int(move_errno(seen, "full", "empty"), 0, "back again, too");
	is_int(owner_of(seen, "deep"), 1000, "it is the agent's still");
	ok(is_empty(seen, "deep/down/keys"), "the next path in it is hidden");
	is_int(size_of(disk, ".env"), 6, "the user's own is untouched");
	is_int(size_of(disk, "deep/secret/key"), 3, "in directories too");
}

static void test_blocked(void)
{
	static const char *const paths[] = { ".env",        "deep/secret/",
					     "never/there", "open/below",
					     "empty/one",   "deep/down/keys" };
	struct strv blocked = { 0 };
	struct mounts_spec spec = { .name = "shy",
				    .host_uid = HOST_UID,
				    .host_gid = HOST_UID,
				    .blocked = &blocked };
	SCOPED_STR disk = str_printf("%s/shy/workspace", state);
	SCOPED_STR deep = str_printf("%s/deep/secret", disk);
	SCOPED_STR down = str_printf("%s/deep/down/keys", disk);
	SCOPED_STR empty = str_printf("%s/empty", disk);
	SCOPED_STR env = str_printf("%s/.env", disk);
	SCOPED_STR down_key = str_printf("%s/deep/down/keys/key", disk);
	SCOPED_STR free_ = str_printf("%s/deep/free", disk);
	SCOPED_STR missing = NULL;
	SCOPED_STR key = str_printf("%s/deep/secret/key", disk);
	SCOPED_STR open_ = str_printf("%s/open", disk);
	SCOPED_STR way = str_printf("%s/way", disk);
	struct err err = { 0 };
	struct mounts_paths p;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		is_int(strv_push(&blocked, paths[i]), 0, "block %s", paths[i]);
	instance_make("shy");
	file_mkdir_p(deep, 0755);
	file_mkdir_p(down, 0755);
	file_mkdir_p(empty, 0755);
	file_mkdir_p(free_, 0755);
	user_owns(disk, "deep");
	file_write_atomic(env, "secret", 6, 0644);
	file_write_atomic(down_key, "key", 3, 0644);
	file_write_atomic(key, "key", 3, 0644);
	file_write_atomic(open_, "open", 4, 0644);
	if (!ok(mounts_prepare(&spec, &p, &err) == 0, "prepare %s", err.msg))
		return;
	test_covered(p.workspace, disk);
	missing = mounts_uncovered("shy", &blocked);
	is_str(missing, "never/there, open/below, empty/one",
	       "what was not there is known");
	is_int(mounts_prepare(&spec, &p, NULL), 0, "the next run");
	is_int(size_of(p.workspace, ".env"), 0, "covers it again");
	mounts_release("shy");
	is_int(size_of(disk, ".env"), 6, "released: nothing is left");
	is_int(access(p.workspace, F_OK), -1, "of its mounts");

	if (symlink("/etc", way) < 0)
		ok(false, "symlink");
	is_int(strv_push(&blocked, "way/passwd"), 0, "block it");
	is_int(mounts_prepare(&spec, &p, &err), -ELOOP, "a link in its way");
	ok(strstr(err.msg, "way/passwd") != NULL, "is told: %s", err.msg);
	is_int(access(p.workspace, F_OK), -1, "and nothing stays mounted");
	strv_done(&blocked);
}

static void on_tick(void *arg)
{
	(void)arg;
	loop_stop(loop, 0);
}

/* Sends one message, lets the loop run, reads the answer. */
static int ask(const char *text, size_t len, int fd, char *out, size_t size)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	SCOPED_FD s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct loop_timer *t = loop_timer_new(loop, on_tick, NULL);
	ssize_t n;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", sock);
	if (connect(s, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		return -errno;
	if (fd >= 0)
		sock_send_fd(s, fd, text, len);
	else
		send(s, text, len, MSG_NOSIGNAL);
	loop_timer_set(t, 50);
	loop_run(loop);
	loop_timer_free(t);
	n = recv(s, out, size - 1, MSG_DONTWAIT);
	out[n > 0 ? n : 0] = '\0';
	return n < 0 ? -errno : 0;
}

static void test_messages(int dir_fd)
{
	SCOPED_FD file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	static char big[5000];
	char out[512];
	const struct {
		const char *name, *text;
		int fd;
	} bad[] = {
		{ "no descriptor", "{\"instance\":\"two\"}", -1 },
		{ "not a directory", "{\"instance\":\"two\"}", file },
		{ "no JSON", "hello", dir_fd },
		{ "no name", "{}", dir_fd },
		{ "a name that leaves", "{\"instance\":\"../x\"}", dir_fd },
		{ "a place that leaves",
		  "{\"instance\":\"two\",\"to\":\"/mnt/../x\"}", dir_fd },
		{ "unknown key", "{\"instance\":\"two\",\"x\":1}", dir_fd },
		{ "a key twice", "{\"instance\":\"two\",\"instance\":\"x2\"}",
		  dir_fd },
		{ "wrong type", "{\"instance\":\"two\",\"readonly\":1}",
		  dir_fd },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		ask(bad[i].text, strlen(bad[i].text), bad[i].fd, out,
		    sizeof(out));
		ok(str_starts(out, "{\"error\":{\"code\":\"invalid\""),
		   "%s: %s", bad[i].name, out);
	}
	memset(big, ' ', sizeof(big));
	ask(big, sizeof(big), dir_fd, out, sizeof(out));
	ok(strstr(out, "error") != NULL, "too long: %s", out);
	ok(!mounts_has_external("two"), "nothing was kept");
}

static void test_silent(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	SCOPED_FD s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct loop_timer *t = loop_timer_new(loop, on_tick, NULL);
	char byte;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", sock);
	mount_sock_limit(20);
	is_int(connect(s, (struct sockaddr *)&addr, sizeof(addr)), 0,
	       "a peer that sends nothing");
	loop_timer_set(t, 200);
	loop_run(loop);
	loop_timer_free(t);
	is_int(recv(s, &byte, 1, MSG_DONTWAIT), 0, "is sent away");
	mount_sock_limit(10000);
}

static void test_external(void)
{
	struct mounts_spec spec = { .name = "two",
				    .host_uid = HOST_UID,
				    .host_gid = HOST_UID,
				    .external = true };
	SCOPED_STR dir = str_printf("%s/theirs", top);
	SCOPED_STR file = str_printf("%s/theirs/f", top);
	SCOPED_STR made = NULL;
	SCOPED_FD fd = -1;
	struct stat st;
	struct mounts_paths p;
	char out[512];

	instance_make("two");
	file_mkdir_p(dir, 0755);
	file_write_atomic(file, "x", 1, 0644);
	if (chown(file, HOST_UID, HOST_UID) < 0)
		ok(false, "chown");
	fd = idmap_open(dir);
	is_int(mounts_prepare(&spec, &p, NULL), -ENOENT, "not sent yet");
	test_messages(fd);
	ask("{\"instance\":\"two\",\"readonly\":true}", 34, fd, out,
	    sizeof(out));
	is_str(out, "{\"ok\":true}", "sent");
	ok(mounts_has_external("two"), "it is here");
	mounts_forget_external("two");
	ok(!mounts_has_external("two"), "a stale one is dropped");
	ask("{\"instance\":\"two\",\"readonly\":true}", 34, fd, out,
	    sizeof(out));
	is_int(fstat(fd, &st), 0, "its identity");
	mounts_keep_external("two", st.st_dev, st.st_ino);
	ok(mounts_has_external("two"), "it is the one that is meant");
	mounts_keep_external("two", st.st_dev, st.st_ino + 1);
	ok(!mounts_has_external("two"), "another one is dropped");
	ask("{\"instance\":\"two\",\"readonly\":true}", 34, fd, out,
	    sizeof(out));
	if (!ok(mounts_prepare(&spec, &p, NULL) == 0, "prepare"))
		return;
	is_int(owner_of(p.workspace, "f"), 1000, "owner mapped");
	ok(!mounts_has_external("two"), "it is in use, for no other run");
	mounts_forget_external("two");
	is_int(owner_of(p.workspace, "f"), 1000, "and stays mounted");
	made = str_printf("%s/g", p.workspace);
	is_int(open(made, O_WRONLY | O_CREAT | O_CLOEXEC, 0600), -1,
	       "read-only as the client said");
	mounts_release("two");
	ok(!mounts_has_external("two"), "it served one run");
	is_int(mounts_prepare(&spec, &p, NULL), -ENOENT, "must be sent again");
}

static void extra_send(const char *dir, const char *to)
{
	SCOPED_STR text =
		str_printf("{\"instance\":\"two\",\"to\":\"%s\"}", to);
	SCOPED_FD fd = idmap_open(dir);
	char out[512];

	ask(text, strlen(text), fd, out, sizeof(out));
	is_str(out, "{\"ok\":true}", "%s is sent", to);
}

/* The mounts of a blueprint: each a descriptor of its own. */
static void test_extras(void)
{
	SCOPED_STR dir = str_printf("%s/theirs", top);
	SCOPED_STR beside = str_printf("%s/beside", top);
	struct mounts_extra extras[] = { { .to = "/mnt/docs", .ro = true },
					 { .to = "/mnt/live" } };
	struct mounts_spec spec = { .name = "two",
				    .host_uid = HOST_UID,
				    .host_gid = HOST_UID,
				    .extras = extras,
				    .n_extras = ARRAY_SIZE(extras) };
	char docs[PATH_MAX], live[PATH_MAX], mnt[PATH_MAX], file[PATH_MAX + 8];
	struct mounts_paths p;
	struct stat st;

	file_mkdir_p(beside, 0700);
	user_owns(top, "beside");
	is_int(mounts_prepare(&spec, &p, NULL), -ENOENT, "not sent yet");
	extra_send(dir, "/mnt/docs");
	ok(mounts_has_extra("two", "/mnt/docs") &&
		   !mounts_has_extra("two", "/mnt/live") &&
		   !mounts_has_external("two"),
	   "it is for its place alone");
	mounts_forget_extras("two");
	ok(!mounts_has_extra("two", "/mnt/docs"), "a stale one is dropped");
	extra_send(dir, "/mnt/docs");
	extra_send(beside, "/mnt/live");
	if (!ok(mounts_prepare(&spec, &p, NULL) == 0, "prepare"))
		return;
	mounts_extra_path("two", "/mnt/docs", docs);
	mounts_extra_path("two", "/mnt/live", live);
	mounts_mnt_path("two", mnt);
	is_int(owner_of(docs, "f"), 1000, "owner mapped");
	ok(stat(dir, &st) == 0 && st.st_ino == extras[0].ino &&
		   st.st_dev == extras[0].dev,
	   "its identity is told");
	snprintf(file, sizeof(file), "%s/g", docs);
	is_int(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600), -1, "ro: %s",
	       strerror(errno));
	snprintf(file, sizeof(file), "%s/g", live);
	is_int(file_write_atomic(file, "x", 1, 0600), 0, "live is writable");
	ok(access(beside, F_OK) == 0 && owner_of(beside, "g") != 77777,
	   "and the user's own");
	ok(owner_of(mnt, "docs") != 77777 && owner_of(mnt, "live") != 77777,
	   "their places are there");
	mounts_forget_extras("two");
	is_int(owner_of(docs, "f"), 1000, "what is in use stays");
	mounts_release("two");
	is_int(access(live, F_OK), -1, "released: gone");
	is_int(access(mnt, F_OK), -1, "with their places");
	ok(owner_of(beside, "g") != 77777, "the user's files are not");
	is_int(mounts_prepare(&spec, &p, NULL), -ENOENT, "must be sent again");
}

/* A volume: its files are its owner's, whoever those of the instance belong to,
 * and whatever root of a sandbox has made of its directory. */
static void test_volume(void)
{
	SCOPED_STR dir = str_printf("%s/volumes", top);
	SCOPED_STR data = str_printf("%s/volumes/data/data", top);
	struct mounts_extra extras[] = {
		{ .to = "/mnt/rw", .volume = "data" },
		{ .to = "/mnt/ro", .volume = "data", .ro = true },
	};
	struct mounts_spec spec = { .name = "two",
				    .host_uid = HOST_UID + 1,
				    .host_gid = HOST_UID + 1,
				    .extras = extras,
				    .n_extras = ARRAY_SIZE(extras) };
	char rw[PATH_MAX], ro[PATH_MAX], file[PATH_MAX + 8];
	struct mounts_paths p;
	struct err err = { 0 };

	is_int(volumes_open(dir, HOST_UID, HOST_UID, &err), 0, "open %s",
	       err.msg);
	is_int(mounts_prepare(&spec, &p, &err), -ENOENT, "%s", err.msg);
	is_int(volume_create("data", &err), 0, "made %s", err.msg);
	ok(chown(data, 0, 0) == 0, "given to root, inside");
	if (!is_int(mounts_prepare(&spec, &p, &err), 0, "prepare %s", err.msg))
		return;
	mounts_extra_path("two", "/mnt/rw", rw);
	mounts_extra_path("two", "/mnt/ro", ro);
	snprintf(file, sizeof(file), "%s/g", rw);
	is_int(file_write_atomic(file, "x", 1, 0600), 0, "it is writable");
	ok(chown(file, 1000, 1000) == 0, "by the agent");
	is_int(owner_of(data, "g"), HOST_UID, "the user's outside");
	is_int(owner_of(ro, "g"), 1000, "the agent's inside");
	snprintf(file, sizeof(file), "%s/h", ro);
	is_int(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600), -1, "ro: %s",
	       strerror(errno));
	mounts_release("two");
	is_int(access(rw, F_OK), -1, "released: gone");
	is_int(owner_of(data, "g"), HOST_UID, "its files are not");
	volumes_close();
}

int main(void)
{
	char template[] = "/tmp/mounts_test.XXXXXX";
	struct err err = { 0 };

	test_swap_lines();
	if (getuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		skip("mounts need root and CAP_SYS_ADMIN");
		return done_testing();
	}
	if (!mkdtemp(template))
		return 1;
	snprintf(top, sizeof(top), "%s", template);
	snprintf(state, sizeof(state), "%s/instances", top);
	snprintf(run, sizeof(run), "%s/run", top);
	snprintf(sock, sizeof(sock), "%s/mount.sock", top);
	file_mkdir_p(state, 0700);
	file_mkdir_p(run, 0700);
	loop = loop_new();
	is_int(mounts_init(loop, sock, HOST_UID, HOST_UID, state, run, &err), 0,
	       "init %s", err.msg);
	if (mounts_idmap_problem()) {
		skip("%s", mounts_idmap_problem());
	} else {
		test_own();
		test_links();
		test_blocked();
		test_external();
		test_extras();
		test_volume();
		test_silent();
	}
	mounts_done();
	mounts_done();
	loop_free(loop);
	file_remove_tree(top);
	return done_testing();
}
