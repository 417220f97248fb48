/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prepare.c - prepares the outer container for an engine
 *
 * Without --privileged the outer engine gives a container its cgroups, /sys and
 * /proc/sys read-only. acd has CAP_SYS_ADMIN in its own mount namespace and
 * makes them writable; CAP_SYS_RESOURCE is not needed. The cgroup namespace is
 * private, so only ac-host's subtree becomes writable.
 *
 * cgroup v1 (and hybrid): each controller's mount is remounted "bind,rw".
 * cgroup v2: a cgroup with processes of its own cannot give controllers to
 * children, so acd first moves all processes, itself included, into a leaf.
 */
#include "control/acd/runtime/prepare.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "control/acd/runtime/cgroup.h"
#include "control/shared/paths.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/str.h"

#define CGROUP_MOVE_ROUNDS 16 /* processes may fork while they are moved */
#define CGROUP_FILE_MAX (1024u * 1024)

int host_check_state(uid_t *ret_owner, gid_t *ret_group, struct err *err)
{
	static const struct {
		const char *path;
		mode_t mode;
	} dirs[] = {
		{ AC_STATE "/run", 0711 },        { AC_STATE_LOG, 0700 },
		{ AC_STATE_LOG "/gvisor", 0700 }, { AC_STATE_INSTANCES, 0700 },
		{ AC_STATE "/runtime", 0700 },
	};
	struct stat st;

	if (stat(AC_STATE, &st) < 0)
		return err_sys(err, "state directory %s", AC_STATE);
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		int rc = file_mkdir_p(dirs[i].path, dirs[i].mode);

		/* Owned by the user, who must be able to remove it. */
		if (rc == 0 && chown(dirs[i].path, st.st_uid, st.st_gid) < 0)
			rc = -errno;
		if (rc < 0)
			return err_set(err, rc,
				       "the state directory ($AC_HOME) is not "
				       "writable: %s: %s; is its disk "
				       "read-only or full?",
				       dirs[i].path, err_text(rc));
	}
	*ret_owner = st.st_uid;
	*ret_group = st.st_gid;
	return 0;
}

static int remount_rw(const char *path, unsigned long extra)
{
	unsigned long flags = MS_REMOUNT | MS_NOSUID | MS_NODEV | MS_NOEXEC |
			      extra;

	return mount(NULL, path, NULL, flags, NULL) < 0 ? -errno : 0;
}

/* If @line of mountinfo is a cgroup mount, writes its mount point to @out and
 * returns true. */
static bool cgroup_mount_of(const char *line, char *out, size_t size)
{
	const char *type = strstr(line, " - ");
	const char *p = line;
	size_t len;

	if (!type || !str_starts(type, " - cgroup"))
		return false;
	for (int field = 0; field < 4; field++) {
		p = strchr(p, ' ');
		if (!p)
			return false;
		p++;
	}
	len = strcspn(p, " ");
	if (len >= size || memchr(p, '\\', len))
		return false; /* the kernel's names need no escapes */
	memcpy(out, p, len);
	out[len] = '\0';
	return true;
}

static int cgroup1_prepare(struct err *err)
{
	SCOPED_FILE f = fopen("/proc/self/mountinfo", "re");
	SCOPED_STR line = NULL;
	size_t size = 0;
	char path[256];
	int n = 0, rc;

	if (!f)
		return err_sys(err, "/proc/self/mountinfo");
	while (getline(&line, &size, f) > 0) {
		if (!cgroup_mount_of(line, path, sizeof(path)))
			continue;
		rc = remount_rw(path, MS_BIND);
		if (rc < 0)
			return err_set(err, rc, "remount %s writable: %s", path,
				       err_text(rc));
		n++;
	}
	if (n == 0)
		return err_set(err, -ENOENT,
			       "no cgroup is mounted at %s: this machine's "
			       "engine gave ac-host none",
			       CGROUP_ROOT);
	return 0;
}

/* Moves the current processes of @from. Returns how many. */
static int cgroup_move(const char *from, const char *to)
{
	SCOPED_STR pids = NULL;
	char *save = NULL;
	int n = 0;
	int rc = file_read(from, CGROUP_FILE_MAX, &pids, NULL);

	if (rc < 0)
		return rc;
	for (char *pid = strtok_r(pids, "\n", &save); pid;
	     pid = strtok_r(NULL, "\n", &save)) {
		if (strcmp(pid, "0") == 0)
			continue; /* outside of our PID namespace */
		rc = file_put(to, pid);
		if (rc < 0 && rc != -ESRCH)
			return rc;
		n++;
	}
	return n;
}

