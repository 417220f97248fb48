/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_test.c - the output of a program whose pipe somebody else has as well
 */
#include "init-guard/run/flow.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/file.h"
#include "tests/unit/tap.h"

static int on_frame(void *arg, const struct link_frame *f)
{
	(void)arg;
	(void)f;
	return 0;
}

static void on_nothing(void *arg)
{
	(void)arg;
}

static void on_lost(void *arg, int code)
{
	(void)arg;
	(void)code;
}

static void on_tick(void *arg)
{
	loop_stop(arg, 0);
}

static void loop_some(struct loop *l)
{
	struct loop_timer *t = loop_timer_new(l, on_tick, l);

	loop_timer_set(t, 20);
	loop_run(l);
	loop_timer_free(t);
}

static void on_progress(void *arg)
{
	++*(int *)arg;
}

/* A child that is between clone() and its exec has all our descriptors. */
static void test_held(void)
{
	static const struct wire_ops ops = { .frame = on_frame,
					     .drained = on_nothing,
					     .lost = on_lost };
	struct loop *l = loop_new();
	int calls = 0, fd[2], out[2], before;
	SCOPED_FD held = -1;
	struct flow flow = { .credit = 1000, .progress = on_progress };
	struct source s;
	struct wire w;
	uint8_t got[64];

	if (!l || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd) < 0 ||
	    wire_init(&w, l, fd[0], fd[0], &ops, NULL) < 0 ||
	    pipe2(out, O_CLOEXEC | O_NONBLOCK) < 0)
		abort();
	held = fcntl(out[0], F_DUPFD_CLOEXEC, 0);
	flow.wire = &w;
	flow.channel = 1;
	flow.arg = &calls;
	source_init(&s, &flow, LINK_STDOUT, out[0]);
	is_int(write(out[1], "x", 1), 1, "output");
	loop_some(l);
	is_int(read(fd[1], got, sizeof(got)), LINK_HEADER + 1, "is sent");
	close(out[1]);
	loop_some(l);
	ok(s.done && s.fd < 0, "it ends with its pipe");
	before = calls;
	loop_some(l);
	is_int(calls, before, "and is not heard of again");
	wire_done(&w);
	loop_free(l);
	close(fd[1]);
}

int main(void)
{
	test_held();
	return done_testing();
}
