/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share.c - shares a worker's processor time among sandboxes
 *
 * Theory of operation
 *
 * Whatever a sandbox sends, it gets no more than its share of a worker while
 * others need theirs. Its connections are tasks in a queue of its own, and the
 * queues are served by deficit round robin, with the two lists of fq_codel (RFC
 * 8290 §4.1): a sandbox that had nothing to do is served before those that
 * always have, once for each time that it empties its queue. So a small request
 * waits for the current turn, not for everything that is queued. If no other
 * has work, one sandbox has the whole worker.
 *
 * The protocols limit the work of a turn: a number of steps (RELAY_STEPS,
 * ROUNDS_MAX), which give a parser at most 4 KiB (SLICE) at a time. A parser
 * that has much to do with few bytes calls shares_spent() between two slices.
 * What cannot be divided (the arithmetic of a handshake) becomes a debt: a
 * sandbox in debt waits for as many rounds of the others as it takes to pay.
 *
 * Time is measured by the cheapest clock (vDSO). It includes time in which the
 * thread did not run, which an interrupted turn must not pay for: a turn longer
 * than SHARE_LONG_NS is measured by the thread's CPU clock. That is a system
 * call of a microsecond or two, so it is read for such turns and once in
 * SHARE_READ_NS of others, never for each.
 *
 * What a sandbox uses is summed up in its struct agent, over all workers. A
 * worker that gives it the next quantum subtracts what others have given it
 * meanwhile, at most three quarters: a sandbox that fills one core has no claim
 * to half of the next one too, but none of its connections stalls because the
 * kernel hashed it to a busy worker.
 */
#include "ottergate/conn/share.h"

#include <stdlib.h>
#include <time.h>

#include "ottergate/conn/table.h"

#define BUCKETS 256u
#define FOREIGN_MAX (SHARE_QUANTUM_NS / 4 * 3)

struct share {
	struct share *next; /* next in the bucket */
	struct share *behind; /* next in its list */
	struct agent *agent; /* a reference; NULL: the common share */
	struct task *head, **tail;
	int64_t credit; /* ns; negative: a debt */
	uint64_t seen; /* agent->cpu_ns at the last quantum */
	uint64_t own; /* this worker's part since then */
	unsigned users; /* tasks */
	bool listed;
};

struct share_list {
	struct share *head, **tail;
};

struct shares {
	struct share *bucket[BUCKETS];
	struct share common;
	struct share_list fresh, old;
	struct share_clocks clocks;
	uint64_t turn_ends; /* wall; 0: no turn is running */
	uint64_t cpu; /* when it was read last */
	uint64_t unread; /* wall time charged since then */
};

