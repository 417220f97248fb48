/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_test.c - acd's end of the guest link, with sound guests and slow
 * ones
 */
#include <sys/resource.h>

#include "lib/log.h"
#include "control/acd/guest/session_impl.h"
#include "tests/unit/control/acd/guest/session_world.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#elif defined(__has_feature)
#define SANITIZED __has_feature(address_sanitizer)
#else
#define SANITIZED false
#endif

static void test_handshake(void)
{
	static const char *const env[] = { "A=b", NULL };
	const struct link_assign a = { .name = "n", .env = env, .nproc = 7 };
	const struct link_prepare pre = {
		.ca = "pem",
		.flags = LINK_PREPARE_NAMELESS,
	};
	struct link_prepare_args got_pre = { 0 };
	struct link_assign_args got = { 0 };
	struct world w;
	struct link_frame f;
	struct proc p = { 0 };

	world_init(&w);
	is_int(proc_open(&w, &p, 0), -ENOTCONN, "no exec before ASSIGN");
	is_int(session_prepare(w.s, &pre), -ENOTCONN,
	       "no PREPARE before HELLO");
	guest_hello(&w);
	is_int(w.hellos, 1, "hello is announced");
	is_int(session_assign(w.s, &a), -ENOTCONN, "no ASSIGN before PREPARE");
	is_int(session_prepare(w.s, &pre), 0, "prepared");
	is_int(session_prepare(w.s, &pre), -ENOTCONN, "only once");
	if (ok(guest_next(&w, LINK_PREPARE, &f), "the guest gets PREPARE") &&
	    ok(link_get_prepare(&f, &got_pre) == 0, "which is sound")) {
		is_str(got_pre.ca, "pem", "with the CA");
		is_int(got_pre.flags, LINK_PREPARE_NAMELESS, "and flags");
		link_prepare_args_done(&got_pre);
	}
	session_hold_back(w.s, true);
	is_int(session_assign(w.s, &a), 0, "assigned");
	ok(buf_len(&w.s->out) > 0 && w.s->out.secret,
	   "a secret, while it waits");
	is_int(session_assign(w.s, &a), -ENOTCONN, "only once");
	session_hold_back(w.s, false);
	ok(!w.s->out.mem, "and wiped when it is out");
	if (ok(guest_next(&w, LINK_ASSIGN, &f), "the guest gets ASSIGN") &&
	    ok(link_get_assign(&f, &got) == 0, "which is sound")) {
		is_str(got.env[0], "A=b", "with the environment");
		is_int(got.nproc, 7, "and the limit");
		link_assign_args_done(&got);
	}
	guest_frame(&w, LINK_PREPARED, 0, NULL, 0);
	STEP_UNTIL(w.loop, w.prepared);
	is_int(w.prepared, 1, "PREPARED is announced");
	ok(!session_is_ready(w.s), "not ready yet");
	ok(!session_report(w.s), "and no report");
	guest_frame(&w, LINK_READY, 0, "\0\1\0\0\0\4a=ok", 10);
	STEP_UNTIL(w.loop, w.readies);
	ok(session_is_ready(w.s) && w.readies == 1, "ready");
	is_str(session_report(w.s)[0], "a=ok", "with what the guest reports");
	close(w.fd);
	w.fd = -1;
	STEP_UNTIL(w.loop, w.closed);
	is_int(w.closed, 1, "the end of the stream closes the session, once");
	is_int(proc_open(&w, &p, 0), -ENOTCONN, "and it takes no exec");
	world_done(&w);
}

