/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_job.h - one command of the gateway's own program, and what it printed
 *
 * For questions that no running gateway can answer: is this policy all right,
 * what would an instance reach that does not run. The command has the
 * gateway's uid and no rights, since what it reads may be anybody's.
 */
#ifndef CONTROL_ACD_EGRESS_GATE_JOB_H
#define CONTROL_ACD_EGRESS_GATE_JOB_H

#include "control/acd/daemon/children.h"
#include "lib/err.h"
#include "lib/loop.h"
#include "lib/slice.h"

#define GATE_JOB_OUTPUT_MAX (8u * 1024 * 1024) /* bytes; the rest is cut */
#define GATE_JOB_ARGS_MAX 24u

/* Words of a command that stand for the job's own folder, and for the file
 * in it; compared by address. */
extern const char gate_job_dir[], gate_job_file[];

struct gate_job_spec {
	const char *const *argv; /* behind the program; NULL-terminated */
	const char *file; /* its name in the folder; NULL: none */
	struct slice text; /* its content */
	const char *shown; /* how messages call the file; NULL: by its path */
};

/* @code: the exit code, 128+n for signals. @out, @err_out: what it printed,
 * borrowed. @err: it did not end by itself, or what it printed is lost. */
typedef void (*gate_job_fn)(void *arg, int code, const char *out,
			    const char *err_out, const struct err *err);

/* @spec is borrowed for the call. @fn once, from the loop. */
int gate_job_run(struct loop *loop, struct children *children,
		 const struct gate_job_spec *spec, gate_job_fn fn, void *arg,
		 struct err *err);
/* Ends them all; each hears of -ECANCELED. */
void gate_job_end_all(void);
/* Another program, and another place for the folders (tests); kept by
 * reference. Then the command keeps our rights. */
void gate_job_set(const char *program, const char *place);

#endif
