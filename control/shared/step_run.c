/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_run.c - runs a step of a build, and ends what takes too much
 *
 * runsc in the foreground has the sandbox's kernel and its gofer as children,
 * which end with it. What is left when it was killed comes to this process,
 * their next reaper, and is killed and waited for, too: the network of the step
 * is taken away afterwards.
 *
 * What a step writes is measured as what is missing of the free space. Others
 * write too, so the limit is coarse; it protects the disk, which they share.
 */
#include "control/shared/step_run.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>

#include "lib/file.h"
#include "lib/loop.h"
#include "lib/proc.h"
#include "lib/str.h"

#define LOOK_MS 250u
#define END_LIMIT_MS 10000u

struct watch {
	const struct step_run *s;
	pid_t pid;
	uint64_t until; /* clock_ms(); 0: no limit */
	struct step_room room; /* at the start */
	sigset_t signals;
	int status;
	bool ended;
};

bool step_disk_fits(const struct step_room *before, const struct step_room *now,
		    uint64_t disk)
{
	uint64_t files = disk / STEP_FILE_BYTES;

	if (disk == 0)
		return true;
	if (now->bytes < STEP_DISK_RESERVE && now->bytes < before->bytes)
		return false;
	if (now->files < STEP_FILES_RESERVE && now->files < before->files)
		return false;
	return (now->bytes >= before->bytes ||
		before->bytes - now->bytes <= disk) &&
	       (now->files >= before->files ||
		before->files - now->files <= files);
}

/* What is not known is UINT64_MAX: then there is no limit. */
static struct step_room room_of(const char *root)
{
	struct step_room r = { UINT64_MAX, UINT64_MAX };
	struct statvfs st;

	if (statvfs(root, &st) < 0)
		return r;
	r.bytes = (uint64_t)st.f_bavail * st.f_frsize;
	if (st.f_files >
	    0) /* some file systems make inodes as they need them */
		r.files = st.f_favail;
	return r;
}

/* Reaps all that have ended. Returns false if no child is left. */
static bool reap(struct watch *w)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != w->pid)
			continue;
		w->status = status;
		w->ended = true;
	}
	return pid == 0;
}

/* Returns true if the other end of the socket was closed. */
static bool is_cut(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };

	return fd >= 0 && poll(&p, 1, 0) > 0 &&
	       (p.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

static enum step_end look(const struct watch *w)
{
	const struct step_run *s = w->s;
	struct step_room now;

	if (is_cut(s->alive))
		return STEP_CUT;
	if (w->until && clock_ms() >= w->until)
		return STEP_LATE;
	now = room_of(s->root);
	if (!step_disk_fits(&w->room, &now, s->disk))
		return STEP_FULL;
	return STEP_ENDED;
}

/* Waits for a signal, for @ms at most. Returns its number, or 0. */
static int signal_wait(const struct watch *w, unsigned ms)
{
	const struct timespec t = { .tv_sec = ms / 1000,
				    .tv_nsec = ms % 1000 * 1000000L };
	int signo = sigtimedwait(&w->signals, NULL, &t);

	return signo < 0 ? 0 : signo;
}

static enum step_end wait_for_end(struct watch *w)
{
	enum step_end why = STEP_ENDED;

	for (;;) {
		int signo =
			signal_wait(w, w->s->look_ms ? w->s->look_ms : LOOK_MS);

		reap(w);
		if (w->ended)
			return STEP_ENDED;
		if (signo != 0 && signo != SIGCHLD)
			return STEP_ASKED;
		why = look(w);
		if (why != STEP_ENDED)
			return why;
	}
}

/* Kills the direct children of this process: orphans are among them. */
static void children_kill(void)
{
	SCOPED_STR list = NULL;
	SCOPED_STR path = str_printf("/proc/self/task/%d/children", getpid());
	char *next, *word;

	if (!path || file_read(path, 64u * 1024, &list, NULL) < 0)
		return;
	next = list;
	while ((word = strsep(&next, " \n"))) {
		uint64_t pid;

		if (str_parse_u64(word, 2, INT32_MAX, &pid) == 0)
			kill((pid_t)pid, SIGKILL);
	}
}

/* Ends all that is left. */
static void end_all(struct watch *w)
{
	uint64_t limit = clock_ms() + END_LIMIT_MS;

	while (reap(w) && clock_ms() < limit) {
		if (!w->ended)
			kill(w->pid, SIGKILL);
		children_kill();
		signal_wait(w, 20);
	}
}

static void signals_block(struct watch *w)
{
	sigemptyset(&w->signals);
	sigaddset(&w->signals, SIGCHLD);
	sigaddset(&w->signals, SIGTERM);
	sigaddset(&w->signals, SIGINT);
	sigaddset(&w->signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &w->signals, NULL);
}

int step_run(const struct step_run *s, enum step_end *ret, int *ret_code,
	     struct err *err)
{
	struct proc_opts opts = { .argv = s->argv,
				  .groups = s->groups,
				  .fd = { 0, 1, 2 },
				  .die_with_parent = 1 };
	struct watch w = { .s = s };
	int rc;

	signals_block(&w);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	w.room = room_of(s->root);
	w.until = s->time_ms ? clock_ms() + s->time_ms : 0;
	rc = proc_spawn(&opts, &w.pid, err);
	if (rc < 0)
		return rc;
	*ret = wait_for_end(&w);
	end_all(&w);
	*ret_code = w.ended ? proc_code(w.status) : 128 + SIGKILL;
	return 0;
}
