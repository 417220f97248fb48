/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc_removed.c - removed files that a sandbox has open
 *
 * gVisor keeps what it cannot open again in the memory that it saves. For a file
 * that takes about 16 times its size while it saves (seen on the pin), and a
 * sandbox beyond its memory limit is killed. So one that has such files does not
 * hibernate. Its kernel, or its gofer, has them open as well, where acd can see
 * them. (A removed FIFO cannot be seen: gVisor panics as it saves one.)
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/acd/runtime/cgroup.h"
#include "control/acd/runtime/runsc_impl.h"
#include "lib/file.h"
#include "lib/str.h"

#define REMOVED " (deleted)" /* proc_pid_fd(5) */
#define PIDS_TEXT_MAX (64u * 1024)
#define LOOKS_MAX 20000u /* acd serves others meanwhile */
#define SEEN 64u

struct removed {
	unsigned looks;
	uint64_t bytes;
	ino_t seen[SEEN]; /* counted already: each is open several times */
	size_t n_seen;
};

/* Beyond SEEN a file may count twice. */
static bool is_seen(struct removed *r, ino_t ino)
{
	for (size_t i = 0; i < r->n_seen; i++) {
		if (r->seen[i] == ino)
			return true;
	}
	if (r->n_seen < SEEN)
		r->seen[r->n_seen++] = ino;
	return false;
}

static void look_at(struct removed *r, int dirfd, const char *name)
{
	char target[PATH_MAX];
	struct stat st;
	ssize_t n = readlinkat(dirfd, name, target, sizeof(target) - 1);

	r->looks++;
	if (n < (ssize_t)strlen(REMOVED))
		return;
	target[n] = '\0';
	/* gVisor's own memory is a removed file, too. */
	if (strcmp(target + n - strlen(REMOVED), REMOVED) == 0 &&
	    !str_starts(target, "/memfd:") &&
	    fstatat(dirfd, name, &st, 0) == 0 && S_ISREG(st.st_mode) &&
	    !is_seen(r, st.st_ino))
		r->bytes += (uint64_t)st.st_size;
}

static void look_at_process(struct removed *r, const char *pid)
{
	SCOPED_STR path = str_printf("/proc/%s/fd", pid);
	SCOPED_DIR d = path ? opendir(path) : NULL;
	const struct dirent *e;

	while (d && r->looks < LOOKS_MAX && (e = readdir(d))) {
		if (e->d_name[0] != '.')
			look_at(r, dirfd(d), e->d_name);
	}
}

/* The gofer was started before the kernel; what came later are the sandbox's
 * processes, which have the kernel's descriptors. */
static int look_at_all(struct removed *r, const struct box *b)
{
	struct strv files = { 0 };
	SCOPED_STR pids = NULL;
	char *at, *pid;
	int rc = cgroup_files(b->id, &files);

	if (rc == 0)
		rc = files.n ?
			     file_read(files.v[0], PIDS_TEXT_MAX, &pids, NULL) :
			     -ENOENT;
	strv_done(&files);
	if (rc < 0)
		return rc;
	for (pid = strtok_r(pids, "\n", &at); pid;
	     pid = strtok_r(NULL, "\n", &at)) {
		uint64_t number;

		if (str_parse_u64(pid, 1, INT32_MAX, &number) == 0 &&
		    number <= (uint64_t)b->pid)
			look_at_process(r, pid);
	}
	return 0;
}

int runsc_removed_check(const struct box *b, uint64_t most, struct err *err)
{
	struct removed r = { 0 };
	int rc = look_at_all(&r, b);

	if (rc < 0)
		return err_set(err, rc, "look at its open files: %s",
			       err_text(rc));
	if (r.looks >= LOOKS_MAX)
		return err_set(err, -EBUSY, "it has more than %u files open",
			       LOOKS_MAX);
	if (r.bytes > most)
		return err_set(
			err, -EBUSY,
			"programs in it have removed files open, of %llu "
			"MiB together, which gVisor would take into "
			"its memory",
			(unsigned long long)(r.bytes >> 20));
	return 0;
}
