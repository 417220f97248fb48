/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fresh.c - whether this program is as new as the sources beside it
 *
 * Every call through the launcher comes by here, so it must cost less than the
 * start of a process: one look at each file, relative to its directory.
 */
#include "control/cli/core/fresh.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "control/cli/core/cli.h"
#include "lib/file.h"

#define INPUTS "images/host/inputs"
#define INPUTS_MAX 65536u /* bytes of the list */

static bool is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec > b->tv_sec ||
	       (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec);
}

/* Returns true if @name in @dir, or what is below it, is newer than @built. The
 * depth is that of our own tree. */
static bool changed(int dir, const char *name, const struct timespec *built)
{
	SCOPED_DIR entries = NULL;
	struct dirent *entry;
	struct stat st;
	int fd;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT;
	if (is_later(&st.st_mtim, built))
		return true;
	if (!S_ISDIR(st.st_mode))
		return false;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	entries = fd < 0 ? NULL : fdopendir(fd);
	if (!entries) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while ((entry = readdir(entries)))
		if (strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0 &&
		    changed(fd, entry->d_name, built))
			return true;
	return false;
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
		    changed(dir, line, &built.st_mtim))
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
