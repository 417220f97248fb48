/* SPDX-License-Identifier: Apache-2.0 */
/*
 * project_file_test.c - what a hostile directory may have in the place of
 * .ac/blueprint.yaml, also while it is read
 */
#include "control/cli/core/project_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

#define check(cond) ok((cond), "set up: %s", #cond)

static char top[] = "/tmp/project_file_test.XXXXXX";
static char dir[64];

static const char *path(const char *name)
{
	static char out[128];

	snprintf(out, sizeof(out), "%s/%s", dir, name);
	return out;
}

/* An empty project. */
static void fresh(void)
{
	file_remove_tree(dir);
	file_mkdir_p(path(".ac"), 0700);
}

static void put(const char *name, const char *text, size_t len)
{
	file_write_atomic(path(name), text, len, 0600);
}

/* Returns the code; the text is compared with @want. */
static int read_it(const char *want, struct err *err)
{
	SCOPED_FD fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	SCOPED_STR text = NULL;
	size_t len = 0;
	int rc;

	*err = (struct err){ 0 };
	rc = project_file_read(fd, &text, &len, err);
	if (want && rc == 0)
		ok(strcmp(text, want) == 0 && len == strlen(want),
		   "the text is '%.20s'", want);
	else
		ok(rc < 0 && !text, "no text");
	return rc;
}

static void refused(int code, const char *why)
{
	struct err err;

	is_int(read_it(NULL, &err), code, "refused: %s", why);
	ok(strstr(err.msg, why) != NULL, "%s", err.msg);
}

static void test_plain(void)
{
	struct err err;

	fresh();
	is_int(read_it(NULL, &err), -ENOENT, "no file");
	is_str(err.msg, "", "is no failure to tell");
	rmdir(path(".ac"));
	is_int(read_it(NULL, &err), -ENOENT, "nor is no folder");
	put(".ac", "x", 1);
	is_int(read_it(NULL, &err), -ENOENT, "nor a file in its place");
	fresh();
	put(".ac/blueprint.yaml", "version: 2\n", 11);
	is_int(read_it("version: 2\n", &err), 0, "a file");
	put(".ac/blueprint.yaml", "", 0);
	is_int(read_it("", &err), 0, "an empty one");
}

static void test_links(void)
{
	char outside[96];

	snprintf(outside, sizeof(outside), "%s/outside", top);
	file_mkdir_p(outside, 0700);
	snprintf(outside, sizeof(outside), "%s/outside/blueprint.yaml", top);
	file_write_atomic(outside, "secret", 6, 0600);

	fresh();
	check(symlink(outside, path(".ac/blueprint.yaml")) == 0);
	refused(-ELOOP, "is a link");
	fresh();
	check(symlink("../other.yaml", path(".ac/blueprint.yaml")) == 0);
	put("other.yaml", "x", 1);
	refused(-ELOOP, "is a link");
	fresh();
	rmdir(path(".ac"));
	check(symlink("../outside", path(".ac")) == 0);
	refused(-ELOOP, "below one");
	unlink(path(".ac"));
	check(symlink("/proc/self/cwd", path(".ac")) == 0);
	refused(-ELOOP, "below one");
	unlink(path(".ac"));
	check(symlink("nowhere", path(".ac")) == 0);
	refused(-ELOOP, "below one");
	unlink(path(".ac"));
}

static void test_kinds(void)
{
	fresh();
	/* Without a writer it must not block. */
	check(mkfifo(path(".ac/blueprint.yaml"), 0600) == 0);
	refused(-EINVAL, "not a regular file");
	fresh();
	check(mkdir(path(".ac/blueprint.yaml"), 0700) == 0);
	refused(-EINVAL, "not a regular file");
	fresh();
	put(".ac/blueprint.yaml", "version\0 2", 10);
	refused(-EINVAL, "NUL");
}

static void test_sizes(void)
{
	SCOPED_STR text = malloc(PROJECT_FILE_MAX + 2);
	struct err err;

	memset(text, '#', PROJECT_FILE_MAX + 1);
	fresh();
	put(".ac/blueprint.yaml", text, PROJECT_FILE_MAX + 1);
	refused(-EFBIG, "more than 64 KiB");
	/* A hole is as large as it says. */
	check(truncate(path(".ac/blueprint.yaml"), 1ll << 40) == 0);
	refused(-EFBIG, "more than 64 KiB");
	text[PROJECT_FILE_MAX] = '\0';
	put(".ac/blueprint.yaml", text, PROJECT_FILE_MAX);
	is_int(read_it(text, &err), 0, "the most that is read");
}

int main(void)
{
	if (!mkdtemp(top))
		return 1;
	snprintf(dir, sizeof(dir), "%s/project", top);
	test_plain();
	test_links();
	test_kinds();
	test_sizes();
	file_remove_tree(top);
	return done_testing();
}
