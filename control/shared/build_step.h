/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build_step.h - what each RUN of an image's build gets of this machine
 */
#ifndef CONTROL_SHARED_BUILD_STEP_H
#define CONTROL_SHARED_BUILD_STEP_H

#include "lib/err.h"

/* Where a step finds the files. BuildKit makes /dev of memory. */
#define BUILD_STEP_DIR "/dev/ac"

/* Paths; a file that is not there gives a step nothing. */
struct build_step {
	const char *extra; /* CAs that this machine adds, PEM */
	const char *roots; /* for a root file system without any */
	const char *env; /* NAME=value lines */
	const char *apt; /* configuration of apt */
};

/*
 * Adds to the OCI bundle in @dir: variables for the CAs, for @in->env and for
 * pip, each only if the step does not have it already, and a read-only mount
 * at BUILD_STEP_DIR of files that are made in @dir and go with it. The
 * process's root file system must be mounted. Fails with what could not be
 * read or written; then the bundle is as it was, but for these files.
 */
int build_step_prepare(const char *dir, const struct build_step *in,
		       struct err *err);

/* Returns the bundle in the arguments of a runtime that runs one, "run ...
 * --bundle DIR ...", borrowed from @argv; NULL for all other arguments. */
const char *build_step_bundle(int argc, const char *const *argv);

#endif
