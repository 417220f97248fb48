/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_sleep_test.c - a session whose sandbox gets another link meanwhile
 */
#include <unistd.h>

#include "control/acd/guest/links.h"
#include "tests/unit/control/acd/guest/session_world.h"

/* A link as gVisor leaves it when it ends. */
static void guest_ends(struct world *w)
{
	shutdown(w->fd, SHUT_RDWR);
	step_for(w->loop, 10);
}

/* What runsc_sleep.c does with both ends. */
static void guest_wakes(struct world *w)
{
	int ours = -1, theirs = -1;

	is_int(links_again(w->fd, &ours, &theirs), 0, "another link");
	shutdown(w->fd, SHUT_RDWR);
	close(w->fd);
	w->fd = theirs;
	fd_nonblock(w->fd, 1);
	session_wake(w->s, ours);
}

static void test_no_byte_lost(void)
{
	static const char half[] = "beginning and end";
	struct buf b = { .max = 4096 };
	struct world w;
	struct link_frame f;
	struct proc p = { 0 };
	uint8_t first[LINK_HEADER + 10];

	world_init(&w);
	guest_ready(&w);
	proc_open(&w, &p, LINK_EXEC_STDIN);
	guest_next(&w, LINK_EXEC, &f);
	guest_u32(&w, LINK_STARTED, 1, 5);
	step_for(w.loop, 10);

	is_int(channel_stdin(p.c, "one", 3), 0, "input that it does not read");
	/* It was stopped in the middle of a frame. */
	put(&b, link_put(&b, LINK_STDOUT, 1, half, 17));
	memcpy(first, buf_slice(&b).ptr, sizeof(first));
	is_int(send(w.fd, first, sizeof(first), 0), sizeof(first),
	       "half a frame comes");
	session_sleep(w.s);
	is_int(channel_stdin(p.c, "two", 3), 0, "input while it sleeps");
	guest_ends(&w);
	is_int(w.closed, 0, "the end of its link is not its end");
	is_int(channel_stdin(p.c, "three", 5), 0, "more input");
	guest_wakes(&w);
	ok(guest_next(&w, LINK_STDIN, &f) && f.payload.len == 3 &&
		   memcmp(f.payload.ptr, "one", 3) == 0,
	   "it reads what it had not read");
	ok(guest_next(&w, LINK_STDIN, &f) &&
		   memcmp(f.payload.ptr, "two", 3) == 0,
	   "then what came later,");
	ok(guest_next(&w, LINK_STDIN, &f) && f.payload.len == 5,
	   "in its order");
	is_int(send(w.fd, buf_slice(&b).ptr + sizeof(first),
		    buf_len(&b) - sizeof(first), 0),
	       (long long)(buf_len(&b) - sizeof(first)),
	       "it ends the frame that it was writing");
	STEP_UNTIL(w.loop, p.bytes == 17);
	is_int((long long)p.bytes, 17, "which arrives whole");
	guest_ends(&w);
	STEP_UNTIL(w.loop, w.closed);
	is_int(w.closed, 1, "now the end of the link is its end");
	buf_done(&b);
	world_done(&w);
}

/* Nothing came of it. */
static void test_not_slept(void)
{
	struct world w;
	struct link_frame f;
	struct proc p = { 0 };

	world_init(&w);
	guest_ready(&w);
	proc_open(&w, &p, LINK_EXEC_STDIN);
	guest_next(&w, LINK_EXEC, &f);
	session_sleep(w.s);
	channel_stdin(p.c, "x", 1);
	session_wake(w.s, -1);
	ok(guest_next(&w, LINK_STDIN, &f), "it goes on with the same link");
	guest_frame(&w, LINK_STDOUT, 1, "y", 1);
	STEP_UNTIL(w.loop, p.bytes == 1);
	is_int(w.closed, 0, "in both directions");
	session_wake(w.s, -1);
	is_int(w.closed, 0, "once more does no harm");
	world_done(&w);
}

/* It is written to the disk for longer than it has to answer in. */
static void test_slow(void)
{
	const struct session_limits l = { .sign_ms = 20, .pong_ms = 40 };
	struct world w;
	struct proc p = { 0 };

	world_init(&w);
	session_set_limits(w.s, &l);
	guest_ready(&w);
	proc_open(&w, &p, 0);
	session_sleep(w.s);
	step_for(w.loop, 150);
	is_int(w.closed, 0, "who is being saved is not asked for a sign");
	session_hold(w.s, true);
	session_hold(w.s, false);
	step_for(w.loop, 150);
	is_int(w.closed, 0, "nor who is about to go on");
	session_wake(w.s, -1);
	STEP_UNTIL(w.loop, w.closed);
	is_int(w.closed, 1, "but who has gone on");
	ok(strstr(w.why.msg, "does not answer"), "%s", w.why.msg);
	world_done(&w);
}

static void test_gone(bool hostile)
{
	struct world w;
	struct link_frame f;
	struct proc p = { 0 };

	world_init(&w);
	guest_ready(&w);
	proc_open(&w, &p, LINK_EXEC_STDIN);
	guest_next(&w, LINK_EXEC, &f);
	session_sleep(w.s);
	if (hostile)
		is_int(send(w.fd, "no frame at all, I fear", 23, 0), 23,
		       "junk");
	guest_ends(&w);
	is_int(w.closed, hostile, "closed at once only for what it sent");
	session_wake(w.s, -1);
	is_int(w.closed, hostile, "not inside of the call");
	STEP_UNTIL(w.loop, w.closed);
	is_int(w.closed, 1, "it does not go on: closed");
	is_int(p.exited, 1, "its channels as well");
	world_done(&w);
}

int main(void)
{
	test_no_byte_lost();
	test_not_slept();
	test_slow();
	test_gone(false);
	test_gone(true);
	return done_testing();
}
