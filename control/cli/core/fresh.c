/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fresh.c - whether this program is as new as the sources beside it
 *
 * Every call through the launcher comes by here, so it must cost less than the
 * start of a process: one look at each file, relative to its directory.
 */
#include "control/cli/core/fresh.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "control/cli/core/cli.h"
#include "lib/file.h"

#define INPUTS "images/host/inputs"
#define INPUTS_MAX 65536u /* bytes of the list */
#define ENTRIES_BYTES 8192u /* of names, at one call */

static bool is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec > b->tv_sec ||
	       (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec);
}

static bool changed(int dir, const char *name, bool may_be_dir,
		    const struct timespec *built);

/* Returns true if an entry of the directory @fd is newer than @built. By
 * getdents64() itself: of readdir() a third is what it asks about @fd. */
static bool entries_changed(int fd, const struct timespec *built)
{
	_Alignas(struct dirent64) char buf[ENTRIES_BYTES];
	ssize_t n;

	while ((n = getdents64(fd, buf, sizeof(buf))) > 0) {
		const struct dirent64 *d;

		for (ssize_t at = 0; at < n; at += d->d_reclen) {
			d = (const struct dirent64 *)(const void *)(buf + at);
			if (strcmp(d->d_name, ".") != 0 &&
			    strcmp(d->d_name, "..") != 0 &&
			    changed(fd, d->d_name,
				    d->d_type == DT_DIR ||
					    d->d_type == DT_UNKNOWN,
				    built))
				return true;
		}
	}
	return false;
}

/* Returns true if @name in @dir, or what is below it, is newer than @built. The
 * depth is that of our own tree. */
static bool changed(int dir, const char *name, bool may_be_dir,
		    const struct timespec *built)
{
	SCOPED_FD fd = -1;
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT;
	if (is_later(&st.st_mtim, built))
		return true;
	if (!may_be_dir || !S_ISDIR(st.st_mode))
		return false;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 && entries_changed(fd, built);
}

bool fresh_sources_changed(const char *root)
{
	SCOPED_FD dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	SCOPED_STR list = NULL;
	char *line, *rest;
	struct stat built;

	if (dir < 0 || fstatat(dir, "build/ac", &built, 0) < 0 ||
	    file_read_at(dir, INPUTS, INPUTS_MAX, &list, NULL) < 0)
		return false;
	for (line = strtok_r(list, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest))
		if (isalpha((unsigned char)*line) &&
		    changed(dir, line, true, &built.st_mtim))
			return true;
	return false;
}

void fresh_check(char **argv)
{
	const char *given = getenv("AC_LAUNCHER");
	SCOPED_STR launcher = given ? realpath(given, NULL) : NULL;
	SCOPED_STR root = launcher ? strdup(launcher) : NULL;
	char *slash = root ? strrchr(root, '/') : NULL;

	unsetenv("AC_LAUNCHER");
	if (!slash)
		return;
	slash[slash == root] = '\0';
	if (setenv("AC_ROOT", root, 1) < 0 || !fresh_sources_changed(root) ||
	    setenv("AC_STALE", "1", 1) < 0)
		return;
	execv(launcher, argv);
	say_error("cannot run %s, which builds ac: %s. This is the build from "
		  "before its sources were changed",
		  launcher, strerror(errno));
	unsetenv("AC_STALE");
}