static void test_exec(void)
{
	struct world w;
	struct link_frame f;
	struct proc p = { .close_on_exit = true };

	world_init(&w);
	guest_ready(&w);
	is_int(proc_open(&w, &p, LINK_EXEC_STDIN), 0, "exec");
	ok(guest_next(&w, LINK_EXEC, &f) && f.channel == 1, "EXEC 1 arrives");
	guest_u32(&w, LINK_STARTED, 1, 5);
	guest_frame(&w, LINK_STDOUT, 1, "hello", 5);
	guest_frame(&w, LINK_STDERR, 1, "!", 1);
	STEP_UNTIL(w.loop, p.bytes == 6);
	is_int(p.started, 1, "started");
	is_int(p.bytes, 6, "output of both kinds");
	is_int(channel_stdin_room(p.c), LINK_WINDOW, "a window of stdin");
	is_int(channel_stdin(p.c, "abc", 3), 0, "stdin");
	is_int(channel_stdin_room(p.c), LINK_WINDOW - 3, "uses it up");
	ok(guest_next(&w, LINK_STDIN, &f) && f.payload.len == 3, "arrives");
	guest_u32(&w, LINK_CREDIT, 1, 3);
	STEP_UNTIL(w.loop, p.credits);
	is_int(channel_stdin_room(p.c), LINK_WINDOW, "credit gives it back");
	is_int(channel_stdin_eof(p.c), 0, "eof");
	is_int(channel_stdin(p.c, "x", 1), -EPIPE, "nothing after it");
	is_int(channel_resize(p.c, 1, 1), -ENOTTY, "no terminal to resize");
	is_int(channel_signal(p.c, 65), -EINVAL, "no such signal");
	is_int(channel_signal(p.c, 15), 0, "signal");
	ok(guest_next(&w, LINK_SIGNAL, &f), "arrives");
	guest_exit(&w, 1, LINK_EXITED, 3);
	STEP_UNTIL(w.loop, p.exited);
	is_int(p.exited, 1, "exited once");
	is_int(link_exit_code(&p.x), 3, "with its code");
	is_int(proc_open(&w, &p, 0), 0, "another exec");
	ok(guest_next(&w, LINK_EXEC, &f) && f.channel == 2, "is EXEC 2");
	is_int(channel_stdin(p.c, "x", 1), -EPIPE, "no stdin, not asked for");
	guest_exit(&w, 2, LINK_NOEXEC, ENOENT);
	STEP_UNTIL(w.loop, p.exited == 2);
	is_int(link_exit_code(&p.x), 127, "not found is 127");
	is_int(proc_open(&w, &p, 0), 0, "one more");
	ok(guest_next(&w, LINK_EXEC, &f) && f.channel == 3, "is EXEC 3");
	guest_exit(&w, 3, LINK_NOCWD, ENOENT);
	STEP_UNTIL(w.loop, p.exited == 3);
	is_int(link_exit_code(&p.x), 126, "no such directory is 126");
	is_int(w.closed, 0, "the link is fine");
	world_done(&w);
}

/* A frame byte by byte, and one that never ends. */
static void test_half_frames(void)
{
	struct buf b = { .max = 1u << 20 };
	struct world w;
	struct proc p = { .credit_at_once = true };
	static char block[70000];
	size_t i, len;

	world_init(&w);
	guest_ready(&w);
	proc_open(&w, &p, 0);
	guest_u32(&w, LINK_STARTED, 1, 1);
	put(&b, link_put(&b, LINK_STDOUT, 1, block, 300));
	put(&b, link_put(&b, LINK_STDOUT, 1, block, sizeof(block)));
	put(&b, link_put(&b, LINK_STDOUT, 1, "z", 1));
	len = buf_len(&b);
	for (i = 0; i < 700; i++) {
		guest_write(&w, buf_slice(&b).ptr + i, 1);
		step(w.loop);
	}
	guest_write(&w, buf_slice(&b).ptr + i, len - i - 5);
	step_for(w.loop, 20);
	is_int(p.bytes, 300 + sizeof(block), "frames in pieces add up");
	guest_write(&w, buf_slice(&b).ptr + len - 5, 5);
	STEP_UNTIL(w.loop, p.bytes == 301 + sizeof(block));
	is_int(p.bytes, 301 + sizeof(block), "to the last byte");
	guest_write(&w, buf_slice(&b).ptr, 200);
	close(w.fd);
	w.fd = -1;
	STEP_UNTIL(w.loop, w.closed);
	is_int(p.exited, 1, "half a frame and the end: the process is lost");
	buf_done(&b);
	world_done(&w);
}

