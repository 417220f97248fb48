/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_test.c - the store of real tokens, and what can befall its files
 */
#include "vault/store.h"

#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/unit/vault/store_world.h"

static void test_life(void)
{
	struct vstore *v;
	struct err err = { 0 };
	struct stat st;
	int code;

	fresh();
	is_str(content(&code), "", "an empty vault");
	ok(code == 0 && access(dir, F_OK) < 0, "is made by the first write");
	is_int(add("b", "2", false), 0, "an entry");
	is_int(add("a", "1", false), 0, "another");
	is_str(content(&code), "a=1 b=2", "both are there");
	is_int(add("a", "x", false), -EEXIST, "a name is taken once");
	is_int(add("a", "3", true), 0, "but may be replaced");
	is_str(content(&code), "a=3 b=2", "so");
	ok(stat(dir, &st) == 0 && (st.st_mode & 07777) == 0700 &&
		   stat(path_of("store"), &st) == 0 &&
		   (st.st_mode & 07777) == 0600 &&
		   stat(path_of("key"), &st) == 0 &&
		   (st.st_mode & 07777) == 0600,
	   "nobody else may look");
	v = store();
	is_int(vstore_remove(v, "c", &err), -ENOENT, "what is not there");
	is_str(err.msg, "there is no credential 'c'", "it says so");
	is_int(vstore_remove(v, "b", &err), 0, "one goes");
	vstore_close(v);
	is_str(content(&code), "a=3", "the other stays");
	ok(access(path_of("store.1"), F_OK) == 0, "a generation is kept");
}

static void test_plain_text(void)
{
	SCOPED_STR text = NULL;
	size_t len = 0;

	fresh();
	is_int(add("tell", SECRET, false), 0, "a secret");
	is_int(file_read(path_of("store"), 1 << 20, &text, &len), 0,
	       "its file");
	ok(text && !memmem(text, len, SECRET, strlen(SECRET)) &&
		   !memmem(text, len, "tell", 4) &&
		   !memmem(text, len, "api.example", 11),
	   "shows neither value nor name nor host");
}

/* ---- damage ---- */

static void test_flips(void)
{
	SCOPED_STR text = NULL;
	size_t len = 0, wrong = 0, told = 0;
	int code;

	fresh();
	is_int(add("one", SECRET, false), 0, "a store");
	is_int(file_read(path_of("store"), 1 << 20, &text, &len), 0, "read");
	for (size_t i = 0; i < len; i++) {
		const char *said;

		text[i] ^= 0x40;
		if (file_replace(path_of("store"), text, len, 0600) < 0)
			abort();
		said = content(&code);
		wrong += code != -EBADMSG;
		told += strstr(said, "is damaged; nothing was changed") != NULL;
		text[i] ^= 0x40;
	}
	ok(wrong == 0 && told == len, "%zu bytes flipped, each is found", len);
	for (size_t i = 0; i < len; i++) {
		if (file_replace(path_of("store"), text, i, 0600) < 0)
			abort();
		content(&code);
		wrong += code != -EBADMSG;
	}
	is_int(wrong, 0, "cut anywhere, it is found");
	/* The NUL that file_read() puts behind it. */
	is_int(file_replace(path_of("store"), text, len + 1, 0600), 0,
	       "a byte behind it");
	content(&code);
	is_int(code, -EBADMSG, "is found as well");
	is_int(add("two", "2", false), -EBADMSG, "nothing is written over it");
	is_int(file_replace(path_of("store"), text, len, 0600), 0, "mended");
	is_str(content(&code), "one=" SECRET, "it is what it was");
}

static void test_newer(void)
{
	SCOPED_STR text = NULL;
	size_t len = 0;
	uint8_t sum[16];
	int code;

	fresh();
	is_int(add("one", "1", false), 0, "a store");
	is_int(file_read(path_of("store"), 1 << 20, &text, &len), 0, "read");
	text[11] = 2; /* the version's last byte */
	crypto_generichash(sum, sizeof(sum), (uint8_t *)text, 64, NULL, 0);
	memcpy(text + 64, sum, sizeof(sum));
	is_int(file_replace(path_of("store"), text, len, 0600), 0,
	       "a newer one");
	ok(strstr(content(&code), "was written by a newer ac"),
	   "is told apart");
	is_int(code, -EPROTONOSUPPORT, "and left alone");
	is_int(add("two", "2", false), -EPROTONOSUPPORT, "also by a write");
}

