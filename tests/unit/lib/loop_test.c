/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_test.c - order, removal in the middle of a round, signals
 */
#include "lib/loop.h"

#include <fcntl.h>
#include <sys/socket.h>

#include "tests/unit/tap.h"

enum { PAIRS = 8, TIMERS = 200 };

struct bench {
	struct loop *l;
	struct loop_io *io[PAIRS];
	struct loop_timer *timer[TIMERS];
	int fd[PAIRS][2];
	int calls, order_bad;
	uint64_t last;
	uint32_t events;
	int signals[65];
};

static void stop(void *arg)
{
	struct bench *b = arg;

	loop_stop(b->l, 42);
}

/* Runs the loop for @ms, by a timer of its own. */
static int run_for(struct bench *b, uint64_t ms)
{
	struct loop_timer *t = loop_timer_new(b->l, stop, b);
	int rc;

	loop_timer_set(t, ms);
	rc = loop_run(b->l);
	loop_timer_free(t);
	return rc;
}

static int bench_open(struct bench *b)
{
	*b = (struct bench){ .l = loop_new() };
	if (!b->l)
		return -1;
	for (int i = 0; i < PAIRS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
			       b->fd[i]) < 0)
			return -1;
	}
	return 0;
}

static void bench_close(struct bench *b)
{
	loop_free(b->l);
	for (int i = 0; i < PAIRS; i++) {
		close(b->fd[i][0]);
		close(b->fd[i][1]);
	}
}

static void on_read(void *arg, uint32_t events)
{
	struct bench *b = arg;
	char byte;

	b->calls++;
	b->events = events;
	if (read(b->fd[0][0], &byte, 1) != 1)
		loop_stop(b->l, 7);
}

static void test_io(void)
{
	struct bench b;

	if (!ok(bench_open(&b) == 0, "open"))
		return;
	b.io[0] = loop_add(b.l, b.fd[0][0], EPOLLIN, on_read, &b);
	ok(b.io[0] != NULL, "add");
	ok(!loop_add(b.l, b.fd[0][0], EPOLLIN, on_read, &b) && errno == EEXIST,
	   "not twice");
	ok(!loop_add(b.l, -1, EPOLLIN, on_read, &b) && errno == EBADF,
	   "no descriptor");
	ok(write(b.fd[0][1], "abc", 3) == 3, "three bytes");
	is_int(run_for(&b, 20), 42, "run: the code of the stop");
	is_int(b.calls, 3, "three calls: level-triggered");
	ok(loop_mod(b.io[0], EPOLLIN | EPOLLOUT) == 0 &&
		   write(b.fd[0][1], "a", 1) == 1,
	   "ask for more");
	loop_stop(b.l, 5);
	is_int(loop_run(b.l), 5, "stopped before it runs");
	is_int(b.calls, 3, "nothing was called");
	loop_mod(b.io[0], 0);
	close(b.fd[0][1]);
	b.fd[0][1] = -1;
	is_int(run_for(&b, 20), 42, "paused");
	is_int(b.calls, 3, "not even a hang-up");
	is_int(loop_mod(b.io[0], EPOLLIN), 0, "resume");
	is_int(run_for(&b, 1000), 7, "run to the end of file");
	ok(b.calls == 5 && b.events & EPOLLHUP, "the byte and the hang-up");
	loop_del(b.io[0]);
	loop_del(NULL);
	bench_close(&b);
}

/* The first to be called removes all, itself included. */
static void on_remove_all(void *arg, uint32_t events)
{
	struct bench *b = arg;

	(void)events;
	b->calls++;
	for (int i = 0; i < PAIRS; i++) {
		loop_del(b->io[i]);
		loop_del(b->io[i]); /* twice in one round is harmless */
		if (loop_mod(b->io[i], EPOLLIN) != -EBADF)
			b->order_bad++;
	}
}

static void on_pause_others(void *arg, uint32_t events)
{
	struct bench *b = arg;

	(void)events;
	b->calls++;
	for (int i = 0; i < PAIRS; i++)
		loop_mod(b->io[i], 0);
}

static void test_round(void)
{
	static const loop_io_fn fns[] = { on_remove_all, on_pause_others };

	for (size_t f = 0; f < ARRAY_SIZE(fns); f++) {
		struct bench b;

		if (!ok(bench_open(&b) == 0, "open"))
			return;
		for (int i = 0; i < PAIRS; i++) {
			b.io[i] =
				loop_add(b.l, b.fd[i][0], EPOLLIN, fns[f], &b);
			if (write(b.fd[i][1], "x", 1) != 1 || !b.io[i])
				b.order_bad++;
		}
		run_for(&b, 20);
		is_int(b.calls, 1, "one call, none after removal or pause");
		is_int(b.order_bad, 0, "removed means removed");
		bench_close(&b);
	}
}

static void on_reuse(void *arg, uint32_t events)
{
	struct bench *b = arg;
	int fd = b->fd[1][0];

	/* The same number, another file: old events must not reach it. */
	(void)events;
	b->calls++;
	loop_del(b->io[0]);
	loop_del(b->io[1]);
	b->io[0] = b->io[1] = NULL;
	if (dup2(b->fd[2][0], fd) != fd)
		b->order_bad++;
	b->io[1] = loop_add(b->l, fd, EPOLLIN, on_reuse, b);
}

static void test_reuse(void)
{
	struct bench b;

	if (!ok(bench_open(&b) == 0, "open"))
		return;
	for (int i = 0; i < 2; i++) {
		b.io[i] = loop_add(b.l, b.fd[i][0], EPOLLIN, on_reuse, &b);
		if (write(b.fd[i][1], "x", 1) != 1)
			b.order_bad++;
	}
	run_for(&b, 20);
	ok(b.calls == 1 && b.order_bad == 0 && b.io[1],
	   "a reused descriptor gets no old event");
	bench_close(&b);
}

