/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beneath_test.c - no path leads out of a directory
 */
#include "lib/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/file.h"
#include "tests/unit/tap.h"

#define ANY UINT64_MAX /* BENEATH_STRICT, by beneath_open() */

static const struct {
	const char *path;
	int flags;
	uint64_t resolve;
	int code;
	const char *what;
} rows[] = {
	{ "in/file", O_RDONLY, ANY, 0, "a file below" },
	{ "in/../in/file", O_RDONLY, ANY, 0, "up, but not out" },
	{ ".", O_RDONLY | O_DIRECTORY, ANY, 0, "the directory itself" },
	{ "none", O_RDONLY, ANY, -ENOENT, "nothing" },
	{ "..", O_RDONLY, ANY, -EXDEV, "what is above" },
	{ "in/../../out", O_RDONLY, ANY, -EXDEV, "a file above" },
	{ "/etc/passwd", O_RDONLY, ANY, -EXDEV, "an absolute path" },
	{ "link", O_RDONLY, ANY, -ELOOP, "a link to a file below" },
	{ "link", O_PATH | O_NOFOLLOW, ANY, 0, "the link itself" },
	{ "up/out", O_RDONLY, ANY, -ELOOP, "a link on the way out" },
	{ "in/file", O_RDONLY | O_DIRECTORY, ANY, -ENOTDIR, "no directory" },
	{ "in/fifo", O_RDONLY | O_NONBLOCK, ANY, 0, "a FIFO, at once" },
	{ "in/file", O_PATH | O_NONBLOCK, ANY, -EINVAL, "flags that differ" },
	{ "link", O_RDONLY, BENEATH_MOUNTS, -ELOOP, "mounts are no links" },
	{ "link", O_RDONLY, RESOLVE_BENEATH, 0, "a link that stays below" },
	{ "up/out", O_RDONLY, RESOLVE_BENEATH, -EXDEV, "one that leads out" },
	{ "root", O_RDONLY, RESOLVE_IN_ROOT, 0, "a root of its own" },
};

static void test_rows(int dir)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int fd =
			rows[i].resolve == ANY ?
				beneath_open(dir, rows[i].path, rows[i].flags) :
				beneath_open_how(dir, rows[i].path,
						 rows[i].flags, 0,
						 rows[i].resolve);

		is_int(fd < 0 ? fd : 0, rows[i].code, "%s", rows[i].what);
		if (fd < 0)
			continue;
		ok(fcntl(fd, F_GETFD) == FD_CLOEXEC, "no program inherits it");
		close(fd);
	}
}

static void test_mode(int dir)
{
	struct stat st = { 0 };
	int fd;

	umask(022);
	fd = beneath_open_how(dir, "in/new", O_WRONLY | O_CREAT | O_EXCL, 0666,
			      BENEATH_STRICT);
	ok(fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 07777) == 0644,
	   "a new file has the mode");
	close(fd);
	is_int(beneath_open_how(dir, "up/new", O_WRONLY | O_CREAT, 0666,
				BENEATH_STRICT),
	       -ELOOP, "none is made elsewhere");
	is_int(beneath_open_how(dir, "in/file", O_RDONLY, 0600, BENEATH_STRICT),
	       -EINVAL, "a mode without a new file is a mistake");
}

/* Another file system, by a mount. */
static void test_mount(void)
{
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), fd;

	is_int(beneath_open(root, "proc/self", O_PATH | O_NOFOLLOW), -EXDEV,
	       "no mount is crossed");
	fd = beneath_open_how(root, "proc/version", O_RDONLY, 0,
			      BENEATH_MOUNTS);
	ok(fd >= 0, "unless that is asked for");
	close(fd);
	close(root);
}

int main(void)
{
	char base[] = "/tmp/beneath-test.XXXXXX";
	int dir;

	if (!mkdtemp(base) || chdir(base) < 0 || mkdir("dir", 0700) < 0 ||
	    mkdir("dir/in", 0700) < 0 || mkfifo("dir/in/fifo", 0600) < 0 ||
	    file_replace("dir/in/file", "x", 1, 0600) < 0 ||
	    file_replace("out", "x", 1, 0600) < 0 ||
	    symlink("in/file", "dir/link") < 0 || symlink("..", "dir/up") < 0 ||
	    symlink("/in/file", "dir/root") < 0)
		return 1;
	dir = open("dir", O_PATH | O_DIRECTORY | O_CLOEXEC);
	test_rows(dir);
	test_mode(dir);
	test_mount();
	close(dir);
	file_remove_tree(base);
	return done_testing();
}
