/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git_fetch.h - brings commits from a sandbox into a repository of the user's
 *
 * In this order: git_fetch_open(), git_fetch_list(), git_fetch_pack() if a pack
 * is wanted, git_fetch_end(), and git_fetch_done() in any case.
 *
 * Each fails with -ENOENT without git, -EINTR after a signal (git_run.h), or another
 * negative errno, with @err.
 */
#ifndef CONTROL_CLI_CORE_GIT_FETCH_H
#define CONTROL_CLI_CORE_GIT_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "control/cli/core/fetch_list.h"
#include "lib/buf.h"
#include "lib/err.h"

#define GIT_FETCH_NAMESPACE "refs/remotes/ac/"

/* A reference of the user's that changes. */
struct git_fetched {
	char name[FETCH_REF_NAME_MAX + 1]; /* below ac/INSTANCE/ */
	char old[FETCH_OID_MAX + 1]; /* "": it is new */
	char new[FETCH_OID_MAX + 1];
	uint64_t commits; /* that no reference of the user's had */
	bool rewritten; /* @old is not among its ancestors */
};

struct git_fetch {
	/* Of the caller, all borrowed. */
	int dir; /* the user's directory */
	const char *name; /* of the instance */
	const char *temp; /* an empty directory of ours, absolute */
	uint64_t max; /* bytes of the pack */
	void (*tick)(void *arg); /* called a few times a second; may be NULL */
	void *arg;
	/* Set by git_fetch_open(). */
	char *objects; /* directory of the user's objects */
	char *shallow; /* content of its file "shallow", NULL: none */
	bool sha256;
	/* Set by git_fetch_list(). */
	struct fetch_list list; /* without what the user has already */
	char *text; /* which @list views */
	struct buf wanted; /* stdin of pack-objects in the sandbox; empty: the
			    * user has all objects */
	/* Set by git_fetch_end(). */
	struct git_fetched *changed;
	size_t n_changed;
	int store; /* our repository, -1: not made yet */
};

#define GIT_FETCH_INIT      \
	{                   \
		.store = -1 \
	}

/* Looks at the user's repository. With @exact, it must be that of the directory
 * itself and not of one above. Fails with -ENOTDIR if there is none. */
int git_fetch_open(struct git_fetch *f, bool exact, struct err *err);

/* Takes the list that a script in the sandbox printed. Fails with -EBADMSG if it
 * is no list, -E2BIG for too many branches, -ENODATA if there is no commit. */
int git_fetch_list(struct git_fetch *f, struct slice text, struct err *err);

/* Checks every object of the pack in the file @fd and keeps them in a repository
 * of ours. Fails with -EBADMSG if the pack is refused. */
int git_fetch_pack(struct git_fetch *f, int fd, struct err *err);

/* Finds out what changes, and unless @dry changes it. */
int git_fetch_end(struct git_fetch *f, bool dry, struct err *err);

void git_fetch_done(struct git_fetch *f); /* leaves @temp to the caller */

#endif
