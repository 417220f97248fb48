/* SPDX-License-Identifier: Apache-2.0 */
/*
 * approvals.h - which blueprints of projects the user has approved
 *
 * In the store, by directory: the hash of the resolved blueprint
 * (blueprint/project.h), and its text, so that a later change can be shown.
 */
#ifndef CONTROL_ACD_STORAGE_APPROVALS_H
#define CONTROL_ACD_STORAGE_APPROVALS_H

#include "control/acd/storage/store.h"

#define APPROVALS_MAX 1024u

/* Strings are owned by the holder. */
struct approval {
	char *dir; /* of the user's machine, absolute */
	char *blueprint; /* what it extends */
	char *hash, *resolved;
	int64_t approved_at; /* seconds since the epoch */
};

/* Frees the strings and zeroes @a. Accepts zeroed. */
void approval_done(struct approval *a);
/* Finds the approval of @dir. Returns 0, and the caller releases @ret; -ENOENT
 * without a text in @err if there is none; or another negative errno. */
int approval_find(struct store *s, const char *dir, struct approval *ret,
		  struct err *err);
/* Stores @a (borrowed) in place of one of the same directory. Fails with
 * -ENOSPC if there are APPROVALS_MAX, or another negative errno. */
int approval_put(struct store *s, const struct approval *a, struct err *err);
/* Removes the approval of @dir. Fails with -ENOENT if there is none. */
int approval_drop(struct store *s, const char *dir, struct err *err);
/* Calls @fn in order of directory with a borrowed approval. A negative result
 * of @fn ends the walk and is returned. */
int approvals_each(struct store *s,
		   int (*fn)(void *arg, const struct approval *a), void *arg,
		   struct err *err);

#endif
