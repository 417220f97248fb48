/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.c - one epoll loop per daemon: descriptors, timers, signals
 *
 * Theory of operation
 *
 * A round waits for events, runs the callbacks of the descriptors, then
 * those of the timers that are due, then frees what was removed meanwhile.
 * Removing a source only marks it while a round is on, because the events
 * that epoll has already handed out still point to it.
 *
 * epoll reports EPOLLHUP and EPOLLERR whether asked for or not. A source
 * with no events wanted is therefore taken out of the epoll set: a paused
 * reader whose peer hangs up must not spin.
 *
 * Armed timers are in a binary heap, ordered by deadline and then by the
 * order of arming. The heap has a slot for every timer from its birth, so
 * arming cannot fail. A timer armed by a callback of the round waits for the
 * next one, even with no delay.
 */
#include "lib/loop.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>

#define LOOP_EVENTS 64
#define NS_PER_MS UINT64_C(1000000)
#define NOT_ARMED SIZE_MAX

struct loop_io {
	struct loop *loop;
	struct loop_io *prev, *next;
	loop_io_fn fn;
	void *arg;
	int fd;
	uint32_t events; /* 0: not in the epoll set */
	bool dead;
};

struct loop_timer {
	struct loop *loop;
	struct loop_timer *prev, *next;
	loop_timer_fn fn;
	void *arg;
	uint64_t deadline_ns, seq;
	size_t slot; /* in the heap, or NOT_ARMED */
};

struct loop {
	int epfd;
	struct loop_io *ios, *dead_ios;
	struct loop_timer *timers, *dead_timers;
	struct loop_timer **heap;
	size_t heap_len, heap_cap, timer_count;
	uint64_t seq; /* of the last arming */
	int signal_fd;
	loop_signal_fn signal_fn;
	void *signal_arg;
	bool running, stopped;
	int code;
};

uint64_t clock_ns(void)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 * NS_PER_MS + (uint64_t)now.tv_nsec;
}

uint64_t clock_ms(void)
{
	return clock_ns() / NS_PER_MS;
}

struct loop *loop_new(void)
{
	struct loop *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->signal_fd = -1;
	l->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epfd < 0) {
		ptr_freep(&l);
		return NULL;
	}
	return l;
}

static void loop_reap(struct loop *l)
{
	while (l->dead_ios) {
		struct loop_io *io = l->dead_ios;

		l->dead_ios = io->next;
		free(io);
	}
	while (l->dead_timers) {
		struct loop_timer *t = l->dead_timers;

		l->dead_timers = t->next;
		free(t);
	}
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	while (l->ios)
		loop_del(l->ios);
	while (l->timers)
		loop_timer_free(l->timers);
	loop_reap(l);
	fd_closep(&l->signal_fd);
	fd_closep(&l->epfd);
	free(l->heap);
	free(l);
}

int loop_mod(struct loop_io *io, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = io };
	int op = EPOLL_CTL_MOD;

	if (io->dead)
		return -EBADF;
	if (events == io->events)
		return 0;
	if (events == 0)
		op = EPOLL_CTL_DEL;
	else if (io->events == 0)
		op = EPOLL_CTL_ADD;
	if (epoll_ctl(io->loop->epfd, op, io->fd, &ev) < 0)
		return -errno;
	io->events = events;
	return 0;
}

struct loop_io *loop_add(struct loop *l, int fd, uint32_t events, loop_io_fn fn,
			 void *arg)
{
	struct loop_io *io = calloc(1, sizeof(*io));
	int rc;

	if (!io)
		return NULL;
	*io = (struct loop_io){ .loop = l, .fd = fd, .fn = fn, .arg = arg };
	rc = loop_mod(io, events);
	if (rc < 0) {
		free(io);
		errno = -rc;
		return NULL;
	}
	io->next = l->ios;
	if (io->next)
		io->next->prev = io;
	l->ios = io;
	return io;
}

void loop_del(struct loop_io *io)
{
	struct loop *l;

	if (!io || io->dead)
		return;
	loop_mod(io, 0);
	l = io->loop;
	if (io->prev)
		io->prev->next = io->next;
	else
		l->ios = io->next;
	if (io->next)
		io->next->prev = io->prev;
	io->dead = true;
	io->next = l->dead_ios;
	l->dead_ios = io;
	if (!l->running)
		loop_reap(l);
}

static bool timer_before(const struct loop_timer *a, const struct loop_timer *b)
{
	if (a->deadline_ns != b->deadline_ns)
		return a->deadline_ns < b->deadline_ns;
	return a->seq < b->seq;
}

static void heap_put(struct loop *l, size_t slot, struct loop_timer *t)
{
	l->heap[slot] = t;
	t->slot = slot;
}

/* Finds the place of @t at or above @slot. */
static void heap_up(struct loop *l, size_t slot, struct loop_timer *t)
{
	while (slot > 0) {
		size_t parent = (slot - 1) / 2;

		if (!timer_before(t, l->heap[parent]))
			break;
		heap_put(l, slot, l->heap[parent]);
		slot = parent;
	}
	heap_put(l, slot, t);
}

/* Finds the place of @t at or below @slot. */
static void heap_down(struct loop *l, size_t slot, struct loop_timer *t)
{
	for (;;) {
		size_t child = 2 * slot + 1;

		if (child >= l->heap_len)
			break;
		if (child + 1 < l->heap_len &&
		    timer_before(l->heap[child + 1], l->heap[child]))
			child++;
		if (!timer_before(l->heap[child], t))
			break;
		heap_put(l, slot, l->heap[child]);
		slot = child;
	}
	heap_put(l, slot, t);
}