static int cgroup2_enable(const char *root, struct err *err)
{
	SCOPED_STR path = str_printf("%s/cgroup.controllers", root);
	SCOPED_STR control = str_printf("%s/cgroup.subtree_control", root);
	SCOPED_STR names = NULL;
	char *save = NULL;
	int rc;

	if (!path || !control)
		return err_set(err, -ENOMEM, "cgroups: out of memory");
	rc = file_read(path, CGROUP_FILE_MAX, &names, NULL);
	if (rc < 0)
		return err_set(err, rc, "%s: %s", path, err_text(rc));
	for (char *name = strtok_r(names, " \n", &save); name;
	     name = strtok_r(NULL, " \n", &save)) {
		char word[64];

		/* One by one, so a missing one does not spoil the others. */
		snprintf(word, sizeof(word), "+%s", name);
		rc = file_put(control, word);
		if (rc < 0)
			log_warn("cgroup controller %s cannot be used: %s",
				 name, err_text(rc));
	}
	return 0;
}

int host_cgroup2_prepare(const char *root, struct err *err)
{
	SCOPED_STR leaf = str_printf("%s/init", root);
	SCOPED_STR from = str_printf("%s/cgroup.procs", root);
	SCOPED_STR to = str_printf("%s/init/cgroup.procs", root);
	int rc;

	if (!leaf || !from || !to)
		return err_set(err, -ENOMEM, "cgroups: out of memory");
	rc = file_mkdir_p(leaf, 0755);
	if (rc < 0)
		return err_set(err, rc, "mkdir %s: %s", leaf, err_text(rc));
	for (int i = 0; i < CGROUP_MOVE_ROUNDS; i++) {
		rc = cgroup_move(from, to);
		if (rc <= 0)
			break;
	}
	if (rc < 0)
		return err_set(err, rc, "move processes to %s: %s", leaf,
			       err_text(rc));
	return cgroup2_enable(root, err);
}

static int cgroups_prepare(const char **ret_cgroup, struct err *err)
{
	struct statfs fs;
	int rc;

	if (statfs(CGROUP_ROOT, &fs) < 0)
		return err_sys(err, "%s", CGROUP_ROOT);
	if (fs.f_type != CGROUP2_SUPER_MAGIC) {
		*ret_cgroup = "v1";
		return cgroup1_prepare(err);
	}
	*ret_cgroup = "v2";
	rc = remount_rw(CGROUP_ROOT, MS_BIND);
	if (rc < 0)
		return err_set(err, rc, "remount %s writable: %s", CGROUP_ROOT,
			       err_text(rc));
	return host_cgroup2_prepare(CGROUP_ROOT, err);
}

int host_prepare(const char **ret_cgroup, struct err *err)
{
	static const char resolv[] = "nameserver " AC_GATEWAY "\n"
				     "options timeout:2 attempts:2\n";
	int rc = file_mkdir_p(AC_RUN, 0700);

	if (rc == 0)
		rc = file_mkdir_p(AC_MOUNTS, 0700);
	/* A mount of its own, so others can detach all of it. */
	if (rc == 0 && mount(AC_MOUNTS, AC_MOUNTS, NULL, MS_BIND, NULL) < 0)
		rc = -errno;
	if (rc == 0)
		rc = file_write_atomic(HOST_RESOLV_CONF, resolv,
				       sizeof(resolv) - 1, 0644);
	if (rc < 0)
		return err_set(err, rc, "prepare %s: %s", AC_RUN, err_text(rc));
	/* If this fails, the engine reports what it misses. */
	rc = remount_rw("/sys", 0);
	if (rc < 0)
		log_warn("remount /sys writable: %s", err_text(rc));
	rc = remount_rw("/proc/sys", 0);
	if (rc < 0 && rc != -EINVAL) /* not a mount: writable already */
		log_warn("remount /proc/sys writable: %s", err_text(rc));
	return cgroups_prepare(ret_cgroup, err);
}