/* --- clocks --------------------------------------------------------------- */

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t system_wall(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static uint64_t system_cpu(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* --- creation and removal
 * -------------------------------------------------- */

static void list_init(struct share_list *l)
{
	l->head = NULL;
	l->tail = &l->head;
}

static void list_append(struct share_list *l, struct share *s)
{
	s->behind = NULL;
	*l->tail = s;
	l->tail = &s->behind;
	s->listed = true;
}

static void list_shift(struct share_list *l)
{
	struct share *s = l->head;

	l->head = s->behind;
	if (!l->head)
		l->tail = &l->head;
	s->listed = false;
}

static void share_init(struct share *s, struct agent *a)
{
	*s = (struct share){ .agent = a, .credit = SHARE_QUANTUM_NS };
	s->tail = &s->head;
	if (a)
		s->seen =
			atomic_load_explicit(&a->cpu_ns, memory_order_relaxed);
}

struct shares *shares_new(const struct share_clocks *clocks)
{
	struct shares *ss = calloc(1, sizeof(*ss));

	if (!ss)
		return NULL;
	list_init(&ss->fresh);
	list_init(&ss->old);
	share_init(&ss->common, NULL);
	ss->clocks = clocks ? *clocks :
			      (struct share_clocks){ system_wall, system_cpu };
	return ss;
}

static void share_free(struct share *s)
{
	agent_unref(s->agent);
	free(s);
}

void shares_free(struct shares *ss)
{
	for (unsigned i = 0; ss && i < BUCKETS; i++) {
		struct share *s = ss->bucket[i], *next;

		for (; s; s = next) {
			next = s->next;
			share_free(s);
		}
	}
	free(ss);
}

static struct share **bucket_of(struct shares *ss, const struct agent *a)
{
	return &ss->bucket[(a->address.b[3] ^ a->address.b[2]) % BUCKETS];
}

static struct share *share_of(struct shares *ss, struct agent *a)
{
	struct share **bucket = bucket_of(ss, a), *s;

	for (s = *bucket; s; s = s->next)
		if (s->agent == a)
			return s;
	s = malloc(sizeof(*s));
	if (!s)
		return &ss->common;
	share_init(s, agent_ref(a));
	s->next = *bucket;
	*bucket = s;
	return s;
}

/* A share, with its debt, lives as long as its sandbox: closing all connections
 * and making others does not clear the debt. */
void shares_purge(struct shares *ss,
		  bool (*keep)(void *arg, const struct agent *a), void *arg)
{
	for (unsigned i = 0; i < BUCKETS; i++) {
		struct share **at = &ss->bucket[i];

		while (*at) {
			struct share *s = *at;

			if (s->listed || s->users > 0 || keep(arg, s->agent)) {
				at = &s->next;
				continue;
			}
			*at = s->next;
			share_free(s);
		}
	}
}

/* --- tasks ---------------------------------------------------------------- */

void task_init(struct shares *ss, struct task *t, struct agent *a,
	       void (*fn)(struct worker *w, struct task *t))
{
	*t = (struct task){ .share = a ? share_of(ss, a) : &ss->common,
			    .fn = fn };
	t->share->users++;
}

void task_queue(struct shares *ss, struct task *t)
{
	struct share *s = t->share;

	if (t->link)
		return;
	t->next = NULL;
	t->link = s->tail;
	*s->tail = t;
	s->tail = &t->next;
	if (s->listed)
		return;
	if (s->credit > 0)
		s->credit = SHARE_QUANTUM_NS;
	list_append(s->credit > 0 ? &ss->fresh : &ss->old, s);
}

static void task_unlink(struct task *t)
{
	*t->link = t->next;
	if (t->next)
		t->next->link = t->link;
	else
		t->share->tail = t->link;
	t->link = NULL;
}

void task_done(struct task *t)
{
	if (!t->share)
		return;
	if (t->link)
		task_unlink(t);
	t->share->users--;
	t->share = NULL;
}

bool shares_wait(const struct shares *ss)
{
	return ss->fresh.head || ss->old.head;
}

bool shares_spent(const struct shares *ss)
{
	return ss && ss->turn_ends && ss->clocks.wall() >= ss->turn_ends;
}

/* --- charging
 * --------------------------------------------------------------- */

/* Returns how much of @wall, the time of a turn that just ended, is charged. */
static uint64_t measure(struct shares *ss, uint64_t wall)
{
	uint64_t cpu, used;

	ss->unread += wall;
	if (wall < SHARE_LONG_NS && ss->unread < SHARE_READ_NS)
		return wall;
	cpu = ss->clocks.cpu();
	used = cpu - ss->cpu; /* of this turn and of those not measured */
	used -= used < ss->unread - wall ? used : ss->unread - wall;
	ss->cpu = cpu;
	ss->unread = 0;
	return wall >= SHARE_LONG_NS && used < wall ? used : wall;
}

static void pay(struct share *s, uint64_t ns)
{
	s->credit -= (int64_t)ns;
	if (s->credit < -SHARE_DEBT_NS)
		s->credit = -SHARE_DEBT_NS;
	if (!s->agent)
		return;
	s->own += ns;
	atomic_fetch_add_explicit(&s->agent->cpu_ns, ns, memory_order_relaxed);
}

/* Adds the next quantum, less what other workers have given meanwhile. */
static void refill(struct share *s)
{
	uint64_t sum, foreign;

	s->credit += SHARE_QUANTUM_NS;
	if (!s->agent)
		return;
	sum = atomic_load_explicit(&s->agent->cpu_ns, memory_order_relaxed);
	foreign = sum - s->seen - s->own;
	s->credit -= (int64_t)(foreign < FOREIGN_MAX ? foreign : FOREIGN_MAX);
	s->seen = sum;
	s->own = 0;
}

void share_bill_begin(const struct shares *ss, struct share_bill *b)
{
	b->began = ss->clocks.wall();
	b->n = 0;
}

void share_bill_add(struct share_bill *b, struct agent *a)
{
	if (b->n < SHARE_BILL_MAX)
		b->who[b->n++] = a;
}

void share_bill_end(struct shares *ss, const struct share_bill *b)
{
	uint64_t each;
	unsigned run = 0;

	if (b->n == 0)
		return;
	each = measure(ss, ss->clocks.wall() - b->began) / b->n;
	for (unsigned i = 0; i < b->n; i++) {
		run++;
		if (i + 1 < b->n && b->who[i + 1] == b->who[i])
			continue;
		if (b->who[i])
			pay(share_of(ss, b->who[i]), each * run);
		run = 0;
	}
}

/* --- turns ---------------------------------------------------------------- */

/* Returns the share whose turn is next, the first of its list; NULL if none has
 * work. */
static struct share *next_share(struct shares *ss)
{
	for (;;) {
		bool fresh = ss->fresh.head != NULL;
		struct share_list *l = fresh ? &ss->fresh : &ss->old;
		struct share *s = l->head;

		if (!s)
			return NULL;
		if (s->head && s->credit > 0)
			return s;
		list_shift(l);
		if (s->credit <= 0)
			refill(s);
		/* A share that was served first and is done waits for one pass
		 * of the others before it can be first again. */
		if (s->head || (fresh && ss->old.head))
			list_append(&ss->old, s);
	}
}

static void serve(struct shares *ss, struct share *s, struct worker *w,
		  uint64_t *now)
{
	uint64_t began = *now;

	ss->turn_ends = began + (uint64_t)s->credit;
	do {
		struct task *t = s->head;

		task_unlink(t);
		t->fn(w, t);
		*now = ss->clocks.wall();
	} while (s->head && *now < ss->turn_ends);
	ss->turn_ends = 0;
	pay(s, measure(ss, *now - began));
}

void shares_run(struct shares *ss, struct worker *w)
{
	struct share *s = next_share(ss);
	uint64_t now, end;

	if (!s)
		return;
	now = ss->clocks.wall();
	end = now + SHARE_ROUND_NS;
	for (; s && now < end; s = next_share(ss))
		serve(ss, s, w, &now);
}