/* The answer was on its way when the guest was frozen. */
static void test_held(void)
{
	/* First so patient that no machine is too slow to answer in time. */
	const struct session_limits patient = { .sign_ms = 30,
						.pong_ms = STEP_LIMIT_MS };
	const struct session_limits l = { .sign_ms = 30, .pong_ms = 60 };
	struct world w;
	struct link_frame f;
	struct proc p = { 0 };
	uint8_t ping[4];
	bool asked = false;

	world_init(&w);
	guest_ready(&w);
	session_set_limits(w.s, &patient);
	proc_open(&w, &p, 0);
	STEP_UNTIL(w.loop, (asked = guest_next(&w, LINK_PING, &f)));
	if (!ok(asked && f.payload.len == sizeof(ping),
		"a silent guest is asked"))
		return;
	memcpy(ping, f.payload.ptr, sizeof(ping));
	session_hold(w.s, true);
	session_set_limits(w.s, &l);
	guest_frame(&w, LINK_PONG, 0, ping, sizeof(ping));
	step_for(w.loop, 200);
	ok(!guest_next(&w, LINK_PING, &f), "of a frozen one nothing is asked");
	is_int(w.closed, 0, "so it is not lost for its silence");
	session_hold(w.s, false);
	STEP_UNTIL(w.loop, w.closed);
	is_int(w.why.code, -ETIMEDOUT, "once it goes on it has to answer");
	world_done(&w);
}

/* Resident memory in KiB. */
static long rss_kib(void)
{
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	return ru.ru_maxrss;
}

/* An owner that gives no credit stops the guest; one that does, lets any
 * amount pass with flat memory. */
static void test_backpressure(void)
{
	static uint8_t frame[LINK_HEADER + LINK_PAYLOAD_MAX];
	const uint64_t total = 200u << 20;
	uint64_t sent = 0, start;
	uint32_t window = LINK_WINDOW, more;
	struct world w;
	struct proc p = { .credit_at_once = true };
	struct link_frame f;
	long before;

	world_init(&w);
	guest_ready(&w);
	proc_open(&w, &p, 0);
	guest_u32(&w, LINK_STARTED, 1, 1);
	link_put_header(frame, LINK_STDOUT, 1, LINK_PAYLOAD_MAX);
	before = rss_kib();
	start = clock_ms();
	while (sent < total) {
		if (window < LINK_PAYLOAD_MAX) {
			STEP_UNTIL(w.loop, guest_next(&w, LINK_CREDIT, &f));
			if (link_get_u32(&f, &more) < 0)
				break;
			window += more;
			continue;
		}
		guest_write(&w, frame, sizeof(frame));
		window -= LINK_PAYLOAD_MAX;
		sent += LINK_PAYLOAD_MAX;
	}
	STEP_UNTIL(w.loop, p.bytes == sent);
	is_int(p.bytes, total, "200 MiB pass");
	/* A sanitizer keeps what is freed, for a while. */
	if (SANITIZED)
		skip("memory, under a sanitizer");
	else
		ok(rss_kib() - before < 4 * 1024, "with flat memory");
	printf("# %llu ms\n", (unsigned long long)(clock_ms() - start));
	is_int(channel_credit(p.c, LINK_WINDOW + 1), -ERANGE,
	       "credit for what never came is the owner's mistake");
	world_done(&w);
}

