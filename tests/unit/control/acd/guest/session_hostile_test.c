/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_hostile_test.c - what a guest must not send, and what comes of it
 */
#include "tests/unit/control/acd/guest/session_world.h"

static const struct link_prepare none = { .ca = NULL };

/* Everything a hostile guest may try; after each, the link is closed and a
 * running process is reported lost. */
static void bad_length(struct buf *b)
{
	put(b, buf_append(b, "\xff\xff\xff\xff\x31\0\0\0\1", 9));
}

static void bad_short(struct buf *b)
{
	put(b, buf_append(b, "\0\0\0\4\x31\0\0\0\1", 9));
}

static void bad_type(struct buf *b)
{
	put(b, buf_append(b, "\0\0\0\5\x99\0\0\0\1", 9));
}

static void bad_direction(struct buf *b)
{
	put(b, link_put(b, LINK_STDIN, 1, "x", 1));
}

static void bad_channel(struct buf *b)
{
	put(b, link_put(b, LINK_STDOUT, 77, "x", 1));
}

static void bad_hello_twice(struct buf *b)
{
	put(b, link_put_hello(b, 0));
}

static void bad_ready_twice(struct buf *b)
{
	put(b, link_put_ready(b, NULL));
}

static void bad_late_fail(struct buf *b)
{
	put(b, link_put_text(b, LINK_FAIL, 0, 78, "no"));
}

static void bad_pong(struct buf *b)
{
	put(b, link_put(b, LINK_PONG, 0, "x", 1));
}

static void bad_started_twice(struct buf *b)
{
	put(b, link_put_u32(b, LINK_STARTED, 1, 1));
	put(b, link_put_u32(b, LINK_STARTED, 1, 1));
}

static void bad_exit_unstarted(struct buf *b)
{
	const struct link_exit x = { .kind = LINK_EXITED };

	put(b, link_put_exit(b, 1, &x));
}

static void bad_exit_kind(struct buf *b)
{
	const struct link_exit x = { .kind = LINK_OOM };

	put(b, link_put_u32(b, LINK_STARTED, 1, 1));
	put(b, link_put_exit(b, 1, &x));
}

static void bad_exit_signal(struct buf *b)
{
	const struct link_exit x = { .kind = LINK_SIGNALED, .value = 200 };

	put(b, link_put_u32(b, LINK_STARTED, 1, 1));
	put(b, link_put_exit(b, 1, &x));
}

static void bad_credit(struct buf *b)
{
	put(b, link_put_u32(b, LINK_CREDIT, 1, 1));
}

static void bad_credit_huge(struct buf *b)
{
	put(b, link_put_u32(b, LINK_CREDIT, 1, UINT32_MAX));
}

static void bad_overrun(struct buf *b)
{
	static char block[LINK_PAYLOAD_MAX];
	unsigned i;

	for (i = 0; i < LINK_WINDOW / LINK_PAYLOAD_MAX; i++)
		put(b, link_put(b, LINK_STDOUT, 1, block, sizeof(block)));
	put(b, link_put(b, LINK_STDERR, 1, "x", 1));
}

static void bad_notice(struct buf *b)
{
	put(b, link_put_text(b, LINK_NOTICE, 1, 0, "psst"));
}

static void bad_detach(struct buf *b)
{
	put(b, link_put(b, LINK_DETACH, 1, NULL, 0));
}

static void bad_log_level(struct buf *b)
{
	put(b, link_put_text(b, LINK_LOG, 0, 9, "loud"));
}

static void test_hostile(void)
{
	static const struct {
		const char *what;
		void (*make)(struct buf *b);
	} cases[] = {
		{ "a frame of 4 GB", bad_length },
		{ "a length under 5", bad_short },
		{ "an unknown type", bad_type },
		{ "a host's frame", bad_direction },
		{ "a channel that never was", bad_channel },
		{ "HELLO twice", bad_hello_twice },
		{ "READY twice", bad_ready_twice },
		{ "FAIL after READY", bad_late_fail },
		{ "PONG without PING", bad_pong },
		{ "STARTED twice", bad_started_twice },
		{ "EXIT of what did not start", bad_exit_unstarted },
		{ "EXIT of a kind that is acd's", bad_exit_kind },
		{ "EXIT by signal 200", bad_exit_signal },
		{ "CREDIT for nothing", bad_credit },
		{ "CREDIT of 4 GB", bad_credit_huge },
		{ "output past its credit", bad_overrun },
		{ "NOTICE from a guest", bad_notice },
		{ "DETACH from a guest", bad_detach },
		{ "a log level that is none", bad_log_level },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf b = { .max = 4u << 20 };
		struct proc p = { 0 };
		struct world w;

		world_init(&w);
		w.free_on_closed = i % 2;
		guest_ready(&w);
		proc_open(&w, &p, LINK_EXEC_STDIN);
		cases[i].make(&b);
		guest_write(&w, buf_slice(&b).ptr, buf_len(&b));
		STEP_UNTIL(w.loop, w.closed);
		ok(w.closed == 1 && w.why.code == -EBADMSG && w.why.msg[0],
		   "%s closes the link", cases[i].what);
		ok(p.exited == 1 && p.x.kind == LINK_LOST,
		   "and its process is lost");
		buf_done(&b);
		world_done(&w);
	}
}

