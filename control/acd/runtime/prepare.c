/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.c - makes the outer container a place where an engine can run
 *
 * The outer engine gives a container without --privileged its cgroups, /sys
 * and /proc/sys read-only. acd has CAP_SYS_ADMIN in its own mount namespace
 * and makes them writable there; CAP_SYS_RESOURCE is never needed. The
 * cgroup namespace is private, so all that becomes writable is the subtree
 * of ac-host.
 *
 * cgroup v1 (and hybrid): each controller's mount is remounted "bind,rw".
 * cgroup v2: a cgroup with processes of its own cannot give controllers to
 * children, so acd first moves everything, itself included, into a leaf.
 */
#include "control/acd/runtime/host.h"

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
		int r = file_mkdir_p(dirs[i].path, dirs[i].mode);

		/* What the user must be able to reach and remove is his. */
		if (r == 0 && chown(dirs[i].path, st.st_uid, st.st_gid) < 0)
			r = -errno;
		if (r < 0)
			return err_set(err, r,
				       "the state directory ($AC_HOME) is not "
				       "writable: %s: %s; is its disk "
				       "read-only or full?",
				       dirs[i].path, err_text(r));
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

/* Is @line of mountinfo a cgroup mount? Then its mount point goes to @out. */
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
		return false; /* an escaped name is none of the kernel's */
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
	int n = 0, r;

	if (!f)
		return err_sys(err, "/proc/self/mountinfo");
	while (getline(&line, &size, f) > 0) {
		if (!cgroup_mount_of(line, path, sizeof(path)))
			continue;
		r = remount_rw(path, MS_BIND);
		if (r < 0)
			return err_set(err, r, "remount %s writable: %s", path,
				       err_text(r));
		n++;
	}
	if (n == 0)
		return err_set(err, -ENOENT,
			       "no cgroup is mounted at %s: this machine's "
			       "engine gave ac-host none",
			       CGROUP_ROOT);
	return 0;
}

/* One round: moves what is in @from now; the count of moved processes. */
static int cgroup_move(const char *from, const char *to)
{
	SCOPED_STR pids = NULL;
	char *save = NULL;
	int n = 0;
	int r = file_read(from, CGROUP_FILE_MAX, &pids, NULL);

	if (r < 0)
		return r;
	for (char *pid = strtok_r(pids, "\n", &save); pid;
	     pid = strtok_r(NULL, "\n", &save)) {
		if (strcmp(pid, "0") == 0)
			continue; /* not of our pid namespace */
		r = file_put(to, pid);
		if (r < 0 && r != -ESRCH)
			return r;
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
	int r;

	if (!path || !control)
		return err_set(err, -ENOMEM, "cgroups: out of memory");
	r = file_read(path, CGROUP_FILE_MAX, &names, NULL);
	if (r < 0)
		return err_set(err, r, "%s: %s", path, err_text(r));
	for (char *name = strtok_r(names, " \n", &save); name;
	     name = strtok_r(NULL, " \n", &save)) {
		char word[64];

		/* One by one: one that cannot be had must not cost the rest. */
		snprintf(word, sizeof(word), "+%s", name);
		r = file_put(control, word);
		if (r < 0)
			log_warn("cgroup controller %s cannot be used: %s",
				 name, err_text(r));
	}
	return 0;
}

int host_cgroup2_prepare(const char *root, struct err *err)
{
	SCOPED_STR leaf = str_printf("%s/init", root);
	SCOPED_STR from = str_printf("%s/cgroup.procs", root);
	SCOPED_STR to = str_printf("%s/init/cgroup.procs", root);
	int r;

	if (!leaf || !from || !to)
		return err_set(err, -ENOMEM, "cgroups: out of memory");
	r = file_mkdir_p(leaf, 0755);
	if (r < 0)
		return err_set(err, r, "mkdir %s: %s", leaf, err_text(r));
	for (int i = 0; i < CGROUP_MOVE_ROUNDS; i++) {
		r = cgroup_move(from, to);
		if (r <= 0)
			break;
	}
	if (r < 0)
		return err_set(err, r, "move processes to %s: %s", leaf,
			       err_text(r));
	return cgroup2_enable(root, err);
}

static int cgroups_prepare(const char **ret_cgroup, struct err *err)
{
	struct statfs fs;
	int r;

	if (statfs(CGROUP_ROOT, &fs) < 0)
		return err_sys(err, "%s", CGROUP_ROOT);
	if (fs.f_type != CGROUP2_SUPER_MAGIC) {
		*ret_cgroup = "v1";
		return cgroup1_prepare(err);
	}
	*ret_cgroup = "v2";
	r = remount_rw(CGROUP_ROOT, MS_BIND);
	if (r < 0)
		return err_set(err, r, "remount %s writable: %s", CGROUP_ROOT,
			       err_text(r));
	return host_cgroup2_prepare(CGROUP_ROOT, err);
}

int host_prepare(const char **ret_cgroup, struct err *err)
{
	static const char resolv[] = "nameserver " AC_GATEWAY "\n"
				     "options timeout:2 attempts:2\n";
	int r = file_mkdir_p(AC_RUN, 0700);

	if (r == 0)
		r = file_mkdir_p(AC_MOUNTS, 0700);
	/* A mount of its own, so that others can let go of all of it. */
	if (r == 0 && mount(AC_MOUNTS, AC_MOUNTS, NULL, MS_BIND, NULL) < 0)
		r = -errno;
	if (r == 0)
		r = file_write_atomic(HOST_RESOLV_CONF, resolv,
				      sizeof(resolv) - 1, 0644);
	if (r < 0)
		return err_set(err, r, "prepare %s: %s", AC_RUN, err_text(r));
	/* Where this fails the engine itself says what it misses. */
	r = remount_rw("/sys", 0);
	if (r < 0)
		log_warn("remount /sys writable: %s", err_text(r));
	r = remount_rw("/proc/sys", 0);
	if (r < 0 && r != -EINVAL) /* no mount of its own: writable already */
		log_warn("remount /proc/sys writable: %s", err_text(r));
	return cgroups_prepare(ret_cgroup, err);
}