/* A guest that does not read: bounded, refused, and it recovers. */
static void test_guest_not_reading(void)
{
	static const char *const argv[] = { "x", NULL };
	const struct link_exec x = { .cwd = "", .argv = argv };
	static char block[LINK_WINDOW];
	struct proc p[8] = { { 0 } }, small = { 0 };
	struct link_frame f;
	struct world w;
	size_t i, room, total = 0;
	int rc = 0;

	world_init(&w);
	guest_ready(&w);
	for (i = 0; i < 8; i++)
		proc_open(&w, &p[i], LINK_EXEC_STDIN);
	for (i = 0; i < 8; i++) {
		room = channel_stdin_room(p[i].c);
		total += room;
		rc |= channel_stdin(p[i].c, block, room);
	}
	ok(rc == 0 && total < 2 * LINK_WINDOW, "stdin stops at a bound");
	for (i = 0; i < 1000000 && rc == 0; i++)
		rc = channel_signal(p[0].c, 1);
	is_int(rc, -ENOBUFS, "so do signals");
	is_int(session_exec(w.s, &x, &chops, &small, &small.c), -ENOBUFS,
	       "and execs");
	channel_close(p[1].c);
	is_int(channel_stdin_eof(p[2].c), 0, "what must not be lost fits");
	for (i = 0; i < 100 && !p[7].credits; i++) {
		while (guest_next(&w, LINK_STDIN, &f))
			total -= f.payload.len;
		step(w.loop);
	}
	STEP_UNTIL(w.loop, !guest_next(&w, LINK_STDIN, &f));
	ok(p[7].credits > 0, "writers hear when it reads again");
	is_int(p[1].credits, 0, "but not one that has closed");
	world_done(&w);
}

static void test_close(void)
{
	struct world w;
	struct link_frame f;
	struct proc p = { .close_on_output = true }, q = { 0 };
	int i, rc = 0;

	world_init(&w);
	guest_ready(&w);
	proc_open(&w, &p, 0);
	guest_u32(&w, LINK_STARTED, 1, 1);
	guest_frame(&w, LINK_STDOUT, 1, "a", 1);
	guest_frame(&w, LINK_STDOUT, 1, "b", 1);
	guest_exit(&w, 1, LINK_SIGNALED, 9);
	STEP_UNTIL(w.loop, guest_next(&w, LINK_CLOSE, &f));
	step_for(w.loop, 5);
	ok(p.bytes == 1 && p.exited == 0, "no callback after channel_close()");
	is_int(w.closed, 0, "late frames of a closed channel are no crime");
	for (i = 0; i < (int)LINK_CHANNELS_MAX && rc == 0; i++)
		rc = proc_open(&w, &q, 0);
	is_int(rc, 0, "256 channels");
	is_int(proc_open(&w, &q, 0), -EMFILE, "and no more");
	channel_close(q.c);
	is_int(proc_open(&w, &q, 0), -EMFILE, "a closed one counts");
	guest_u32(&w, LINK_STARTED, (uint32_t)i + 1, 1);
	guest_exit(&w, (uint32_t)i + 1, LINK_SIGNALED, 9);
	step_for(w.loop, 20);
	is_int(proc_open(&w, &q, 0), 0, "until its EXIT");
	world_done(&w);
}

static void test_free_inside(void)
{
	struct world w;
	struct proc p = { .free_session_on_output = true };

	world_init(&w);
	w.free_on_ready = true;
	guest_ready(&w);
	ok(w.s == NULL && w.closed == 0, "freed in ready()");
	world_done(&w);

	world_init(&w);
	guest_ready(&w);
	proc_open(&w, &p, 0);
	guest_u32(&w, LINK_STARTED, 1, 1);
	guest_frame(&w, LINK_STDOUT, 1, "a", 1);
	guest_frame(&w, LINK_STDOUT, 1, "b", 1);
	STEP_UNTIL(w.loop, !w.s);
	step_for(w.loop, 5);
	ok(p.bytes == 1 && p.exited == 0, "freed in output()");
	world_done(&w);
}

static void test_log(void)
{
	struct world w;
	int i;

	world_init(&w);
	guest_hello(&w);
	guest_frame(&w, LINK_LOG, 0, "\1a\nb\x1b", 5);
	STEP_UNTIL(w.loop, w.logs);
	is_str(w.log, "a\\x0ab\\x1b", "log text is escaped");
	for (i = 0; i < 2000; i++)
		guest_frame(&w, LINK_LOG, 0, "\1spam", 5);
	step_for(w.loop, 20);
	ok(w.logs < 200, "and a flood of it is cut (%d)", w.logs);
	is_int(w.closed, 0, "with the link alive");
	for (i = 0; i < 100 && !w.log_cut; i++) {
		guest_frame(&w, LINK_LOG, 0, "\1late", 5);
		step_for(w.loop, 50);
	}
	ok(w.log_cut, "and that lines were cut is told");
	world_done(&w);
}