static void test_exit_twice(void)
{
	struct world w;
	struct proc p = { 0 };

	world_init(&w);
	guest_ready(&w);
	proc_open(&w, &p, 0);
	guest_u32(&w, LINK_STARTED, 1, 1);
	guest_exit(&w, 1, LINK_EXITED, 0);
	guest_exit(&w, 1, LINK_EXITED, 0);
	STEP_UNTIL(w.loop, w.closed);
	ok(w.closed && p.exited == 1, "EXIT twice closes the link");
	world_done(&w);

	p = (struct proc){ 0 };
	world_init(&w);
	guest_ready(&w);
	proc_open(&w, &p, 0);
	guest_u32(&w, LINK_STARTED, 1, 1);
	guest_exit(&w, 1, LINK_EXITED, 0);
	guest_frame(&w, LINK_STDOUT, 1, "late", 4);
	STEP_UNTIL(w.loop, w.closed);
	ok(w.closed && p.bytes == 0, "so does output after EXIT");
	world_done(&w);
}

static void test_unvaulted(void)
{
	struct world w;

	world_init(&w);
	guest_frame(&w, LINK_UNVAULTED, 0, NULL, 0);
	STEP_UNTIL(w.loop, w.closed);
	ok(w.closed, "UNVAULTED before HELLO closes the link");
	world_done(&w);
	world_init(&w);
	guest_frame(&w, LINK_AUDIT, 0, "{}", 2);
	STEP_UNTIL(w.loop, w.closed);
	ok(w.closed, "so does AUDIT");
	world_done(&w);
}

static void test_before_hello(void)
{
	static const uint8_t old[6] = { 0, 9, 0, 0, 0, 0 };
	struct world w;

	world_init(&w);
	guest_frame(&w, LINK_LOG, 0, "\0x", 2);
	STEP_UNTIL(w.loop, w.closed);
	ok(w.closed && w.logs == 0, "LOG before HELLO closes the link");
	world_done(&w);

	world_init(&w);
	guest_frame(&w, LINK_HELLO, 0, old, sizeof(old));
	STEP_UNTIL(w.loop, w.closed);
	is_int(w.why.code, -EPROTO, "another version is refused as such");
	world_done(&w);

	world_init(&w);
	guest_frame(&w, LINK_FAIL, 0, "\x4eno \x1b[2J runtime", 17);
	STEP_UNTIL(w.loop, w.closed);
	ok(strstr(w.why.msg, "no \\x1b[2J runtime") != NULL,
	   "FAIL ends it with its text, escaped");
	world_done(&w);

	world_init(&w);
	guest_hello(&w);
	session_prepare(w.s, &none);
	guest_frame(&w, LINK_PREPARED, 0, NULL, 0);
	guest_frame(&w, LINK_READY, 0, "\0", 2);
	STEP_UNTIL(w.loop, w.closed);
	ok(w.closed && w.prepared == 1, "READY before ASSIGN closes the link");
	world_done(&w);

	world_init(&w);
	guest_hello(&w);
	guest_frame(&w, LINK_PREPARED, 0, NULL, 0);
	STEP_UNTIL(w.loop, w.closed);
	ok(w.closed && w.prepared == 0,
	   "PREPARED before PREPARE closes the link");
	world_done(&w);

	world_init(&w);
	guest_hello(&w);
	session_prepare(w.s, &none);
	guest_frame(&w, LINK_PREPARED, 0, NULL, 0);
	guest_frame(&w, LINK_PREPARED, 0, NULL, 0);
	STEP_UNTIL(w.loop, w.closed);
	ok(w.closed && w.prepared == 1, "PREPARED twice closes the link");
	world_done(&w);

	world_init(&w);
	guest_hello(&w);
	session_prepare(w.s, &none);
	session_assign(w.s, &(struct link_assign){ .name = "n" });
	guest_frame(&w, LINK_READY, 0, "\0", 2);
	STEP_UNTIL(w.loop, w.closed);
	ok(w.closed && w.readies == 0, "READY before PREPARED closes the link");
	world_done(&w);
}

/* Its report is shown to people: nothing but what may be. */
/* An exec may wait in the link for READY, but nothing runs before that. */
static void test_early(void)
{
	const struct link_assign a = { .name = "n" };
	struct world w;
	struct proc p = { 0 };

	world_init(&w);
	guest_hello(&w);
	is_int(session_prepare(w.s, &none), 0, "prepared");
	is_int(session_assign(w.s, &a), 0, "assigned");
	is_int(proc_open(&w, &p, 0), 0, "an exec follows at once");
	guest_u32(&w, LINK_STARTED, 1, 42);
	STEP_UNTIL(w.loop, w.closed);
	ok(w.closed && !p.started && p.exited == 1,
	   "STARTED before READY closes the link");
	world_done(&w);
}

static void test_reports(void)
{
	static const struct link_assign a = { .name = "x" };
	static const struct {
		const char *what, *ptr;
		size_t len;
	} cases[] = {
#define REPORT(w, s) { w, s, sizeof(s) - 1 }
		REPORT("an escape", "\0\1\0\0\0\x0d"
				    "a=skipped: \033["),
		REPORT("no check", "\0\1\0\0\0\3=ok"),
		REPORT("more checks than it has", "\0\2\0\0\0\4a=ok"),
		REPORT("33 checks", "\0\x21\0\0\0\4a=ok"),
		REPORT("a check of 4 GiB", "\0\1\xff\xff\xff\xff"),
#undef REPORT
	};
	struct world w;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		world_init(&w);
		guest_hello(&w);
		if (session_prepare(w.s, &none) < 0 ||
		    session_assign(w.s, &a) < 0)
			abort();
		guest_frame(&w, LINK_PREPARED, 0, NULL, 0);
		guest_frame(&w, LINK_READY, 0, cases[i].ptr, cases[i].len);
		STEP_UNTIL(w.loop, w.closed);
		ok(w.closed && w.readies == 0, "READY with %s closes the link",
		   cases[i].what);
		ok(!session_report(w.s), "... and leaves no report");
		world_done(&w);
	}
}

int main(void)
{
	test_hostile();
	test_exit_twice();
	test_before_hello();
	test_unvaulted();
	test_early();
	test_reports();
	return done_testing();
}
