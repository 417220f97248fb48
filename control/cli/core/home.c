/* SPDX-License-Identifier: Apache-2.0 */
/*
 * home.c - makes $AC_HOME, and checks that it can be used
 */
#include "control/cli/core/home.h"

#include <linux/magic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>

#include "lib/file.h"
#include "lib/str.h"

/* The kernel's own file systems: files there are not kept. */
static const struct {
	unsigned long magic;
	const char *name;
} odd[] = {
	{ PROC_SUPER_MAGIC, "proc" },     { SYSFS_MAGIC, "sysfs" },
	{ CGROUP_SUPER_MAGIC, "cgroup" }, { CGROUP2_SUPER_MAGIC, "cgroup2" },
	{ DEBUGFS_MAGIC, "debugfs" },     { TRACEFS_MAGIC, "tracefs" },
	{ DEVPTS_SUPER_MAGIC, "devpts" },
};

static int refuse(const struct cli *cli, int code, const char *why,
		  struct err *err)
{
	return err_set(err, code,
		       "AC_HOME=%s %s; AC_HOME names the directory of all "
		       "state, by default ~/.local/share/ac",
		       cli->home, why);
}

/* Refuses a place where no files can be made, because of @code. */
static int refuse_write(const struct cli *cli, int code, struct err *err)
{
	char why[96];

	snprintf(why, sizeof(why), "cannot be written to (%s)", err_text(code));
	return refuse(cli, code, why, err);
}

/* Finds the nearest existing directory, @path or above it. */
static int find_there(const char *path, char **ret, struct stat *st)
{
	SCOPED_STR at = strdup(path);
	char *slash;

	while (at && lstat(at, st) < 0) {
		if (errno != ENOENT && errno != ENOTDIR)
			return -errno;
		slash = strrchr(at, '/');
		if (!slash)
			return -ENOENT;
		slash[slash == at] = '\0';
	}
	if (!at)
		return -ENOMEM;
	if (stat(at, st) < 0)
		return -errno;
	*ret = ptr_take(&at);
	return 0;
}

/* Checks what can be known before anything is made. */
static int check_place(const struct cli *cli, struct err *err)
{
	SCOPED_STR there = NULL;
	struct stat st;
	struct statfs fs;
	int rc;

	if (strcmp(cli->home, "/") == 0)
		return refuse(cli, -EINVAL, "is the root directory", err);
	rc = find_there(cli->home, &there, &st);
	if (rc < 0 || !there)
		return refuse(cli, rc, err_text(rc), err);
	if (!S_ISDIR(st.st_mode))
		return refuse(cli, -ENOTDIR,
			      strcmp(there, cli->home) == 0 ?
				      "is not a directory" :
				      "is below what is not a directory",
			      err);
	if (statfs(there, &fs) < 0)
		return refuse(cli, -errno, err_text(-errno), err);
	for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
		char why[64];

		if ((unsigned long)fs.f_type != odd[i].magic)
			continue;
		snprintf(why, sizeof(why), "is on %s, the kernel's own",
			 odd[i].name);
		return refuse(cli, -EINVAL, why, err);
	}
	if (access(there, W_OK | X_OK) < 0)
		return refuse_write(cli, -errno, err);
	return 0;
}

static int make_dirs(const struct cli *cli, struct err *err)
{
	/* Made here, so they belong to the user and not to acd. */
	static const char *const subs[] = { "",           "/run",
					    "/log",       "/runtime",
					    "/instances", "/blueprints" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(subs); i++) {
		SCOPED_STR dir = str_printf("%s%s", cli->home, subs[i]);
		int rc = dir ? file_mkdir_p(dir, 0700) : -ENOMEM;

		if (rc < 0)
			return err_set(err, rc,
				       "cannot make %s: %s (AC_HOME "
				       "names another place)",
				       dir ? dir : cli->home, err_text(rc));
	}
	return 0;
}

/* acd listens on sockets in run/; FAT and some network file systems have
 * none. */
static int check_socket(const struct cli *cli, struct err *err)
{
	SCOPED_STR path = str_printf("%s/run/.p%d", cli->home, (int)getpid());
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	SCOPED_FD fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int rc = 0;

	if (!path)
		return err_nomem(err);
	/* At most as long as the real name, mount.sock. */
	if (fd < 0 || strlen(path) >= sizeof(sun.sun_path))
		return 0;
	memcpy(sun.sun_path, path, strlen(path) + 1);
	(void)unlink(path);
	if (bind(fd, (const struct sockaddr *)&sun, sizeof(sun)) < 0)
		rc = -errno;
	(void)unlink(path);
	if (rc == 0)
		return 0;
	if (rc == -EACCES || rc == -EROFS)
		return refuse_write(cli, rc, err);
	return refuse(cli, rc, "is on a file system that cannot hold sockets",
		      err);
}

int home_make(const struct cli *cli, struct err *err)
{
	int rc = check_place(cli, err);

	if (rc == 0)
		rc = make_dirs(cli, err);
	return rc < 0 ? rc : check_socket(cli, err);
}
