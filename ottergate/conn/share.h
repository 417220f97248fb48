/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share.h - whose turn it is: the processor's time of a worker, by sandbox
 *
 * A handler of an event notes what came and queues a task. The worker runs
 * tasks by shares_run(), a bounded piece in each round. Everything here is one
 * worker's; struct agent has the one number that workers add to together.
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

#define SHARE_QUANTUM_NS 200000u /* of one sandbox, before the next one's */
#define SHARE_ROUND_NS 250000u /* of all, before the worker looks for events */
#define SHARE_LONG_NS 500000u /* a turn of this length may have been halted */
#define SHARE_READ_NS 1000000u /* of turns, for each look at the CPU clock */
#define SHARE_DEBT_NS 100000000 /* is all that a sandbox ever owes */

/* One connection, embedded in it. The share is its sandbox's. */
struct task {
	struct task *next, **link; /* link NULL: it is not queued */
	struct share *share;
	void (*fn)(struct worker *w, struct task *t);
};

struct share_clocks { /* nanoseconds that never go back */
	uint64_t (*wall)(void); /* cheap: asked after each task */
	uint64_t (*cpu)(void); /* of this thread */
};

/* @clocks NULL: the system's. NULL: out of memory. */
struct shares *shares_new(const struct share_clocks *clocks);
void shares_free(struct shares *ss); /* no task is left; NULL is fine */
/* Fills @t. @a NULL, or no memory: all of these have one share together. */
void task_init(struct shares *ss, struct task *t, struct agent *a,
	       void (*fn)(struct worker *w, struct task *t));
/* Calls t->fn(@w, @t) when it is its turn, never from within. Idempotent until
 * then; from within t->fn it is queued again, behind its sandbox's others. */
void task_queue(struct shares *ss, struct task *t);
/* @t is not called any more, and may be freed. Accepts zeroes. */
void task_done(struct task *t);
/* Is a task queued? Then the worker does not sleep. */
bool shares_wait(const struct shares *ss);
/* Runs tasks until none is queued or SHARE_ROUND_NS are over. */
void shares_run(struct shares *ss, struct worker *w);
/* Is the turn that is on over? For a task that can stop here and be queued
 * again. False outside of a turn, and for NULL. */
bool shares_spent(const struct shares *ss);
/* Frees what belongs to sandboxes that have no task and that @keep denies. */
void shares_purge(struct shares *ss,
		  bool (*keep)(void *arg, const struct agent *a), void *arg);

/* What is done for many sandboxes in one go (packets of DNS, accepts) is paid
 * for in equal parts. */
#define SHARE_BILL_MAX 256u
struct share_bill {
	uint64_t began;
	unsigned n;
	struct agent *who[SHARE_BILL_MAX]; /* of one item each; NULL: none */
};
void share_bill_begin(const struct shares *ss, struct share_bill *b);
void share_bill_add(struct share_bill *b, struct agent *a);
void share_bill_end(struct shares *ss, const struct share_bill *b);

#endif
