/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build_step.h - gives each RUN of an image build what this machine needs
 */
#ifndef CONTROL_SHARED_BUILD_STEP_H
#define CONTROL_SHARED_BUILD_STEP_H

#include <stdbool.h>

#include "lib/err.h"

/* Directory of the files in a step. BuildKit mounts /dev as tmpfs. */
#define BUILD_STEP_DIR "/dev/ac"

/* Paths of files of ac-host, borrowed; a missing file adds nothing. */
struct build_step {
	const char *extra; /* CAs that this machine adds, PEM */
	const char *roots; /* used if the root file system has no CAs */
	const char *env; /* NAME=value lines */
	const char *apt; /* configuration of apt */
	/* It runs in an install sandbox, whose gateway is the way out: it gets
	 * no proxy. */
	bool boxed;
};

/*
 * Changes config.json of the OCI bundle in @dir: adds variables for the CAs,
 * for apt, for pip and those of @in->env, unless the step sets them, and a
 * read-only mount at BUILD_STEP_DIR of files that it makes in @dir. These stay
 * as long as the bundle. The root file system must be mounted. Returns 0, or a
 * negative errno with @err; on failure config.json is unchanged.
 */
int build_step_prepare(const char *dir, const struct build_step *in,
		       struct err *err);

/* Returns the bundle's directory from the arguments of an OCI runtime ("run ...
 * --bundle DIR ..."), borrowed from @argv, or NULL for other commands. */
const char *build_step_bundle(int argc, const char *const *argv);

#endif
