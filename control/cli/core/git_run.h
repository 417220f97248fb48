/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git_run.h - runs the user's git, so that nothing runs but git itself
 */
#ifndef CONTROL_CLI_CORE_GIT_RUN_H
#define CONTROL_CLI_CORE_GIT_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"
#include "lib/slice.h"

#define GIT_ERRORS_MAX 2048u /* bytes that are kept of stderr: the last ones */

struct git_call {
	/* The directory to run in; borrowed. O_PATH suffices. A path that is
	 * swapped meanwhile changes nothing. */
	int dir;
	const char *const *args; /* after "git", ended by NULL */
	int in; /* borrowed, becomes stdin, unless @input is not empty */
	struct slice input; /* becomes stdin */
	/* Without the configuration of the user and of the system: for a
	 * repository of ours. */
	bool alone;
	/* May fetch from a repository that is a path; else from none. */
	bool from_path;
	bool raw; /* stdout may have NULs; else one is -EBADMSG */
	/* Variables of git's that it gets, NAME=VALUE, ended by NULL; NULL:
	 * none. */
	const char *const *env;
	unsigned timeout_ms; /* 0: no limit */
	size_t out_max; /* bytes that are kept of stdout; more are -EFBIG */
	/* Called a few times a second; NULL: never. */
	void (*tick)(void *arg);
	void *arg;
};

struct git_said {
	int code; /* exit code, or 128 + signal */
	char *out; /* stdout, with a NUL after it; the caller frees it */
	size_t out_len;
	char errors[GIT_ERRORS_MAX + 1]; /* as git wrote it */
};

/*
 * Runs git to its end. Returns 0 whatever its exit code is; -ENOENT if git is not
 * installed; -EFBIG; -EBADMSG; -ETIMEDOUT; -EINTR if INT, TERM or HUP came, which
 * are caught meanwhile (unless ignored), so that the caller can clean up: git is
 * ended then; another negative errno with @err. ret->out is set on success only.
 */
int git_run(const struct git_call *call, struct git_said *ret, struct err *err);

/* Writes the option of index-pack that makes it check objects as git fsck does,
 * with our list of what is an error. Returns 0, or -ENAMETOOLONG. */
#define GIT_STRICT_MAX 1024u
int git_strict_option(char *out, size_t size);

/* Writes the line of @said that says what failed to @out, escaped: "" if there is
 * none. Returns @out. */
char *git_why(const struct git_said *said, char *out, size_t size);

/* Returns the signal because of which git_run() returned -EINTR, else 0. */
int git_caught(void);

#endif
