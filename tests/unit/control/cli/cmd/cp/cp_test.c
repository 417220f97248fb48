/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cp_test.c - one file into and out of a sandbox, and what is there
 *
 * The functions of client.c that cp_file.c calls are defined here: the
 * sandbox has one file with one word in it, and counts what it is given.
 */
#include "control/cli/cmd/cp/cp_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "control/cli/cmd/cp/cp.h"
#include "control/cli/wire/http_client.h"
#include "control/shared/json.h"
#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/ac-cp.XXXXXX";
static uint64_t given;
static uint64_t zeros; /* MiB of them, behind "word" */
static void (*meanwhile)(void); /* once, while the copy goes on */
static bool stuck; /* acd says that the sandbox does not answer */

char *client_path(const char *prefix, const char *name, const char *suffix)
{
	return str_printf("%s%s%s", prefix, name, suffix);
}

const struct client_error *client_error(const struct client *c)
{
	static const struct client_error none = { 0 };
	static const struct client_error failed = { .status = 502 };

	(void)c;
	return stuck ? &failed : &none;
}

int client_call(struct client *c, const char *method, const char *path,
		const json_t *body, json_t **ret, struct err *err)
{
	(void)c;
	(void)method;
	(void)path;
	(void)body;
	if (stuck)
		return err_set(err, -EIO, "it does not answer");
	*ret = json_pack("{s:s, s:i, s:i}", "type", "file", "mode", 0644,
			 "mtime", 1000);
	return 0;
}

int client_stream(struct client *c, const char *method, const char *path,
		  const json_t *body, client_data_fn fn, void *arg,
		  struct err *err)
{
	(void)c;
	(void)method;
	(void)path;
	(void)body;
	(void)err;
	/* Not in whole blocks, as it comes through a socket. */
	static const char none[65535];
	uint64_t left = zeros << 20;
	int rc = fn(arg, "word", 4);

	if (meanwhile)
		meanwhile();
	meanwhile = NULL;
	while (rc == 0 && left > 0) {
		size_t n = left < sizeof(none) ? (size_t)left : sizeof(none);

		rc = fn(arg, none, n);
		left -= n;
	}
	return rc == 0 && zeros ? fn(arg, "\0end\0", 5) : rc;
}

int client_put(struct client *c, const char *path, const struct http_file *file,
	       json_t **ret, struct err *err)
{
	char block[4096];
	ssize_t n;

	(void)c;
	(void)path;
	(void)ret;
	(void)err;
	given = 0;
	while ((n = read(file->fd, block, sizeof(block))) > 0)
		given += (uint64_t)n;
	return given == file->len ? 0 : -ENODATA;
}

int cp_there_error(int code, const char *name, const char *path,
		   struct err *err)
{
	(void)code;
	return err_set(err, -EIO, "%s:%s", name, path);
}

static const struct cp_file cp = { .name = "one" };

static char *place(const char *name)
{
	return str_printf("%s/%s", dir, name);
}

static int out_to(const char *path, struct err *err)
{
	SCOPED_CP_DEST dest = CP_DEST_INIT;
	int rc = cp_dest_open(path, "base", &dest, err);

	return rc < 0 ? rc : cp_file_out(&cp, "x", &dest, err);
}

static int kind_of(const char *path)
{
	SCOPED_CP_DEST dest = CP_DEST_INIT;
	struct err err = { 0 };
	int rc = cp_dest_open(path, "base", &dest, &err);

	return rc < 0 ? rc : cp_dest_kind(&dest, &err);
}

static void test_file(void)
{
	SCOPED_STR path = place("file");
	SCOPED_STR text = NULL;
	struct err err = { 0 };
	struct stat st = { 0 };

	is_int(out_to(path, &err), 0, "to a new file");
	is_int(out_to(path, &err), 0, "and to one there is");
	is_int(file_read(path, 100, &text, NULL), 0, "which is read");
	is_str(text, "word", "as it was");
	ok(stat(path, &st) == 0 && st.st_mtime == 1000, "with its time");
}

