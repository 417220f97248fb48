/* SPDX-License-Identifier: Apache-2.0 */
/*
 * applied.h - runs the steps of an apply, finishes one that was killed, and takes
 * the last one back
 *
 * All of them work on $AC_HOME/instances/NAME/apply, whose directory "last" has the
 * journal and the copies, and a file "done" when all steps were taken.
 */
#ifndef CONTROL_CLI_LAYER_APPLIED_H
#define CONTROL_CLI_LAYER_APPLIED_H

#include "control/cli/layer/steps.h"

struct applied {
	size_t done; /* steps that were taken now, or before */
	struct strv left; /* paths that the user has changed since */
};

void applied_done(struct applied *a); /* accepts zeroed */
#define SCOPED_APPLIED ATTR_CLEANUP(applied_done) struct applied

/*
 * Takes @steps, whose copies are in @stage, in the user's directory @root: makes
 * them the last apply, writes the journal, and goes. Returns 0. If a step fails,
 * those before are taken back; returns a negative errno with @err, which says so,
 * or what to do if that failed as well. The caller calls applied_done().
 */
int applied_run(struct stage *stage, int root, const struct steps *steps,
		struct applied *ret, struct err *err) ATTR_WUR;

/* Locks the directory @base against another apply. Returns a descriptor that holds
 * the lock, owned by the caller; -EWOULDBLOCK if another program has it; another
 * negative errno. */
int applied_lock(int base) ATTR_WUR;

/* Returns 1 if the last apply in the directory @base was not finished, 0 if it was
 * or there is none. */
int applied_is_pending(int base);

/* Opens the last apply and reads its journal. Returns its directory, which the
 * caller closes; -ENOENT if there is none; another negative errno. The caller calls
 * steps_done() in any case. */
int applied_open(int base, struct steps *ret, struct err *err) ATTR_WUR;
/* Takes the steps that were not taken. As applied_run(), but takes nothing
 * back. */
int applied_finish(int base, int root, const struct steps *steps, int last,
		   struct applied *ret, struct err *err) ATTR_WUR;
/* Takes back the steps that were taken. If nothing was left, there is no last apply
 * any more. Returns 0 or a negative errno with @err. */
int applied_undo(int base, int root, const struct steps *steps, int last,
		 struct applied *ret, struct err *err) ATTR_WUR;

#endif
