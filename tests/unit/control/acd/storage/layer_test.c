/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer_test.c - a copy of the user's directory, and what was changed in it
 *
 * With real overlays, in a mount namespace of its own.
 */
#include "control/acd/storage/layer.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control/shared/changes.h"
#include "lib/buf.h"
#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static char top[64], user[80], layer[80], seen[80];

/* Runs @script by sh in @dir. */
static void sh(const char *dir, const char *script)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		if (chdir(dir) < 0)
			_exit(126);
		execl("/bin/sh", "sh", "-ec", script, (char *)NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "in %s: %s", dir,
	   script);
}

/* ---- the archive as text: a line for each entry ---- */

struct lines {
	struct buf text;
	char line[512];
	uint64_t bytes;
};

static int on_entry(void *arg, const struct change *c)
{
	static const char *const kinds[] = { "file", "dir", "link", "gone",
					     "other" };
	struct lines *l = arg;

	snprintf(l->line, sizeof(l->line), "%s%s%s %.*s%s%s%.*s",
		 kinds[c->kind], c->other ? ":" : "",
		 changes_other_word(c->other), (int)c->path.len,
		 (const char *)c->path.ptr, c->opaque ? " opaque" : "",
		 c->target.len ? " -> " : "", (int)c->target.len,
		 (const char *)c->target.ptr);
	l->bytes = 0;
	return 0;
}

static int on_content(void *arg, struct slice piece)
{
	struct lines *l = arg;

	l->bytes += piece.len;
	return 0;
}