static void test_holes(void)
{
	SCOPED_STR path = place("sparse");
	SCOPED_FD fd = -1;
	struct err err = { 0 };
	struct stat st = { 0 };
	char text[8] = "";

	zeros = 64;
	is_int(out_to(path, &err), 0, "zeros %s", err.msg);
	zeros = 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ok(fstat(fd, &st) == 0 && st.st_size == (64 << 20) + 9,
	   "the size is right");
	ok(st.st_blocks < 512, "of zeros none are written: %lld blocks",
	   (long long)st.st_blocks);
	is_int(pread(fd, text, 6, 0), 6, "the beginning");
	ok(memcmp(text, "word\0\0", 6) == 0, "is there");
	is_int(pread(fd, text, 8, (64 << 20) + 3), 6, "the end");
	ok(memcmp(text, "\0\0end\0", 6) == 0, "is there");
}

static void test_stuck(void)
{
	SCOPED_STR path = place("stuck");
	struct err err = { 0 };

	stuck = true;
	is_int(out_to(path, &err), -EIO, "out: %s", err.msg);
	is_int(cp_file_in(&cp, "/proc/self/status", "x", "x", &err), -EIO,
	       "in: %s", err.msg);
	stuck = false;
}

static void test_pipe(void)
{
	SCOPED_STR path = place("pipe");
	SCOPED_FD fd = -1;
	struct err err = { 0 };
	struct stat st = { 0 };
	char text[16] = "";

	if (mkfifo(path, 0600) < 0)
		abort();
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	is_int(out_to(path, &err), 0, "to a pipe %s", err.msg);
	is_int(read(fd, text, sizeof(text) - 1), 4, "whose reader gets it");
	is_str(text, "word", "as it was");
	ok(lstat(path, &st) == 0 && S_ISFIFO(st.st_mode), "it stays one");
	is_int(kind_of(path), CP_DEST_WRITE, "it is written into");
	is_int(kind_of("/dev/null"), CP_DEST_WRITE, "as a device is");
}

static void test_link(void)
{
	SCOPED_STR path = place("link");
	SCOPED_STR target = place("target");
	SCOPED_STR text = NULL;
	struct err err = { 0 };
	struct stat st = { 0 };

	if (file_write_atomic(target, "mine", 4, 0600) < 0 ||
	    symlink(target, path) < 0)
		abort();
	is_int(out_to(path, &err), -ELOOP, "a link is refused: %s", err.msg);
	ok(lstat(path, &st) == 0 && S_ISLNK(st.st_mode), "it stays");
	is_int(file_read(target, 100, &text, NULL), 0, "and its target");
	is_str(text, "mine", "is what it was");
}

/* An agent whose workspace the destination is. */
static void swap_away(void)
{
	SCOPED_STR sub = place("sub");
	SCOPED_STR away = place("away");
	SCOPED_STR secret = place("secret");

	if (rename(sub, away) < 0 || symlink(secret, sub) < 0)
		abort();
}

static void test_swapped(void)
{
	SCOPED_STR sub = place("sub");
	SCOPED_STR secret = place("secret");
	SCOPED_STR path = place("sub/file");
	SCOPED_STR kept = place("away/file");
	SCOPED_STR astray = place("secret/file");
	struct err err = { 0 };

	if (mkdir(sub, 0700) < 0 || mkdir(secret, 0700) < 0)
		abort();
	meanwhile = swap_away;
	is_int(out_to(path, &err), 0, "a directory swapped for a link %s",
	       err.msg);
	ok(!meanwhile, "it was, in the middle of the copy");
	is_int(access(kept, F_OK), 0, "the file is where it was to go");
	is_int(access(astray, F_OK), -1, "and not where the link leads to");
}

static void test_directory(void)
{
	SCOPED_STR made = place("made");
	SCOPED_STR inside = place("made/base");
	SCOPED_STR none = place("none/");
	struct err err = { 0 };

	if (mkdir(made, 0700) < 0)
		abort();
	is_int(out_to(made, &err), 0, "into a directory %s", err.msg);
	is_int(access(inside, F_OK), 0, "by the name it has there");
	is_int(out_to(none, &err), -EINVAL, "none is there: %s", err.msg);
	ok(strstr(err.msg, "none/"), "the message names it");
}

static void test_unsized(void)
{
	struct err err = { 0 };

	is_int(cp_file_in(&cp, "/proc/self/status", "x", "x", &err), 0,
	       "a file without a size %s", err.msg);
	ok(given > 100, "goes with its content");
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	test_file();
	test_holes();
	test_stuck();
	test_pipe();
	test_link();
	test_swapped();
	test_directory();
	test_unsized();
	file_remove_tree(dir);
	return done_testing();
}
