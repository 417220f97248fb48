/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc.h - starting programs
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
	int fd[3]; /* become 0, 1, 2; -1: /dev/null */
	int new_session; /* setsid() in the child */
	int die_with_parent; /* PR_SET_PDEATHSIG SIGKILL */
	/* For proc_run() and proc_capture(), 0: none. The program gets a
	 * process group of its own, which is killed after this time. */
	unsigned timeout_ms;
};

/*
 * Starts a program; signal mask and dispositions are reset in the child,
 * all descriptors but 0-2 closed. A failed exec is reported here as its
 * negative errno, not by an exit code. Returns 0 and the pid.
 */
int proc_spawn(const struct proc_opts *opts, pid_t *ret_pid, struct err *err);
/*
 * In a child that the caller has forked himself: becomes the program, as
 * proc_spawn() would; @opts' timeout and die_with_parent do not count.
 * Returns only when it failed, with the negative errno.
 */
int proc_exec(const struct proc_opts *opts);
/* Runs to the end; returns the exit code, 128+n for a signal, or -errno;
 * -ETIMEDOUT past @opts' limit. */
int proc_run(const struct proc_opts *opts, struct err *err);
/*
 * Like proc_run(), and collects stdout in place of fd[1]: at most @max bytes,
 * the rest is read and dropped; NUL-ended, caller frees, also set when the
 * program fails with an exit code. -EBADMSG for output that contains a NUL.
 */
int proc_capture(const struct proc_opts *opts, size_t max, char **ret_out,
		 struct err *err);
/* Every signal to its default action; async-signal-safe. KILL and STOP have
 * no other. */
void proc_signals_default(void);
/* A wait status as an exit code: code, or 128+n. */
int proc_code(int status);

#endif