static void log_room_is(struct world *w, uint64_t bytes)
{
	w->s->log_room.ms = clock_ms();
	w->s->log_room.milli = 1000 * bytes;
}

/* What a line takes of the room, whatever it says; and no line is lost without
 * being counted. A second of the clock brings 16 bytes, so the numbers are of
 * some lines more where the machine is slow. */
static void test_log_room(void)
{
	static const struct {
		const char *frame, *what;
		size_t len;
		unsigned fit; /* of 2000 bytes */
	} rows[] = {
		{ "\1", "empty lines", 1, 15 },
		{ "\1a", "lines of one byte", 2, 15 },
		{ "\1"
		  "\n\n\n\n\n\n\n\n",
		  "lines of what is escaped twice", 9, 10 },
	};
	struct world w;
	unsigned i, n;

	for (n = 0; n < ARRAY_SIZE(rows); n++) {
		world_init(&w);
		guest_hello(&w);
		STEP_UNTIL(w.loop, w.hellos);
		log_room_is(&w, 2000);
		for (i = 0; i < 30; i++)
			guest_frame(&w, LINK_LOG, 0, rows[n].frame,
				    rows[n].len);
		step_for(w.loop, 20);
		ok(w.log_lines >= rows[n].fit && w.log_lines < rows[n].fit + 8,
		   "%s take room (%u)", rows[n].what, w.log_lines);
		world_done(&w);
	}
	world_init(&w);
	guest_hello(&w);
	STEP_UNTIL(w.loop, w.hellos);
	log_room_is(&w, 0);
	for (i = 0; i < 100; i++)
		guest_frame(&w, LINK_LOG, 0, "\1", 1);
	step_for(w.loop, 20);
	w.s->log_second = 0; /* a new one begins */
	for (i = 0; i < 100; i++)
		guest_frame(&w, LINK_LOG, 0, "\1", 1);
	step_for(w.loop, 20);
	is_int(w.logs, 0, "without room nothing is said, no count either");
	log_room_is(&w, 100000);
	w.s->log_second = 0;
	guest_frame(&w, LINK_LOG, 0, "\1late", 5);
	STEP_UNTIL(w.loop, w.log_lines);
	is_int(w.log_lines + w.log_lost, 201, "then each line is counted");
	world_done(&w);
}

/* One line of vaultd's audit, of @len bytes. */
static void guest_audit(struct world *w, size_t len)
{
	char text[LINK_TEXT_MAX];

	memset(text, 'x', sizeof(text));
	text[0] = '{';
	text[1] = '\\';
	text[len - 1] = '}';
	guest_frame(w, LINK_AUDIT, 0, text, len);
}