static int on_end(void *arg, bool torn)
{
	struct lines *l = arg;
	char size[32] = "";

	if (l->bytes > 0)
		snprintf(size, sizeof(size), " %llu",
			 (unsigned long long)l->bytes);
	return buf_append(&l->text, l->line, strlen(l->line)) |
	       buf_append(&l->text, size, strlen(size)) |
	       (torn ? buf_append(&l->text, " torn", 5) : 0) |
	       buf_append(&l->text, "\n", 1);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Returns the lines in order, freed by the caller. */
static char *sorted(struct buf *text)
{
	char *v[256], *save = NULL, *ret = NULL;
	size_t n = 0;

	if (buf_append(text, "", 1) < 0)
		return NULL;
	for (char *p = strtok_r((char *)text->mem + text->start, "\n", &save);
	     p && n < ARRAY_SIZE(v); p = strtok_r(NULL, "\n", &save))
		v[n++] = p;
	qsort(v, n, sizeof(*v), by_text);
	for (size_t i = 0; i < n; i++) {
		char *more = str_printf("%s%s\n", ret ? ret : "", v[i]);

		free(ret);
		ret = more;
	}
	return ret ? ret : strdup("");
}

static char *changes_of(const struct strv *blocked)
{
	static const struct changes_ops ops = { on_entry, on_content, on_end };
	SCOPED_STR path = str_printf("%s/archive", top);
	SCOPED_FD fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	const struct layer_source source = { .dir = layer,
					     .blocked = blocked,
					     .out = fd };
	struct lines l = { 0 };
	struct changes_reader *r = changes_reader_new(&ops, &l);
	struct err err = { 0 };
	char piece[4096], *ret;
	ssize_t n;
	int rc = 0;

	buf_init(&l.text, 1 << 20);
	is_int(layer_send(&source, &err), 0, "sent %s", err.msg);
	lseek(fd, 0, SEEK_SET);
	while (rc == 0 && (n = read(fd, piece, sizeof(piece))) > 0)
		rc = changes_feed(r, slice_of(piece, (size_t)n));
	if (rc == 0)
		rc = changes_finish(r);
	is_int(rc, 0, "read: %s", rc < 0 ? changes_why(r) : "");
	ret = sorted(&l.text);
	changes_reader_free(r);
	buf_done(&l.text);
	return ret;
}

/* ---- tests ---- */

static bool mounted(void)
{
	struct err err = { 0 };
	struct stat st;

	if (stat(user, &st) < 0)
		return false;
	is_int(layer_make(layer, &st), 0, "upper and work");
	is_int(layer_make(layer, &st), 0, "again");
	return is_int(layer_mount(user, layer, seen, &err), 0, "mounted %s",
		      err.msg);
}

static void test_all(void)
{
	struct strv blocked = { 0 };
	SCOPED_STR text = NULL;
	SCOPED_STR fewer = NULL;

	sh(user, "echo 1 >same; echo 1 >edited; echo 1 >gone; mkdir -p d/e "
		 "old keep; echo 1 >d/e/f; echo 1 >old/a; echo 1 >keep/k; "
		 "ln -s same link; echo 1 >moved; chmod 750 .");
	if (!mounted())
		return;
	sh(seen, "echo 22 >edited; rm gone; echo new >n; mkdir m; echo x >m/x;"
		 "rm -r old; mkdir old; echo b >old/b; mv d dd; echo y >dd/e/g;"
		 "rm link; ln -s /etc/passwd link; ln -s up up; mkfifo fifo;"
		 "echo secret >.env; mv moved here; chmod +x same;"
		 "mkdir priv; echo p >priv/p");
	sh(user, "test $(cat edited) = 1; test -e gone; test -e old/a; "
		 "test ! -e n; test -e d/e/f; test $(stat -c %a .) = 750");
	text = changes_of(NULL);
	is_str(text,
	       "dir dd\n"
	       "dir dd/e\n"
	       "dir m\n"
	       "dir old opaque\n"
	       "dir priv\n"
	       "file .env 7\n"
	       "file dd/e/f 2\n"
	       "file dd/e/g 2\n"
	       "file edited 3\n"
	       "file here 2\n"
	       "file m/x 2\n"
	       "file n 4\n"
	       "file old/b 2\n"
	       "file priv/p 2\n"
	       "file same 2\n"
	       "gone d\n"
	       "gone gone\n"
	       "gone moved\n"
	       "link link -> /etc/passwd\n"
	       "link up -> up\n"
	       "other:fifo fifo\n",
	       "all changes, and nothing else");
	if (strv_push(&blocked, ".env") < 0 || strv_push(&blocked, "priv/") < 0)
		ok(false, "memory");
	fewer = changes_of(&blocked);
	ok(!strstr(fewer, ".env") && !strstr(fewer, "priv") &&
		   strstr(fewer, "file n 4"),
	   "without what is blocked");
	strv_done(&blocked);
	umount2(seen, MNT_DETACH);
}

/* Makes a tree that no path of PATH_MAX reaches. */
static void deep_make(void)
{
	SCOPED_FD at = open(seen, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char name[201];

	memset(name, 'd', 200);
	name[200] = '\0';
	for (int i = 0; i < 30; i++) {
		int in;

		mkdirat(at, name, 0755);
		in = openat(at, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (in < 0)
			break;
		close(at);
		at = in;
	}
	ok(mkdirat(at, "end", 0755) == 0, "a deep tree");
}

static void test_deep(void)
{
	SCOPED_STR text = NULL;

	if (!mounted())
		return;
	deep_make();
	sh(seen, "truncate -s 5T hole; truncate -s 1M short");
	text = changes_of(NULL);
	ok(strstr(text, "file n 4"), "too deep a tree hides nothing else");
	ok(strstr(text, "other:holes hole") &&
		   strstr(text, "file short 1048576"),
	   "a file of holes is left out");
	umount2(seen, MNT_DETACH);
}

/* A layer that was dropped is empty; one that must be there is not. */
static void test_gone(void)
{
	SCOPED_STR none = str_printf("%s/none", top);
	SCOPED_FD fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct layer_source source = { .dir = none, .out = fd };
	struct err err = { 0 };

	is_int(layer_send(&source, &err), 0, "an empty one");
	source.must = true;
	is_int(layer_send(&source, &err), -ENOENT, "%s", err.msg);
}

int main(void)
{
	struct err err = { 0 };

	if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		skip("needs root and a mount namespace");
		return done_testing();
	}
	snprintf(top, sizeof(top), "/tmp/layer-test-XXXXXX");
	if (!mkdtemp(top))
		return 1;
	snprintf(user, sizeof(user), "%s/user", top);
	snprintf(layer, sizeof(layer), "%s/layer", top);
	snprintf(seen, sizeof(seen), "%s/seen", top);
	mkdir(user, 0755);
	mkdir(layer, 0700);
	mkdir(seen, 0700);
	test_all();
	test_deep();
	is_int(layer_mount(user, "/a:b", seen, &err), -EINVAL, "an odd path");
	test_gone();
	file_remove_tree(top);
	return done_testing();
}
