/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup.c - the control group of a sandbox, v1 and v2
 *
 * Theory of operation: v1 has a hierarchy for each controller, and a sandbox
 * a folder in each of them; v2 has one folder. What differs between the two
 * is in which folder a file is, what it is called and how "no limit" is
 * spelled, so the calls below choose by `v2` and share the rest.
 *
 * ac-host has a cgroup namespace of its own (host.c), so the mounts show its
 * part of the machine and the sandboxes' folders stand beside acd's, below
 * "ac": what the outer engine set for ac-host holds for all of them together.
 *
 * Killing in v1 is by pid. The freezer stops whoever forks meanwhile, and
 * takes what is born in a group that is freezing, so a few rounds get all.
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

/* The first folder, which no machine lacks, is made first and removed last: it
 * says whether somebody has an id. */
int cgroup_create(const char *id, const struct cgroup_limits *l,
		  struct err *err)
{
	struct cgroup_path p;
	int r = cgroup_path(&p, CGROUP_MEMORY, id, "");

	if (r == 0 && mkdir(p.text, 0755) < 0)
		r = -errno;
	if (r < 0)
		return err_set(err, r, "cgroup %s: %s", id, err_text(r));
	for (int i = CGROUP_MEMORY + 1; r == 0 && i < CGROUP_PARTS; i++) {
		if (!cgroup_part_counts(i))
			continue;
		r = cgroup_path(&p, i, id, "");
		if (r == 0 && mkdir(p.text, 0755) < 0 && errno != EEXIST)
			r = -errno;
	}
	r = r < 0 ? err_set(err, r, "cgroup %s: %s", id, err_text(r)) :
		    cgroup_limits_set(id, l, err);
	if (r < 0)
		cgroup_remove(id);
	return r;
}

int cgroup_enter(const char *id)
{
	/* A process of one thread may as well move that thread; for v1 the
	 * kernel then takes no lock whose price is 10 to 20 ms. */
	const char *file = cgroups.v2 ? "cgroup.procs" : "tasks";

	for (int i = 0; i < CGROUP_PARTS; i++) {
		struct cgroup_path p;
		int fd, r;

		if (!cgroup_part_counts(i))
			continue;
		r = cgroup_path(&p, i, id, file);
		if (r < 0)
			return r;
		fd = open(p.text, O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		r = write(fd, "0", 1) == 1 ? 0 : -errno;
		close(fd);
		if (r < 0)
			return r;
	}
	return cgroups.ready ? 0 : -ENODEV;
}

int cgroup_freeze(const char *id, bool frozen, struct err *err)
{
	int r;

	if (cgroups.v2)
		r = cgroup_put(CGROUP_FREEZER, id, "cgroup.freeze",
			       frozen ? "1" : "0");
	else
		r = cgroup_put(CGROUP_FREEZER, id, "freezer.state",
			       frozen ? "FROZEN" : "THAWED");
	return r < 0 ? err_set(err, r, "%s %s: %s", frozen ? "freeze" : "thaw",
			       id, err_text(r)) :
		       0;
}

int cgroup_is_frozen(const char *id)
{
	SCOPED_STR text = NULL;
	uint64_t frozen = 0;
	int r;

	if (cgroups.v2) {
		r = cgroup_take_key(CGROUP_FREEZER, id, "cgroup.events",
				    "frozen", &frozen);
		return r < 0 ? r : frozen == 1;
	}
	r = cgroup_take(CGROUP_FREEZER, id, "freezer.state", &text);
	return r < 0 ? r : strcmp(text, "FROZEN\n") == 0;
}

/* ---- its end ---- */

/* One look: signals all who are there now. Their count. */
static int kill_round(const char *id)
{
	SCOPED_STR pids = NULL;
	char *save = NULL;
	int n = 0;
	int r = cgroup_take(CGROUP_MEMORY, id, "cgroup.procs", &pids);

	if (r < 0)
		return r;
	for (char *line = strtok_r(pids, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		uint64_t pid;

		/* Never init or ourselves; 0 is not of our namespace. */
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
	int r = 0;

	if (cgroups.v2) {
		r = cgroup_put(CGROUP_MEMORY, id, "cgroup.kill", "1");
		if (r != -ENOENT)
			return r;
	}
	/* Kernels before 5.14 have no such file either. */
	cgroup_freeze(id, true, NULL);
	for (int i = 0; i < KILL_ROUNDS; i++) {
		r = kill_round(id);
		if (r <= 0)
			break;
	}
	cgroup_freeze(id, false, NULL);
	return r < 0 && r != -ENOENT ? r : 0;
}

int cgroup_remove(const char *id)
{
	for (int i = CGROUP_PARTS - 1; i >= 0; i--) {
		struct cgroup_path p;
		int r;

		if (!cgroup_part_counts(i))
			continue;
		r = cgroup_path(&p, i, id, "");
		if (r < 0)
			return r;
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
			log_warn("cgroup %s of an earlier life is still there",
				 e->d_name);
	}
}