void loop_timer_clear(struct loop_timer *t)
{
	struct loop *l = t->loop;
	size_t slot = t->slot;
	struct loop_timer *last;

	if (slot == NOT_ARMED)
		return;
	t->slot = NOT_ARMED;
	last = l->heap[--l->heap_len];
	if (last == t)
		return;
	if (slot > 0 && timer_before(last, l->heap[(slot - 1) / 2]))
		heap_up(l, slot, last);
	else
		heap_down(l, slot, last);
}

void loop_timer_set(struct loop_timer *t, uint64_t ms)
{
	struct loop *l = t->loop;
	uint64_t now = clock_ns();

	loop_timer_clear(t);
	if (ms > (UINT64_MAX - now) / NS_PER_MS)
		t->deadline_ns = UINT64_MAX;
	else
		t->deadline_ns = now + ms * NS_PER_MS;
	t->seq = ++l->seq;
	heap_up(l, l->heap_len++, t);
}

struct loop_timer *loop_timer_new(struct loop *l, loop_timer_fn fn, void *arg)
{
	struct loop_timer *t;

	if (l->timer_count == l->heap_cap) {
		size_t cap = l->heap_cap ? l->heap_cap * 2 : 16;
		struct loop_timer **heap;

		heap = reallocarray(l->heap, cap, sizeof(struct loop_timer *));
		if (!heap)
			return NULL;
		l->heap = heap;
		l->heap_cap = cap;
	}
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->loop = l;
	t->fn = fn;
	t->arg = arg;
	t->slot = NOT_ARMED;
	t->next = l->timers;
	if (t->next)
		t->next->prev = t;
	l->timers = t;
	l->timer_count++;
	return t;
}

void loop_timer_free(struct loop_timer *t)
{
	struct loop *l;

	if (!t)
		return;
	l = t->loop;
	loop_timer_clear(t);
	if (t->prev)
		t->prev->next = t->next;
	else
		l->timers = t->next;
	if (t->next)
		t->next->prev = t->prev;
	l->timer_count--;
	t->next = l->dead_timers;
	l->dead_timers = t;
	if (!l->running)
		loop_reap(l);
}

static void loop_on_signal(void *arg, uint32_t events)
{
	struct loop *l = arg;
	struct signalfd_siginfo info;

	/* Mostly there is but one; of more, the loop tells again. */
	(void)events;
	if (read(l->signal_fd, &info, sizeof(info)) == sizeof(info))
		l->signal_fn(l->signal_arg, (int)info.ssi_signo);
}

int loop_signals(struct loop *l, const sigset_t *set, loop_signal_fn fn,
		 void *arg)
{
	sigset_t old;
	int rc;

	if (l->signal_fd >= 0)
		return -EBUSY;
	/* Blocked first: none may take its default action in between. */
	if (sigprocmask(SIG_BLOCK, set, &old) < 0)
		return -errno;
	l->signal_fn = fn;
	l->signal_arg = arg;
	l->signal_fd = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (l->signal_fd >= 0 &&
	    loop_add(l, l->signal_fd, EPOLLIN, loop_on_signal, l))
		return 0;
	rc = -errno;
	fd_closep(&l->signal_fd);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return rc;
}

/* Milliseconds until the first timer, rounded up: never early. */
static int loop_timeout(const struct loop *l)
{
	uint64_t now, ms;

	if (l->heap_len == 0)
		return -1;
	now = clock_ns();
	if (l->heap[0]->deadline_ns <= now)
		return 0;
	ms = (l->heap[0]->deadline_ns - now - 1) / NS_PER_MS + 1;
	return ms < INT_MAX ? (int)ms : INT_MAX;
}

static void loop_run_ios(struct loop *l, const struct epoll_event *ev, int n)
{
	for (int i = 0; i < n && !l->stopped; i++) {
		struct loop_io *io = ev[i].data.ptr;
		uint32_t wanted = io->events | EPOLLHUP | EPOLLERR;

		/* An earlier callback may have removed or paused it. */
		if (!io->dead && io->events && (ev[i].events & wanted))
			io->fn(io->arg, ev[i].events & wanted);
	}
}

static void loop_run_timers(struct loop *l)
{
	uint64_t now = clock_ns(), last = l->seq;

	while (l->heap_len > 0 && !l->stopped) {
		struct loop_timer *t = l->heap[0];

		if (t->deadline_ns > now || t->seq > last)
			return;
		loop_timer_clear(t);
		t->fn(t->arg);
	}
}

int loop_run(struct loop *l)
{
	struct epoll_event ev[LOOP_EVENTS];

	if (l->running)
		return -EBUSY;
	l->running = true;
	while (!l->stopped) {
		int n = epoll_wait(l->epfd, ev, LOOP_EVENTS, loop_timeout(l));

		if (n < 0 && errno != EINTR) {
			l->code = -errno;
			break;
		}
		loop_run_ios(l, ev, n);
		loop_run_timers(l);
		loop_reap(l);
	}
	l->running = false;
	l->stopped = false;
	return l->code;
}

void loop_stop(struct loop *l, int code)
{
	l->stopped = true;
	l->code = code;
}
