/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_copy_test.c - a session that is written down, and another one of it
 */
#include "control/acd/guest/session_copy.h"

#include <string.h>
#include <unistd.h>

#include "tests/unit/control/acd/guest/session_world.h"

static const char half[] = "beginning and end";

/* The bytes that the guest has not read. */
static struct slice unread(const struct world *w, uint8_t *data, size_t size)
{
	ssize_t n = recv(w->fd, data, size, MSG_PEEK | MSG_DONTWAIT);

	return slice_of(data, n > 0 ? (size_t)n : 0);
}

/* What is sent from now on is for the first one alone. */
static void later(struct world *w, struct proc *main, struct proc *x)
{
	static struct proc third;

	channel_stdin(main->c, "two", 3);
	channel_stdin_eof(main->c);
	channel_signal(main->c, 9);
	channel_close(x->c);
	proc_open(w, &third, 0);
}

/* A guest with a main process and an exec, stopped in the middle of a frame,
 * with input that it has not read. Returns what is written down of it. */
static json_t *world_saved(struct world *w, struct proc *main, struct proc *x)
{
	uint8_t data[4096];
	struct buf b = { .max = 4096 };
	struct link_frame f;
	json_t *v;

	world_init(w);
	guest_ready(w);
	proc_open(w, main, LINK_EXEC_STDIN);
	guest_next(w, LINK_EXEC, &f);
	guest_u32(w, LINK_STARTED, 1, 5);
	proc_open(w, x, LINK_EXEC_STDIN);
	guest_next(w, LINK_EXEC, &f);
	step_for(w->loop, 10);
	channel_stdin(main->c, "one", 3);
	put(&b, link_put(&b, LINK_STDOUT, 1, half, 17));
	is_int(send(w->fd, buf_slice(&b).ptr, 12, 0), 12, "half a frame");
	session_sleep(w->s);
	later(w, main, x);
	session_drain(w->s);
	v = session_save(w->s, main->c, unread(w, data, sizeof(data)), NULL);
	ok(v, "it is written down");
	buf_done(&b);
	return v;
}

/* Makes another session of @v, whose guest is @ret's test. */
static void world_load(struct world *ret, struct proc *main, const json_t *v)
{
	const struct session_main m = { &chops, main, &main->c };
	int pair[2];

	*ret = (struct world){ .loop = loop_new(), .rx = { .max = 1 << 20 } };
	*main = (struct proc){ .w = ret };
	socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair);
	fd_nonblock(pair[0], 1);
	fd_nonblock(pair[1], 1);
	ret->fd = pair[1];
	ret->s = session_load(ret->loop, pair[0], v, &m, &ops, ret);
}

static void test_goes_on(void)
{
	struct world w, copy;
	struct proc main = { 0 }, x = { 0 }, its = { 0 }, more = { 0 };
	json_t *v = world_saved(&w, &main, &x);
	struct buf b = { .max = 4096 };
	struct link_frame f;

	world_load(&copy, &its, v);
	ok(copy.s && its.c, "another session is made of it");
	ok(guest_next(&copy, LINK_STDIN, &f) && f.channel == 1 &&
		   memcmp(f.payload.ptr, "one", 3) == 0,
	   "its guest reads what was not read");
	ok(guest_next(&copy, LINK_CLOSE, &f) && f.channel == 2,
	   "the exec, whose client is not here, is closed,");
	is_int((long long)channel_stdin_room(its.c), LINK_WINDOW - 3,
	       "what was sent later is not here");
	ok(guest_next(&copy, LINK_PING, &f), "it is asked for a sign of life");
	is_int(copy.readies, 0, "which has not come");
	guest_frame(&copy, LINK_PONG, 0, f.payload.ptr, f.payload.len);
	step_for(copy.loop, 20);
	is_int(copy.readies, 0, "behind half a frame it is none");
	world_done(&copy);

	world_load(&copy, &its, v);
	put(&b, link_put(&b, LINK_STDOUT, 1, half, 17));
	send(copy.fd, buf_slice(&b).ptr + 12, buf_len(&b) - 12, 0);
	STEP_UNTIL(copy.loop, its.bytes == 17);
	is_int((long long)its.bytes, 17, "a frame is ended where it was");
	guest_next(&copy, LINK_PING, &f);
	guest_frame(&copy, LINK_PONG, 0, f.payload.ptr, f.payload.len);
	STEP_UNTIL(copy.loop, copy.readies);
	is_int(copy.readies, 1, "the sign of life is its READY");
	is_int(session_is_ready(copy.s), true, "it takes commands");
	proc_open(&copy, &more, 0);
	ok(guest_next(&copy, LINK_EXEC, &f) && f.channel == 3,
	   "with numbers that were not used before");
	is_int(its.started, 0, "that it has started is not told twice");
	is_int(w.closed, 0, "the first one is as it was");
	buf_done(&b);
	world_done(&copy);
	world_done(&w);
	json_decref(v);
}