static void test_key(void)
{
	SCOPED_STR key = NULL;
	SCOPED_STR other = NULL;
	struct vstore *v;
	struct err err = { 0 };
	size_t len = 0;
	int code;

	fresh();
	is_int(add("one", "1", false), 0, "another vault");
	is_int(file_read(path_of("key"), 4096, &other, &len), 0, "its key");
	fresh();
	is_int(add("one", "1", false), 0, "a vault");
	is_int(file_read(path_of("key"), 4096, &key, &len), 0, "its key");
	is_int(file_replace(path_of("key"), other, len, 0600), 0, "swapped");
	ok(strstr(content(&code), "is not the key of this store"), "is told");
	is_int(code, -EKEYREJECTED, "as the wrong key");
	other[20] ^= 1;
	is_int(file_replace(path_of("key"), other, len, 0600), 0, "broken");
	ok(strstr(content(&code), "key is damaged"), "is told");
	is_int(code, -EKEYREVOKED, "as no key");
	is_int(file_replace(path_of("key"), key, len - 1, 0600), 0, "cut");
	content(&code);
	is_int(code, -EKEYREVOKED, "is no key either");
	unlink(path_of("key"));
	ok(strstr(content(&code), "key is gone"), "a lost key is told");
	is_int(code, -EKEYREVOKED, "as no key");
	is_int(add("two", "2", false), -EKEYREVOKED, "none is made anew");
	ok(access(path_of("key"), F_OK) < 0, "in its place");
	is_int(file_replace(path_of("key"), key, len, 0600), 0, "put back");
	v = store();
	is_int(vstore_load(v, &err), 0, "it opens");
	unlink(path_of("key"));
	is_int(vstore_put(v, entry("two", "2"), false, &err), 0,
	       "one who knows the key");
	vstore_close(v);
	is_str(content(&code), "one=1 two=2", "puts it back");
}

static void test_lost_store(void)
{
	int code;

	fresh();
	add("one", "1", false);
	add("two", "2", false);
	unlink(path_of("store"));
	ok(strstr(content(&code), "is gone; the one before it"),
	   "a store that is gone is no empty one");
	is_int(add("three", "3", false), -EBADMSG, "nor is it begun anew");
	rename(path_of("store.1"), path_of("store"));
	is_str(content(&code), "one=1", "what was before can be taken back");
}

static void test_rights(void)
{
	int code;

	fresh();
	add("one", "1", false);
	chmod(path_of("store"), 0640);
	ok(strstr(content(&code), "is open to others: chmod 600"), "a store");
	is_int(code, -EPERM, "with rights for a group");
	chmod(path_of("store"), 0600);
	chmod(path_of("key"), 0604);
	content(&code);
	is_int(code, -EPERM, "a key for all");
	chmod(path_of("key"), 0600);
	chmod(dir, 0711);
	ok(strstr(content(&code), "chmod 700"), "a folder");
	chmod(dir, 0700);
	rename(path_of("store"), path_of("real"));
	if (symlink("real", path_of("store")) < 0)
		abort();
	content(&code);
	is_int(code, -ELOOP, "a link in its place");
	unlink(path_of("store"));
	if (mkfifo(path_of("store"), 0600) < 0)
		abort();
	content(&code);
	is_int(code, -EINVAL, "a FIFO in its place");
	if (geteuid() != 0) {
		skip("another owner: not root");
		return;
	}
	unlink(path_of("store"));
	rename(path_of("real"), path_of("store"));
	is_int(chown(path_of("store"), 12345, 0), 0, "given away");
	ok(strstr(content(&code), "belongs to user 12345"),
	   "a stranger's file");
	is_int(code, -EPERM, "is refused");
}

