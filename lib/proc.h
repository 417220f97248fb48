/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc.h - starts programs
 */
#ifndef LIB_PROC_H
#define LIB_PROC_H

#include <sys/types.h>

#include "lib/err.h"

struct proc_opts {
	const char *const
		*argv; /* NULL-terminated; argv[0] looked up in PATH */
	const char *const *env; /* NULL: inherited */
	const char *cwd; /* NULL: unchanged */
	int fd[3]; /* become 0, 1 and 2; -1: /dev/null. Borrowed */
	int new_session; /* setsid() in the child */
	int die_with_parent; /* PR_SET_PDEATHSIG SIGKILL */
	/* Control groups that the child enters: their files to write to, ended
	 * by NULL. NULL: the parent's. */
	const char *const *groups;
	/* For proc_run() and proc_capture(); 0: no limit. The program gets a
	 * process group of its own, which is killed after this time. */
	unsigned timeout_ms;
};

/*
 * Starts a program. In the child, signal mask and dispositions are reset and
 * all descriptors but 0-2 closed. Returns 0 and the pid, which the caller
 * reaps. A failed exec is returned here as its negative errno, not as an exit
 * code.
 */
int proc_spawn(const struct proc_opts *opts, pid_t *ret_pid, struct err *err);
/* Turns the calling process, a child that the caller forked, into the program
 * as proc_spawn() would, but ignores timeout_ms, die_with_parent and groups.
 * Returns only on failure, with a negative errno. */
int proc_exec(const struct proc_opts *opts);
/* Runs a program and waits for its end. Returns its exit code, 128 + n if
 * signal n killed it, or a negative errno: -ETIMEDOUT beyond timeout_ms. */
int proc_run(const struct proc_opts *opts, struct err *err);
/*
 * Like proc_run(), and collects stdout instead of writing it to fd[1]: at most
 * @max bytes, the rest is read and dropped. *@ret_out is NUL-terminated, the
 * caller frees it; it is also set when the exit code is not 0. Fails with
 * -EBADMSG if the output contains a NUL.
 */
int proc_capture(const struct proc_opts *opts, size_t max, char **ret_out,
		 struct err *err);
/*
 * Sets every signal but KILL and STOP to its default action. Async-signal-safe.
 */
void proc_signals_default(void);
/* Makes a forked process that works for its parent and execs nothing safe: it
 * dies with the parent, and after @seconds; it leaves no core and cannot be
 * traced; every signal has its default action, and none is blocked. */
void proc_worker_begin(unsigned seconds);
/* Returns a wait status as an exit code: the code, or 128 + n for signal n. */
int proc_code(int status);

#endif
