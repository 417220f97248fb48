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
#define STEP_FILES_RESERVE UINT64_C(65536) /* inodes */
#define STEP_FILE_BYTES \
	16384u /* of the limit of bytes, each inode takes so many */

enum step_end {
	STEP_ENDED, /* by itself */
	STEP_ASKED, /* by SIGTERM, SIGINT or SIGHUP */
	STEP_LATE,
	STEP_FULL, /* it has written too much, or the disk is full */
	STEP_CUT, /* @alive has ended */
};

/* What a file system has left, for who has no privilege. */
struct step_room {
	uint64_t bytes, files;
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
/* Returns true if a step that began with @before free, and whose file system has
 * @now, may go on: it may take @disk bytes (0: no limit), and an inode for each
 * STEP_FILE_BYTES of them; an empty file takes no bytes. */
bool step_disk_fits(const struct step_room *before, const struct step_room *now,
		    uint64_t disk);

#endif
