/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_job.h - runs one command of the gateway's program
 *
 * For questions that a running gateway cannot answer: whether a policy is
 * valid, and what a stopped instance could reach. The command has the gateway's
 * uid and no privileges, since its input may be anything.
 */
#ifndef CONTROL_ACD_EGRESS_GATE_JOB_H
#define CONTROL_ACD_EGRESS_GATE_JOB_H

#include "control/acd/daemon/children.h"
#include "lib/err.h"
#include "lib/loop.h"
#include "lib/slice.h"

#define GATE_JOB_OUTPUT_MAX (8u * 1024 * 1024) /* bytes; the rest is cut */
#define GATE_JOB_ARGS_MAX 24u

/* Arguments that stand for the job's own folder, and for the file in it;
 * compared by address. */
extern const char gate_job_dir[], gate_job_file[];

struct gate_job_spec {
	const char *const *argv; /* after the program; NULL-terminated */
	const char *file; /* name of a file in the folder; NULL: none */
	struct slice text; /* the file's content */
	/* What the program shall call the file; NULL: by its path. */
	const char *shown;
};

/* @code: the exit code, 128+n for signals. @out, @err_out: the output,
 * borrowed. @err: NULL, or why the command did not end by itself or its output
 * is lost. */
typedef void (*gate_job_fn)(void *arg, int code, const char *out,
			    const char *err_out, const struct err *err);

/* Runs a command; @spec is borrowed for the call. Calls @fn once, from the
 * loop. Returns 0, or a negative errno with @err; @fn is not called then. */
int gate_job_run(struct loop *loop, struct children *children,
		 const struct gate_job_spec *spec, gate_job_fn fn, void *arg,
		 struct err *err);
/* Ends all commands; each callback gets -ECANCELED. */
void gate_job_end_all(void);
/* For tests: uses another program, and another place for the folders; kept by
 * reference. The command keeps acd's privileges then. */
void gate_job_set(const char *program, const char *place);

#endif
