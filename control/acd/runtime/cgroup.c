/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup.c - the control group of a sandbox, v1 and v2
 *
 * Theory of operation: v1 has a hierarchy for each controller, and a sandbox a
 * folder in each; v2 has one folder. They differ in which folder has a file, in
 * its name and in how "no limit" is written. So the calls below choose by `v2`
 * and share the rest.
 *
 * ac-host has a cgroup namespace of its own (host.c), so the mounts show its
 * part of the machine. The sandboxes' folders are beside acd's, below "ac":
 * what the outer engine has set for ac-host limits them all together.
 *
 * Killing in v1 is by pid. The freezer stops processes that fork meanwhile, and
 * freezes what is born in the group, so a few rounds reach all.
 */
#include "control/acd/runtime/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "control/acd/runtime/cgroup_impl.h"
#include "lib/log.h"
#include "lib/str.h"

#define KILL_ROUNDS 4

/* The first folder exists on every machine. It is made first and removed last,
 * so it shows whether an id is in use. */
int cgroup_create(const char *id, const struct cgroup_limits *l,
		  struct err *err)
{
	struct cgroup_path p;
	int rc = cgroup_path(&p, CGROUP_MEMORY, id, "");

	if (rc == 0 && mkdir(p.text, 0755) < 0)
		rc = -errno;
	if (rc < 0)
		return err_set(err, rc, "cgroup %s: %s", id, err_text(rc));
	for (int i = CGROUP_MEMORY + 1; rc == 0 && i < CGROUP_PARTS; i++) {
		if (!cgroup_part_counts(i))
			continue;
		rc = cgroup_path(&p, i, id, "");
		if (rc == 0 && mkdir(p.text, 0755) < 0 && errno != EEXIST)
			rc = -errno;
	}
	rc = rc < 0 ? err_set(err, rc, "cgroup %s: %s", id, err_text(rc)) :
		      cgroup_limits_set(id, l, err);
	if (rc < 0)
		cgroup_remove(id);
	return rc;
}

/* With one thread, moving the thread moves the process; on v1 that avoids a lock
 * of the kernel that costs 10 to 20 ms. */
static const char *enter_file(void)
{
	return cgroups.v2 ? "cgroup.procs" : "tasks";
}

int cgroup_files(const char *id, struct strv *ret)
{
	int rc = cgroups.ready ? 0 : -ENODEV;

	for (int i = 0; rc == 0 && i < CGROUP_PARTS; i++) {
		struct cgroup_path p;

		if (!cgroup_part_counts(i))
			continue;
		rc = cgroup_path(&p, i, id, enter_file());
		if (rc == 0)
			rc = strv_push(ret, p.text);
	}
	return rc;
}

int cgroup_enter(const char *id)
{
	for (int i = 0; i < CGROUP_PARTS; i++) {
		struct cgroup_path p;
		int fd, rc;

		if (!cgroup_part_counts(i))
			continue;
		rc = cgroup_path(&p, i, id, enter_file());
		if (rc < 0)
			return rc;
		fd = open(p.text, O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		rc = write(fd, "0", 1) == 1 ? 0 : -errno;
		close(fd);
		if (rc < 0)
			return rc;
	}
	return cgroups.ready ? 0 : -ENODEV;
}

int cgroup_freeze(const char *id, bool frozen, struct err *err)
{
	int rc;

	if (cgroups.v2)
		rc = cgroup_put(CGROUP_FREEZER, id, "cgroup.freeze",
				frozen ? "1" : "0");
	else
		rc = cgroup_put(CGROUP_FREEZER, id, "freezer.state",
				frozen ? "FROZEN" : "THAWED");
	return rc < 0 ? err_set(err, rc, "%s %s: %s",
				frozen ? "freeze" : "thaw", id, err_text(rc)) :
			0;
}

int cgroup_is_frozen(const char *id)
{
	SCOPED_STR text = NULL;
	uint64_t frozen = 0;
	int rc;

	if (cgroups.v2) {
		rc = cgroup_take_key(CGROUP_FREEZER, id, "cgroup.events",
				     "frozen", &frozen);
		return rc < 0 ? rc : frozen == 1;
	}
	rc = cgroup_take(CGROUP_FREEZER, id, "freezer.state", &text);
	return rc < 0 ? rc : strcmp(text, "FROZEN\n") == 0;
}

/* ---- killing and removing ---- */

/* Signals all processes that are there now. Returns how many. */
static int kill_round(const char *id)
{
	SCOPED_STR pids = NULL;
	char *save = NULL;
	int n = 0;
	int rc = cgroup_take(CGROUP_MEMORY, id, "cgroup.procs", &pids);

	if (rc < 0)
		return rc;
	for (char *line = strtok_r(pids, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		uint64_t pid;

		/* Not init or ourselves; 0 is outside of our namespace. */
		if (str_parse_u64(line, 2, INT32_MAX, &pid) < 0 ||
		    (pid_t)pid == getpid())
			continue;
		kill((pid_t)pid, SIGKILL);
		n++;
	}
	return n;
}

int cgroup_kill(const char *id)
{
	int rc = 0;

	if (cgroups.v2) {
		rc = cgroup_put(CGROUP_MEMORY, id, "cgroup.kill", "1");
		if (rc != -ENOENT)
			return rc;
	}
	/* Kernels before 5.14 lack this file. */
	cgroup_freeze(id, true, NULL);
	for (int i = 0; i < KILL_ROUNDS; i++) {
		rc = kill_round(id);
		if (rc <= 0)
			break;
	}
	cgroup_freeze(id, false, NULL);
	return rc < 0 && rc != -ENOENT ? rc : 0;
}

int cgroup_remove(const char *id)
{
	for (int i = CGROUP_PARTS - 1; i >= 0; i--) {
		struct cgroup_path p;
		int rc;

		if (!cgroup_part_counts(i))
			continue;
		rc = cgroup_path(&p, i, id, "");
		if (rc < 0)
			return rc;
		if (rmdir(p.text) < 0 && errno != ENOENT)
			return -errno;
	}
	return cgroups.ready ? 0 : -ENODEV;
}

void cgroup_sweep(void)
{
	SCOPED_DIR d = cgroups.ready ? opendir(cgroup_dir(CGROUP_MEMORY)) :
				       NULL;
	const struct dirent *e;

	while (d && (e = readdir(d))) {
		if (e->d_type != DT_DIR || !cgroup_id_is_good(e->d_name))
			continue;
		cgroup_kill(e->d_name);
		if (cgroup_remove(e->d_name) < 0)
			log_warn("cgroup %s of an earlier acd is still there",
				 e->d_name);
	}
}