/* No more bytes than this to any file, in a child. */
static int add_within(rlim_t limit, const char *name)
{
	struct rlimit lim = { limit, limit };
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &lim);
		_exit(add(name, SECRET, false) == -EFBIG ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	return status;
}

static void test_full(void)
{
	SCOPED_STR before = NULL;
	size_t len = 0, n = 0;
	SCOPED_STR after = NULL;
	int code, bad = 0;

	fresh();
	add("one", "1", false);
	is_int(file_read(path_of("store"), 1 << 20, &before, &len), 0,
	       "a store");
	for (rlim_t i = 0; i < len; i += 13)
		bad += add_within(i, "two") != 0;
	is_int(bad, 0, "no room, wherever it ends, is told");
	is_int(file_read(path_of("store"), 1 << 20, &after, &n), 0,
	       "the store");
	ok(n == len && memcmp(before, after, n) == 0, "is as it was");
	is_str(content(&code), "one=1", "and opens");
	ok(access(path_of("store.new"), F_OK) < 0, "nothing lies about");
	fresh();
	is_int(add_within(10, "one"), 0, "no room for the very first");
	is_int(add("one", "1", false), 0, "does not spoil the next");
}

/* ---- others at the same time ---- */

/* acd's loop waits for it, and all sandboxes for that. */
static void test_lock_held(void)
{
	SCOPED_FD fd = -1;
	struct vstore *v;
	struct err err = { 0 };

	fresh();
	add("one", "1", false);
	fd = open(path_of("lock"), O_RDWR | O_CLOEXEC);
	is_int(flock(fd, LOCK_EX), 0, "somebody writes");
	v = store();
	is_int(vstore_load(v, &err), -EBUSY, "told soon");
	ok(str_starts(err.msg, "another process is using the vault; try again"),
	   "%s", err.msg);
	is_int(flock(fd, LOCK_UN), 0, "who ends");
	is_int(vstore_load(v, &err), 0, "and it opens");
	vstore_close(v);
}

static void test_two_writers(void)
{
	pid_t pid[3];
	struct vstore *v;
	struct err err = { 0 };
	int rc, bad = 0;

	fresh();
	for (int w = 0; w < 3; w++) {
		pid[w] = fork();
		if (pid[w] != 0)
			continue;
		for (int i = 0; i < 12; i++) {
			char name[16];

			snprintf(name, sizeof(name), "w%d-%d", w, i);
			/* Whoever is told that another writes tries again. */
			while ((rc = add(name, "x", false)) == -EBUSY)
				;
			if (rc < 0)
				_exit(1);
		}
		_exit(0);
	}
	for (int w = 0; w < 3; w++) {
		int status = -1;

		waitpid(pid[w], &status, 0);
		bad += status != 0;
	}
	is_int(bad, 0, "three writers");
	v = store();
	is_int(vstore_load(v, &err), 0, "the store opens");
	is_int(vstore_entries(v)->n, 36, "and has what each of them wrote");
	vstore_close(v);
}

/* One who writes without end, killed anywhere. */
static void test_killed(void)
{
	unsigned lost = 0, broken = 0;
	int code;

	fresh();
	add("base", "0", false);
	for (unsigned i = 0; i < 60; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			struct vstore *v = store();
			struct err err = { 0 };

			for (unsigned n = 0;; n++) {
				char value[16];

				snprintf(value, sizeof(value), "%u", n);
				if (vstore_put(v, entry("turn", value), true,
					       &err) < 0)
					_exit(1);
			}
		}
		usleep((i * 211) % 9000);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		lost += !str_starts(content(&code), "base=0");
		broken += code != 0;
	}
	ok(lost == 0 && broken == 0, "killed 60 times: %u lost, %u broken",
	   lost, broken);
	is_int(add("last", "1", false), 0, "and can be written to");
}

int main(void)
{
	world_begin();
	test_life();
	test_plain_text();
	test_flips();
	test_newer();
	test_key();
	test_lost_store();
	test_rights();
	test_full();
	test_lock_held();
	test_two_writers();
	test_killed();
	return world_end();
}
