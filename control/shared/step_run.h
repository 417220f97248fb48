/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_run.h - runs a step of a build, and ends what takes too much
 */
#ifndef CONTROL_SHARED_STEP_RUN_H
#define CONTROL_SHARED_STEP_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

/* So much stays free on the disk, whatever a step may write. */
#define STEP_DISK_RESERVE (UINT64_C(512) << 20)

enum step_end {
	STEP_ENDED, /* by itself */
	STEP_ASKED, /* by SIGTERM, SIGINT or SIGHUP */
	STEP_LATE,
	STEP_FULL, /* it has written too much, or the disk is full */
	STEP_CUT, /* @alive has ended */
};

struct step_run {
	const char *const *argv; /* NULL-terminated */
	const char *const *groups; /* as of struct proc_opts */
	const char *root; /* on the file system that it writes to */
	uint64_t time_ms, disk; /* bytes; 0: no limit */
	int alive; /* a socket whose end is the step's; -1: none */
	unsigned look_ms; /* how often limits are looked at; 0: 250 */
};

/*
 * Runs a program with this process's stdin, stdout and stderr, waits until it
 * and all its descendants have ended, and sets *ret_code to its exit code (128 +
 * n for a signal) and *ret to why it ended. Blocks SIGCHLD, SIGTERM, SIGINT and
 * SIGHUP, and makes this process the reaper of orphans below it. Returns 0, or a
 * negative errno with @err if it was not started.
 */
int step_run(const struct step_run *s, enum step_end *ret, int *ret_code,
	     struct err *err);
/* Returns true if a step that began with @before bytes free and has @now may go
 * on. */
bool step_disk_fits(uint64_t before, uint64_t now, uint64_t disk);

#endif
