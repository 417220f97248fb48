/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share.h - shares a worker's processor time among sandboxes
 *
 * An event handler records what came and queues a task. The worker runs tasks
 * by shares_run(), for a limited time in each round. Everything here belongs to
 * one worker; only the sum in struct agent is common to all.
 */
#ifndef OTTERGATE_CONN_SHARE_H
#define OTTERGATE_CONN_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agent;
struct share;
struct shares;
struct worker;

/* Time of one sandbox, before the next one's turn. */
#define SHARE_QUANTUM_NS 200000u
#define SHARE_ROUND_NS 250000u /* of all, before the worker looks for events */
#define SHARE_LONG_NS 500000u /* a longer turn may have been interrupted */
/* Time of turns, between two reads of the CPU clock. */
#define SHARE_READ_NS 1000000u
#define SHARE_DEBT_NS 100000000 /* the most that a sandbox ever owes */

/* Something to do for a sandbox; embedded in a connection. */
struct task {
	struct task *next, **link; /* link NULL: not queued */
	struct share *share;
	void (*fn)(struct worker *w, struct task *t);
};

struct share_clocks { /* nanoseconds that never go back */
	uint64_t (*wall)(void); /* cheap: read after each task */
	uint64_t (*cpu)(void); /* of this thread */
};

/* Returns an empty set, owned by the caller; NULL when out of memory. @clocks
 * NULL: the system's; copied. */
struct shares *shares_new(const struct share_clocks *clocks);
/* Frees the set; no task may be left. NULL is fine. */
void shares_free(struct shares *ss);
/* Initialises @t for the sandbox @a; task_done() must end it before its memory
 * is freed. If @a is NULL or memory is short, it is in one common share. Cannot
 * fail. */
void task_init(struct shares *ss, struct task *t, struct agent *a,
	       void (*fn)(struct worker *w, struct task *t));
/* Queues @t: t->fn(@w, @t) is called when it is its turn, never from within. No
 * effect while it is queued; from within t->fn it is queued again, after its
 * sandbox's others. */
void task_queue(struct shares *ss, struct task *t);
/* Ends @t: it is not called any more and may be freed. Frees nothing itself.
 * Accepts zeroed and ended tasks. */
void task_done(struct task *t);
/* Returns true if a task is queued; the worker must not sleep then. */
bool shares_wait(const struct shares *ss);
/* Runs tasks until none is queued, or until after the turn in which
 * SHARE_ROUND_NS have passed. */
void shares_run(struct shares *ss, struct worker *w);
/* Returns true if the current turn is over, for a task that can stop here and
 * queue itself again. False outside of a turn, and for NULL. */
bool shares_spent(const struct shares *ss);
/* Frees the shares, with their debts, of sandboxes that have no task and for
 * which @keep returns false. */
void shares_purge(struct shares *ss,
		  bool (*keep)(void *arg, const struct agent *a), void *arg);

/* Charges work for many sandboxes at once (DNS packets, accepts) in equal
 * parts. */
#define SHARE_BILL_MAX 256u
struct share_bill {
	uint64_t began;
	unsigned n;
	/* The sandbox of each item, borrowed; NULL: no sandbox pays for it. */
	struct agent *who[SHARE_BILL_MAX];
};
/* Starts the clock. */
void share_bill_begin(const struct shares *ss, struct share_bill *b);
/* Adds an item of @a; ignored beyond SHARE_BILL_MAX. */
void share_bill_add(struct share_bill *b, struct agent *a);
/* Charges the time since share_bill_begin(); nothing if there is no item. */
void share_bill_end(struct shares *ss, const struct share_bill *b);

#endif
