/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.h - what waits for acd, in a process of its own
 *
 * Calls to acd, the start of a sandbox and a command in it wait for as long as it
 * takes. Each is done by a forked child, with the code that other commands use. It
 * tells its parent, which goes on serving, by lines of JSON on a pipe. To end the
 * child ends what it does: acd stops a process whose connection is lost. A child
 * does not outlive its parent.
 */
#ifndef CONTROL_CLI_MCP_JOB_H
#define CONTROL_CLI_MCP_JOB_H

#include <jansson.h>

#include "lib/err.h"
#include "lib/loop.h"

#define JOB_LINE_MAX (64u * 1024 * 1024) /* bytes of a message of the child */

struct job;

/* Runs in the child: stdin is /dev/null, stdout is our stderr, and of the parent's
 * other descriptors only @out is open, for job_tell(). */
typedef void (*job_fn)(void *arg, int out);

struct job_ops {
	/* The child told something, an object, borrowed. */
	void (*told)(void *arg, const json_t *what);
	/* The child has ended; the job is freed after this. */
	void (*ended)(void *arg);
};

/* Starts a child that runs @fn. Returns NULL with errno. @ops is kept by
 * reference. */
struct job *job_start(struct loop *l, job_fn fn, void *fn_arg,
		      const struct job_ops *ops, void *arg);
/* Kills the child and all that it has started, and frees the job; nothing more is
 * told. NULL is fine. */
void job_kill(struct job *j);
/* Sends a signal to the child and all that it has started. */
void job_signal(const struct job *j, int signo);

/* Tells the parent of the calling child something, which is taken. Returns 0, or a
 * negative errno if there is no memory or no parent any more. */
int job_tell(int out, json_t *what);
/* Tells of the failure @err as {"error": {"code", "message"}}; the code is
 * acd's word, or "failed". */
int job_tell_error(int out, const struct err *err);

#endif