/* It is not in the way of other lines, nor are these in its. */
static void test_audit(void)
{
	char line[1 + LINK_TEXT_MAX];
	struct world w;
	int i;

	world_init(&w);
	guest_hello(&w);
	for (i = 0; i < 500; i++)
		guest_frame(&w, LINK_LOG, 0, "\1spam", 5);
	for (i = 1; i < 200; i++)
		guest_audit(&w, LINK_TEXT_MAX - 100);
	guest_audit(&w, LINK_TEXT_MAX);
	STEP_UNTIL(w.loop, w.audits == 200);
	ok(strlen(w.audit) == LINK_TEXT_MAX && strchr(w.audit, '}'),
	   "a burst of the audit comes whole");
	is_str(strndupa(w.audit, 2), "{\\", "as it was written");
	is_str(strndupa(w.log, 9), "vault: {\\", "and is in acd's log");
	ok(w.log_bytes < 160u * 1024, "as far as a sandbox has room there (%d)",
	   (int)w.log_bytes);
	for (i = 0; i < 3000; i++)
		guest_audit(&w, 40);
	step_for(w.loop, 20);
	ok(w.audits < 3000, "a flood of it is cut (%d)", w.audits);
	/* Room for its count comes with 16 bytes a second. */
	for (i = 0; i < 1000 && !(w.audit_cut && w.log_full); i++) {
		guest_audit(&w, 40);
		step_for(w.loop, 50);
	}
	ok(w.audit_cut && w.log_full, "which is told");
	is_int(w.closed, 0, "with the link alive");
	world_done(&w);

	world_init(&w);
	guest_hello(&w);
	memset(line, 'x', sizeof(line));
	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): bytes */
	memcpy(line, "\2vault: {\\", 10);
	guest_frame(&w, LINK_LOG, 0, line, sizeof(line));
	STEP_UNTIL(w.loop, w.logs);
	is_int((int)strlen(w.log), 1024 + 3, "a LOG is none of it");
	guest_frame(&w, LINK_LOG, 0, "\2vault: {\n}", 11);
	STEP_UNTIL(w.loop, w.logs == 2);
	is_str(w.log, "vault: {\\x0a}", "whatever it begins with");
	is_int(w.audits, 0, "for its words");
	guest_frame(&w, LINK_AUDIT, 0, "{\n}", 3);
	STEP_UNTIL(w.loop, w.closed);
	ok(w.closed && w.audits == 0,
	   "AUDIT with more than text closes the link");
	world_done(&w);
}

static void patience_init(struct world *w, uint32_t pong_ms)
{
	const struct session_limits l = { .sign_ms = 20, .pong_ms = pong_ms };

	world_init(w);
	session_set_limits(w->s, &l);
	guest_ready(w);
}

/* No PONG: the link ends. */
static void test_mute(void)
{
	struct world w;
	struct link_frame f;
	struct proc p = { 0 };

	patience_init(&w, 20);
	step_for(w.loop, 100);
	ok(!guest_next(&w, LINK_PING, &f), "nobody waits: no PING");
	proc_open(&w, &p, 0);
	STEP_UNTIL(w.loop, w.closed);
	ok(guest_next(&w, LINK_PING, &f), "a PING went out");
	is_int(w.why.code, -ETIMEDOUT, "the link ends");
	is_str(w.why.msg, "the sandbox does not answer", "and says why");
	ok(p.exited == 1 && p.x.kind == LINK_LOST, "the channel is lost");
	world_done(&w);
}

/* A slow guest answers, and is asked again while somebody waits. */
static void test_slow(void)
{
	struct world w;
	struct link_frame f;
	struct proc p = { 0 };
	bool pinged = false;

	patience_init(&w, STEP_LIMIT_MS);
	proc_open(&w, &p, 0);
	for (int i = 0; i < 3; i++) {
		STEP_UNTIL(w.loop, (pinged = guest_next(&w, LINK_PING, &f)));
		if (ok(pinged, "PING %d", i))
			guest_frame(&w, LINK_PONG, 0, f.payload.ptr,
				    f.payload.len);
	}
	guest_u32(&w, LINK_STARTED, 1, 5);
	STEP_UNTIL(w.loop, p.started);
	step_for(w.loop, 60);
	if (guest_next(&w, LINK_PING, &f)) /* was under way */
		guest_frame(&w, LINK_PONG, 0, f.payload.ptr, f.payload.len);
	step_for(w.loop, 100);
	ok(!guest_next(&w, LINK_PING, &f), "no PING after the sign");
	is_int(w.closed, 0, "the link lives");
	guest_u32(&w, LINK_PONG, 0, 1);
	STEP_UNTIL(w.loop, w.closed);
	is_int(w.why.code, -EBADMSG, "a PONG too many");
	world_done(&w);
}

int main(void)
{
	test_handshake();
	test_exec();
	test_half_frames();
	test_held();
	test_backpressure();
	test_guest_not_reading();
	test_close();
	test_free_inside();
	test_log();
	test_log_room();
	test_audit();
	test_mute();
	test_slow();
	return done_testing();
}
