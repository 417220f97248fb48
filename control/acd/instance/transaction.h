/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transaction.h - a run that brings options for its instance: all or nothing
 *
 * The options are in the record from the moment that the run is accepted. If no
 * run begins, acd puts back those from before, even if the client has gone:
 *
 *	refused before a start was tried, stopped       an old instance has its
 *	meanwhile, or its client gone                   old options; a new one
 *	                                                is gone
 *	the start was tried and failed                  as above, but a new one
 *	                                                stays, "failed", with the
 *	                                                reason and no options
 *
 * A policy that the user sets while the run waits for the end of the one before
 * is no option of the run: it stays.
 *
 * A run has begun when the record counts it (instance_record.runs). Nothing is
 * kept across requests: if acd refuses a client for what is missing, the client
 * provides that and asks for the same again.
 */
#ifndef CONTROL_ACD_INSTANCE_TRANSACTION_H
#define CONTROL_ACD_INSTANCE_TRANSACTION_H

#include <sys/types.h>

#include "control/acd/instance/instance.h"

struct transaction;

struct transaction_ask {
	struct instance *in; /* NULL: a new instance is made */
	/* The record with the options of the run; and, for a new instance, the
	 * one without. Both borrowed for the call. */
	const struct instance_record *record, *plain;
	/* The directory that the client has sent for it; ino 0: none. If
	 * another one waits, it is dropped. */
	dev_t workspace_dev;
	ino_t workspace_ino;
	bool mounts_sent; /* else descriptors for mounts that wait are dropped */
};

/* @in is the instance that runs, or NULL after a failure. */
typedef void (*transaction_fn)(void *arg, struct instance *in,
			       const struct err *err);

/*
 * Gives the instance its options and runs @o in it. Takes ownership of what @o
 * has, on failure too. Calls @fn once, as instance_run() does; after a failure
 * only when everything is as it was. Fails as instance_run(), and with -EEXIST
 * if the name differs from an existing one in case alone; then nothing has
 * changed, and @fn is not called. *ret is valid until @fn is called.
 */
int transaction_run(struct instances *is, const struct transaction_ask *ask,
		    struct run_options *o, transaction_fn fn, void *arg,
		    struct transaction **ret, struct err *err);

/* To be called when the client has gone: @fn will not be called. If the run has
 * not begun, it does not begin, and the options are put back; else it is
 * stopped. */
void transaction_cancel(struct transaction *t);

#endif
