/* SPDX-License-Identifier: Apache-2.0 */
/*
 * round.h - a worker without a thread: the test runs its rounds
 *
 * Stands in for worker.c, with the real timer wheel. The order of a round is
 * the contract's: events, timers, deferred functions, turns, then what was to be
 * freed later. A test program includes it once.
 */
#ifndef TESTS_UNIT_OTTERGATE_ROUND_H
#define TESTS_UNIT_OTTERGATE_ROUND_H

#include "lib/loop.h"
#include "ottergate/conn/share.h"
#include "ottergate/conn/worker.h"
#include "tests/unit/tap.h"

#define ROUND_MAX 4096

static struct {
	struct {
		void (*fn)(struct worker *w, void *arg);
		void *arg;
	} defer[ROUND_MAX];
	void *later[ROUND_MAX];
	size_t n_defer, n_later;
	unsigned watched; /* calls of worker_watch() */
	/* The worker's time is the test's own: each wait in which nothing
	 * happens moves it on by @step_ms, and nothing else does. */
	bool own_time;
	unsigned step_ms;
} rounds;

int worker_watch(struct worker *w, struct ev *ev)
{
	struct epoll_event e = {
		.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
		.data.ptr = ev,
	};

	rounds.watched++;
	return epoll_ctl(w->epfd, EPOLL_CTL_ADD, ev->fd, &e) < 0 ? -errno : 0;
}

void worker_free_later(struct worker *w, void *mem)
{
	(void)w;
	if (rounds.n_later == ROUND_MAX)
		abort();
	rounds.later[rounds.n_later++] = mem;
}

void worker_defer(struct worker *w, void (*fn)(struct worker *w, void *arg),
		  void *arg)
{
	(void)w;
	if (rounds.n_defer == ROUND_MAX)
		abort();
	rounds.defer[rounds.n_defer].fn = fn;
	rounds.defer[rounds.n_defer++].arg = arg;
}

uint64_t worker_realtime(struct worker *w)
{
	return 1700000000000u + w->now_ms;
}

static inline void round_init(struct worker *w, const struct worker_opts *opts)
{
	*w = (struct worker){ .opts = opts, .now_ms = clock_ms() };
	w->epfd = epoll_create1(EPOLL_CLOEXEC);
	w->shares = shares_new(NULL);
	wheel_init(&w->wheel, w->now_ms);
}

/* Functions that are deferred meanwhile run in this round as well. */
static inline void round_end(struct worker *w)
{
	for (size_t i = 0; i < rounds.n_defer; i++)
		rounds.defer[i].fn(w, rounds.defer[i].arg);
	rounds.n_defer = 0;
	while (shares_wait(w->shares))
		shares_run(w->shares, w);
	for (size_t i = 0; i < rounds.n_later; i++)
		free(rounds.later[i]);
	rounds.n_later = 0;
}

/* One round, of at most @ms of waiting. */
static inline void round_run(struct worker *w, int ms)
{
	struct epoll_event e[64];
	int wait = rounds.own_time ? ms : wheel_wait(&w->wheel, clock_ms());
	int n;

	if (rounds.n_defer)
		wait = 0;
	if (wait < 0 || wait > ms)
		wait = ms;
	n = epoll_wait(w->epfd, e, 64, wait);
	if (!rounds.own_time)
		w->now_ms = clock_ms();
	else if (n == 0 && wait > 0)
		w->now_ms += rounds.step_ms;
	w->round++;
	for (int i = 0; i < n; i++) {
		struct ev *ev = e[i].data.ptr;

		if (ev->fd >= 0)
			ev->fn(w, ev, e[i].events);
	}
	wheel_run(&w->wheel, w->now_ms);
	round_end(w);
}

/* Rounds until @done is set, at most @ms. */
static inline bool round_until(struct worker *w, const bool *done, uint64_t ms)
{
	uint64_t end = clock_ms() + ms;

	while (!*done && clock_ms() < end)
		round_run(w, rounds.own_time ? 10 : 20);
	return *done;
}

static inline void round_done(struct worker *w)
{
	round_end(w);
	shares_free(w->shares);
	fd_closep(&w->epfd);
}

#endif
