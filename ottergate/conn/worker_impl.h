/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker_impl.h - shared by worker.c, workers.c and the connections
 */
#ifndef OTTERGATE_CONN_WORKER_IMPL_H
#define OTTERGATE_CONN_WORKER_IMPL_H

#include <pthread.h>
#include <semaphore.h>

#include "lib/buf.h"
#include "ottergate/conn/worker.h"

#define WORKER_EVENTS 256u /* of one epoll_wait() */
#define WORKER_SWEEP 256u /* connections handled in one round */
#define WORKER_ACCEPTS 64u /* of one listener in one round, at most */
#define WORKER_ACCEPT_REST_MS 100u /* pause without descriptors */
#define WORKER_QUIET 256u /* places to remember recently audited sources */
#define WORKER_QUIET_MS 1000u

struct relay_pipe;

/* An order of the control thread; one at a time. */
enum mail_kind { MAIL_NONE, MAIL_SWAP, MAIL_LIST, MAIL_STOP };
struct mail {
	enum mail_kind kind;
	struct table *table; /* SWAP: a reference, the worker's */
	const char *agent; /* LIST */
	struct buf out; /* LIST: u32 length and JSON, for each */
	uint64_t left_out; /* LIST: those that had no room there */
	sem_t done;
};

struct deferred {
	void (*fn)(struct worker *w, void *arg);
	void *arg;
};
struct deferred_list {
	struct deferred *v;
	size_t n, cap;
};

struct free_item {
	struct free_item *next;
};

struct listener_slot {
	struct listener listener; /* first: its handler casts back */
	struct worker *worker;
	struct wheel_timer rest; /* runs while there are no descriptors */
	uint8_t burst; /* connections to accept in one round */
	uint8_t full_rounds; /* consecutive rounds that accepted as many */
};

/* A recently audited source; another one in the same place replaces it. */
struct quiet {
	struct addr source;
	uint64_t until_ms;
};

struct worker_impl {
	pthread_t thread;
	bool running; /* the thread was started */
	bool stop;
	struct ev mailbox; /* eventfd */
	struct mail mail;
	/* MAIL_SWAP and MAIL_LIST walk the list in slices; a connection that
	 * ends advances this. */
	struct conn *sweep;
	struct deferred_list deferred, running_deferred;
	struct free_item *frees, *old_frees;
	uint64_t realtime_ms; /* 0: not read in this round */
	uint64_t max_conns;
	int reserve; /* a descriptor to use when there are no more */
	struct quiet quiet[WORKER_QUIET]; /* for audits of floods, by source */
	uint64_t quiet_unknown_until;
	uint8_t *copy; /* copy_size bytes; all relays copy through it */
	size_t copy_size;
	struct relay_pipe *pipes; /* the idle ones */
	unsigned n_pipes, n_idle_pipes; /* all, and the idle ones */
	struct listener_slot *listeners;
	size_t n_listeners;
};

/* A sandbox at its limit may connect a hundred thousand times a second: one
 * line a second suffices, as the counter has the total. Returns true if a line
 * may be written now. */
static inline bool worker_may_tell(struct worker *w, const struct addr *source)
{
	unsigned h = source->b[3] ^ source->b[2];
	struct quiet *q = &w->impl->quiet[h % WORKER_QUIET];

	if (w->now_ms < q->until_ms && addr_eq(&q->source, source))
		return false;
	q->source = *source;
	q->until_ms = w->now_ms + WORKER_QUIET_MS;
	return true;
}

/* Returns true if @p has expired. Reads the clock only if @p has an end. */
static inline bool worker_expired(struct worker *w,
				  const struct agent_policy *p)
{
	return agent_policy_expires(p) &&
	       agent_policy_left(p, worker_realtime(w), w->now_ms) == 0;
}

/* Counts a denial, for the gateway and for @a (NULL: no sandbox). */
static inline void worker_count_denial(struct worker *w, struct agent *a)
{
	worker_count(w, COUNTER_DENIED, 1);
	if (a)
		atomic_fetch_add_explicit(&a->usage.denied, 1,
					  memory_order_relaxed);
}

/* worker.c */
/* Initialises a worker; worker_done() must follow even after a failure. Returns
 * 0, or a negative errno with @err. */
int worker_init(struct worker *w, const struct workers_opts *opts,
		unsigned index, unsigned count, struct err *err);
/* Frees a worker whose thread has ended or was never started. */
void worker_done(struct worker *w);
/* Runs the thread of a worker (pthread_create()). */
void *worker_main(void *arg);

#endif
