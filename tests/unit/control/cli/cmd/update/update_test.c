/* SPDX-License-Identifier: Apache-2.0 */
/*
 * update_test.c - which files of an install sandbox replace those of a blueprint
 */
#include "control/cli/cmd/update/update.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

#define B43 "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ"
#define SHA512 "sha512-" B43 B43 "=="
#define ASKS(version) "{\"dependencies\":{\"a\":\"" version "\"}}\n"
#define LOCK(version)                                               \
	"{\"lockfileVersion\":3,\"packages\":{\"node_modules/a\":{" \
	"\"version\":\"" version "\",\"integrity\":\"" SHA512 "\"}}}\n"
#define X64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define PIN(version) "six==" version " --hash=sha256:" X64 "\n"

static char top[] = "/tmp/ac-update-XXXXXX";
static char from[64], dir[64];
static const struct cli cli = { .quiet = true };

static void put(const char *where, const char *name, const char *text)
{
	SCOPED_STR path = str_printf("%s/%s", where, name);

	if (!path || file_replace(path, text, strlen(text), 0644) < 0)
		abort();
}

/* An empty folder of each. */
static void afresh(void)
{
	file_remove_tree(from);
	file_remove_tree(dir);
	if (mkdir(from, 0755) < 0 || mkdir(dir, 0755) < 0)
		abort();
}

static void holds(const char *name, const char *text, const char *what)
{
	SCOPED_STR path = str_printf("%s/%s", dir, name);
	SCOPED_STR got = NULL;

	if (file_read(path, 65536, &got, NULL) < 0)
		got = NULL;
	is_str(got ? got : "none", text, "%s: %s", what, name);
}

static int take(struct err *err)
{
	*err = (struct err){ 0 };
	return update_take(&cli, "x", from, dir, err);
}

static void both_kinds(const char *pin)
{
	afresh();
	put(dir, "package.json", ASKS("1.0.0"));
	put(dir, "package-lock.json", LOCK("1.0.0"));
	put(dir, "requirements.in", "six\n");
	put(dir, "requirements.txt", PIN("1.0"));
	put(from, "package.json", ASKS("2.0.0"));
	put(from, "package-lock.json", LOCK("2.0.0"));
	put(from, "requirements.in", "evil\n");
	put(from, "requirements.txt", pin);
}

static void test_taken(void)
{
	struct err err;

	both_kinds(PIN("2.0"));
	is_int(take(&err), 0, "both kinds move: %s", err.msg);
	holds("package.json", ASKS("2.0.0"), "moved");
	holds("package-lock.json", LOCK("2.0.0"), "moved");
	holds("requirements.txt", PIN("2.0"), "moved");
	holds("requirements.in", "six\n", "what the user asks for stays");

	afresh();
	put(dir, "requirements.in", "six\n");
	put(from, "requirements.txt", PIN("2.0"));
	is_int(take(&err), 0, "the first pins: %s", err.msg);
	holds("requirements.txt", PIN("2.0"), "the first");
	put(dir, "requirements.txt", "six==2.0\n");
	is_int(take(&err), 0, "the same version: %s", err.msg);
	holds("requirements.txt", PIN("2.0"), "it gets its digest");
}

static void test_refused(void)
{
	struct err err;

	both_kinds("six==2.0\n");
	is_int(take(&err), -EBADMSG, "one kind is refused: %s", err.msg);
	holds("package-lock.json", LOCK("1.0.0"), "then the other stays");
	holds("package.json", ASKS("1.0.0"), "then the other stays");
	holds("requirements.txt", PIN("1.0"), "refused");

	both_kinds(PIN("2.0"));
	put(from, "package.json", "{\"scripts\":{\"x\":\"y\"}}");
	is_int(take(&err), -EBADMSG, "another package.json: %s", err.msg);
	holds("package-lock.json", LOCK("1.0.0"), "nothing has moved");
}

/* Whatever a sandbox makes of the files, nothing of the user's is read. */
static void test_links(void)
{
	SCOPED_STR secret = str_printf("%s/secret", top);
	SCOPED_STR file = str_printf("%s/requirements.txt", from);
	struct err err;

	if (!secret || !file)
		abort();
	put(top, "secret", PIN("2.0"));
	both_kinds(PIN("2.0"));
	if (unlink(file) < 0 || symlink(secret, file) < 0)
		abort();
	is_int(take(&err), -ELOOP, "a link: %s", err.msg);
	holds("requirements.txt", PIN("1.0"), "a link");
	if (unlink(file) < 0 || mkfifo(file, 0644) < 0)
		abort();
	is_int(take(&err), -EINVAL, "a FIFO: %s", err.msg);
	if (unlink(file) < 0)
		abort();
	is_int(take(&err), -ENOENT, "no file: %s", err.msg);
	file_remove_tree(from);
	if (symlink(dir, from) < 0)
		abort();
	ok(take(&err) < 0, "a folder that is a link: %s", err.msg);
	unlink(from);
}

int main(void)
{
	if (!mkdtemp(top))
		abort();
	snprintf(from, sizeof(from), "%s/from", top);
	snprintf(dir, sizeof(dir), "%s/dir", top);
	test_taken();
	test_refused();
	test_links();
	file_remove_tree(top);
	return done_testing();
}