/* @set and @was_set are the times before and after it was set, in ns: between
 * them lies what the loop counts from. */
struct timed {
	struct bench *b;
	uint64_t due; /* ms */
	uint64_t set, was_set;
};

static void on_timer(void *arg)
{
	struct timed *t = arg;

	t->b->calls++;
	/* It is late if it had to come before one that came already. */
	if (t->was_set + t->due * 1000000 + 1000000 < t->b->last ||
	    clock_ns() - t->set < t->due * 1000000)
		t->b->order_bad++;
	if (t->set + t->due * 1000000 > t->b->last)
		t->b->last = t->set + t->due * 1000000;
}

static void test_timers(void)
{
	struct timed timed[TIMERS];
	struct bench b;
	uint32_t rnd = 7;
	int cleared = 0;

	if (!ok(bench_open(&b) == 0, "open"))
		return;
	for (int i = 0; i < TIMERS; i++) {
		rnd = rnd * 1103515245 + 12345;
		timed[i] = (struct timed){
			.b = &b,
			.due = (rnd >> 16) % 40,
			.set = clock_ns(),
		};
		b.timer[i] = loop_timer_new(b.l, on_timer, &timed[i]);
		loop_timer_set(b.timer[i], 1000);
		loop_timer_set(b.timer[i], timed[i].due);
		timed[i].was_set = clock_ns();
	}
	for (int i = 0; i < TIMERS; i += 3) {
		loop_timer_clear(b.timer[i]);
		loop_timer_clear(b.timer[i]);
		cleared++;
	}
	loop_timer_free(b.timer[1]);
	loop_timer_free(NULL);
	cleared++;
	run_for(&b, 100);
	is_int(b.calls, TIMERS - cleared, "each timer once");
	ok(b.order_bad <= 1, "in order, none early (%d)", b.order_bad);
	is_int(run_for(&b, 10), 42, "none again");
	is_int(b.calls, TIMERS - cleared, "one-shot");
	loop_timer_set(b.timer[2], UINT64_MAX);
	loop_timer_set(b.timer[3], UINT64_MAX / 1000000);
	is_int(run_for(&b, 10), 42, "for ever is not now");
	is_int(b.calls, TIMERS - cleared, "no overflow");
	bench_close(&b);
}

static void on_again(void *arg)
{
	struct bench *b = arg;

	if (++b->calls < 1000)
		loop_timer_set(b->timer[0], 0);
	else
		loop_stop(b->l, b->calls);
}

static void on_drain(void *arg, uint32_t events)
{
	struct bench *b = arg;

	(void)events;
	b->last++;
	loop_del(b->io[0]);
}

static void on_free_both(void *arg)
{
	struct bench *b = arg;

	b->calls++;
	loop_timer_free(b->timer[0]);
	loop_timer_free(b->timer[1]);
}

static void test_timer_round(void)
{
	struct bench b;

	if (!ok(bench_open(&b) == 0, "open"))
		return;
	b.timer[0] = loop_timer_new(b.l, on_again, &b);
	loop_timer_set(b.timer[0], 0);
	ok(write(b.fd[0][1], "x", 1) == 1, "a byte");
	b.io[0] = loop_add(b.l, b.fd[0][0], EPOLLIN, on_drain, &b);
	is_int(loop_run(b.l), 1000, "a timer that arms itself");
	is_int(b.last, 1, "lets others in");
	loop_timer_free(b.timer[0]);
	b.calls = 0;
	b.timer[0] = loop_timer_new(b.l, on_free_both, &b);
	b.timer[1] = loop_timer_new(b.l, on_free_both, &b);
	loop_timer_set(b.timer[0], 1);
	loop_timer_set(b.timer[1], 1);
	run_for(&b, 20);
	is_int(b.calls, 1, "a freed timer is not called");
	bench_close(&b);
}

static void on_signal(void *arg, int signo)
{
	struct bench *b = arg;

	b->calls++;
	b->signals[signo]++;
	if (signo == SIGTERM)
		loop_stop(b->l, 15);
}

static void test_signals(void)
{
	struct bench b;
	sigset_t set;

	if (!ok(bench_open(&b) == 0, "open"))
		return;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	is_int(loop_signals(b.l, &set, on_signal, &b), 0, "signals");
	is_int(loop_signals(b.l, &set, on_signal, &b), -EBUSY, "only once");
	kill(getpid(), SIGUSR1);
	is_int(run_for(&b, 20), 42, "run");
	ok(b.calls == 1 && b.signals[SIGUSR1] == 1, "delivered");
	kill(getpid(), SIGTERM);
	is_int(loop_run(b.l), 15, "a signal that stops");
	bench_close(&b);
}

static void on_nested(void *arg)
{
	struct bench *b = arg;

	b->calls = loop_run(b->l);
	loop_stop(b->l, 1);
}

static void test_misuse(void)
{
	struct bench b;

	if (!ok(bench_open(&b) == 0, "open"))
		return;
	b.timer[0] = loop_timer_new(b.l, on_nested, &b);
	loop_timer_set(b.timer[0], 0);
	is_int(loop_run(b.l), 1, "run");
	is_int(b.calls, -EBUSY, "not inside itself");
	ok(clock_ms() / 1000 - clock_ns() / 1000000000 <= 1, "one clock");
	bench_close(&b);
	loop_free(NULL);
}

int main(void)
{
	test_io();
	test_round();
	test_reuse();
	test_timers();
	test_timer_round();
	test_signals();
	test_misuse();
	return done_testing();
}