/* Its clients had not given back what they had been given. */
static void test_window(void)
{
	static const char block[LINK_PAYLOAD_MAX];
	struct world w, copy;
	struct proc main = { 0 }, its = { 0 };
	struct link_frame f;
	uint32_t credit = 0;
	json_t *v;

	world_init(&w);
	guest_ready(&w);
	proc_open(&w, &main, 0);
	guest_next(&w, LINK_EXEC, &f);
	guest_u32(&w, LINK_STARTED, 1, 5);
	for (unsigned i = 0; i < LINK_WINDOW / sizeof(block); i++)
		guest_frame(&w, LINK_STDOUT, 1, block, sizeof(block));
	STEP_UNTIL(w.loop, main.bytes == LINK_WINDOW);
	session_sleep(w.s);
	session_drain(w.s);
	v = session_save(w.s, main.c, (struct slice){ 0 }, NULL);
	ok(v, "one that is held is written down, with its window used up");
	world_load(&copy, &its, v);
	ok(guest_next(&copy, LINK_CREDIT, &f) && link_get_u32(&f, &credit) == 0,
	   "the guest of the other gets credit");
	is_int(credit, LINK_WINDOW, "for all of it");
	guest_frame(&copy, LINK_STDOUT, 1, block, sizeof(block));
	STEP_UNTIL(copy.loop, its.bytes > 0 || copy.closed);
	is_int((long long)its.bytes, sizeof(block), "and may write");
	world_done(&copy);
	world_done(&w);
	json_decref(v);
}

static void test_refused(void)
{
	struct err err = { 0 };
	struct link_frame f;
	struct world w;
	struct proc p = { 0 };

	world_init(&w);
	guest_ready(&w);
	proc_open(&w, &p, 0);
	guest_next(&w, LINK_EXEC, &f);
	ok(!session_save(w.s, p.c, (struct slice){ 0 }, &err) &&
		   err.code == -EAGAIN,
	   "one that is awake is not written down");
	session_sleep(w.s);
	guest_frame(&w, LINK_STDERR, 7, "x", 1);
	session_drain(w.s);
	ok(!session_save(w.s, p.c, (struct slice){ 0 }, &err) &&
		   err.code == -EIO,
	   "nor one whose guest has broken the rules");
	world_done(&w);
}

/* Replaces one member, of the session or of its first channel, and tries. */
static void refused(const json_t *v, const char *key, json_t *value, bool inner)
{
	json_t *bad = json_deep_copy(v);
	json_t *at =
		inner ? json_array_get(json_object_get(bad, "channels"), 0) :
			bad;
	struct world copy;
	struct proc its = { 0 };

	json_object_set_new(at, key, value);
	world_load(&copy, &its, bad);
	ok(!copy.s && errno == EBADMSG, "damaged: %s", key);
	close(copy.fd);
	loop_free(copy.loop);
	json_decref(bad);
}

static void test_damaged(void)
{
	struct world w;
	struct proc main = { 0 }, x = { 0 };
	json_t *v = world_saved(&w, &main, &x);

	refused(v, "version", json_integer(LINK_VERSION + 1), false);
	refused(v, "last_id", json_integer(0), false);
	refused(v, "ping", json_integer(-1), false);
	refused(v, "rest", json_string("0"), false);
	refused(v, "unread", json_string("zz"), false);
	refused(v, "out", json_null(), false);
	refused(v, "channels", json_null(), false);
	refused(v, "id", json_integer(3), true);
	refused(v, "id", json_integer(0), true);
	refused(v, "flags", json_string("1"), true);
	refused(v, "window", json_integer(LINK_WINDOW + 1), true);
	refused(v, "stdin_window", json_integer(-1), true);
	refused(v, "main", json_false(), true);
	refused(v, "deaf", json_true(), true);
	json_decref(v);
	world_done(&w);
}

int main(void)
{
	test_goes_on();
	test_window();
	test_refused();
	test_damaged();
	return done_testing();
}
