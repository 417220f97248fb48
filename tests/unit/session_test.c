/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_test.c - acd's end of the guest link against guests of all kinds
 *
 * The guest is this test: it writes bytes into the other end of a socket
 * pair and looks at what comes back.
 */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "control/acd/session.h"
#include "lib/sock.h"
#include "tests/unit/step.h"
#include "tests/unit/tap.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#elif defined(__has_feature)
#define SANITIZED __has_feature(address_sanitizer)
#else
#define SANITIZED false
#endif

struct world {
	struct loop *loop;
	struct session *s;
	int fd; /* the guest's end */
	struct buf rx; /* what the guest has read */
	size_t taken; /* of it, by the last guest_next() */
	int hellos, readies, logs, closed;
	struct err why;
	char log[2048];
	bool free_on_ready, free_on_closed;
};

struct proc {
	struct world *w;
	struct channel *c;
	int started, exited, credits;
	uint64_t bytes;
	struct link_exit x;
	bool credit_at_once, close_on_output, free_session_on_output;
	bool close_on_exit;
};

static void on_hello(void *arg)
{
	struct world *w = arg;

	w->hellos++;
}

static void on_ready(void *arg)
{
	struct world *w = arg;

	w->readies++;
	if (w->free_on_ready) {
		session_free(w->s);
		w->s = NULL;
	}
}

static void on_log(void *arg, uint8_t level, const char *text)
{
	struct world *w = arg;

	(void)level;
	w->logs++;
	snprintf(w->log, sizeof(w->log), "%s", text);
}

static void on_closed(void *arg, const struct err *err)
{
	struct world *w = arg;

	w->closed++;
	w->why = *err;
	if (w->free_on_closed) {
		session_free(w->s);
		w->s = NULL;
	}
}

static const struct session_ops ops = {
	.hello = on_hello,
	.ready = on_ready,
	.log = on_log,
	.closed = on_closed,
};

static void on_started(void *arg, uint32_t pid)
{
	struct proc *p = arg;

	(void)pid;
	p->started++;
}

static void on_output(void *arg, enum link_type type, struct slice data)
{
	struct proc *p = arg;

	(void)type;
	p->bytes += data.len;
	if (p->credit_at_once)
		channel_credit(p->c, (uint32_t)data.len);
	if (p->close_on_output)
		channel_close(p->c);
	if (p->free_session_on_output) {
		session_free(p->w->s);
		p->w->s = NULL;
	}
}

static void on_stdin_credit(void *arg)
{
	struct proc *p = arg;

	p->credits++;
}

static void on_exited(void *arg, const struct link_exit *x)
{
	struct proc *p = arg;

	p->exited++;
	p->x = *x;
	if (p->close_on_exit)
		channel_close(p->c);
	p->c = NULL;
}

static const struct channel_ops chops = {
	.started = on_started,
	.output = on_output,
	.stdin_credit = on_stdin_credit,
	.exited = on_exited,
};

static void world_init(struct world *w)
{
	int fds[2];

	*w = (struct world){ .loop = loop_new() };
	socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		   fds);
	w->fd = fds[1];
	buf_init(&w->rx, 64u << 20);
	w->s = session_new(w->loop, fds[0], &ops, w);
}

static void world_done(struct world *w)
{
	session_free(w->s);
	if (w->fd >= 0)
		close(w->fd);
	buf_done(&w->rx);
	loop_free(w->loop);
}

/* The guest reads what there is. */
static void guest_read(struct world *w)
{
	char tmp[65536];
	ssize_t n;

	while ((n = read(w->fd, tmp, sizeof(tmp))) > 0) {
		if (buf_append(&w->rx, tmp, (size_t)n) < 0)
			break;
	}
}

/* The guest's next frame of @type, others dropped. The payload is a view
 * that lasts until the next call. */
static bool guest_next(struct world *w, enum link_type type,
		       struct link_frame *f)
{
	struct slice all;

	for (;;) {
		buf_consume(&w->rx, w->taken);
		w->taken = 0;
		guest_read(w);
		all = buf_slice(&w->rx);
		if (link_parse(&all, f, NULL) < 0)
			return false;
		w->taken = buf_len(&w->rx) - all.len;
		if (f->type == type)
			return true;
	}
}

static void guest_write(struct world *w, const void *data, size_t len)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = send(w->fd, p, len, MSG_NOSIGNAL);

		if (n > 0) {
			p += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			step(w->loop);
		} else {
			return; /* acd closed the link */
		}
	}
}

static void guest_frame(struct world *w, enum link_type type, uint32_t ch,
			const void *data, size_t len)
{
	struct buf b = { .max = 1u << 20 };

	if (link_put(&b, type, ch, data, len) == 0)
		guest_write(w, buf_slice(&b).ptr, buf_len(&b));
	buf_done(&b);
}

static void guest_u32(struct world *w, enum link_type type, uint32_t ch,
		      uint32_t v)
{
	uint8_t p[4] = { (uint8_t)(v >> 24), (uint8_t)(v >> 16),
			 (uint8_t)(v >> 8), (uint8_t)v };

	guest_frame(w, type, ch, p, 4);
}

static void guest_exit(struct world *w, uint32_t ch, enum link_exit_kind kind,
		       uint32_t value)
{
	struct link_exit x = { .kind = kind, .value = value };
	struct buf b = { .max = 1u << 20 };

	if (link_put_exit(&b, ch, &x) == 0)
		guest_write(w, buf_slice(&b).ptr, buf_len(&b));
	buf_done(&b);
}

static void guest_hello(struct world *w)
{
	static const uint8_t hello[6] = { 0, LINK_VERSION, 0, 0, 0, 0 };

	guest_frame(w, LINK_HELLO, 0, hello, sizeof(hello));
	STEP_UNTIL(w->loop, w->hellos || w->closed);
}

static void guest_ready(struct world *w)
{
	const struct link_assign a = { .name = "x" };

	guest_hello(w);
	session_assign(w->s, &a);
	guest_frame(w, LINK_READY, 0, NULL, 0);
	STEP_UNTIL(w->loop, w->readies || w->closed);
}

static int proc_open(struct world *w, struct proc *p, uint32_t flags)
{
	static const char *const argv[] = { "cat", NULL };
	const struct link_exec x = { .flags = flags, .cwd = "", .argv = argv };

	p->w = w;
	return session_exec(w->s, &x, &chops, p, &p->c);
}

/* ---- tests ---- */

static void test_handshake(void)
{
	static const char *const env[] = { "A=b", NULL };
	const struct link_assign a = { .name = "n", .env = env, .nproc = 7 };
	struct link_assign_args got = { 0 };
	struct world w;
	struct link_frame f;
	struct proc p = { 0 };

	world_init(&w);
	is_int(proc_open(&w, &p, 0), -ENOTCONN, "no exec before READY");
	is_int(session_assign(w.s, &a), -ENOTCONN, "no ASSIGN before HELLO");
	guest_hello(&w);
	is_int(w.hellos, 1, "hello is announced");
	is_int(session_assign(w.s, &a), 0, "assigned");
	is_int(session_assign(w.s, &a), -ENOTCONN, "only once");
	if (ok(guest_next(&w, LINK_ASSIGN, &f), "the guest gets ASSIGN") &&
	    ok(link_get_assign(&f, &got) == 0, "which is sound")) {
		is_str(got.env[0], "A=b", "with the environment");
		is_int(got.nproc, 7, "and the limit");
		link_assign_args_done(&got);
	}
	ok(!session_is_ready(w.s), "not ready yet");
	guest_frame(&w, LINK_READY, 0, NULL, 0);
	STEP_UNTIL(w.loop, w.readies);
	ok(session_is_ready(w.s) && w.readies == 1, "ready");
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
	is_int(w.closed, 0, "the link is fine");
	world_done(&w);
}

/* Everything a hostile guest may try; after each, the link is closed and a
 * running process is reported lost. */
static void put(struct buf *b, int ret)
{
	(void)b;
	if (ret < 0)
		abort();
}

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
	put(b, link_put(b, LINK_READY, 0, NULL, 0));
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
	guest_frame(&w, LINK_READY, 0, NULL, 0);
	STEP_UNTIL(w.loop, w.closed);
	ok(w.closed, "READY before ASSIGN closes the link");
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
	int ret = 0;

	world_init(&w);
	guest_ready(&w);
	for (i = 0; i < 8; i++)
		proc_open(&w, &p[i], LINK_EXEC_STDIN);
	for (i = 0; i < 8; i++) {
		room = channel_stdin_room(p[i].c);
		total += room;
		ret |= channel_stdin(p[i].c, block, room);
	}
	ok(ret == 0 && total < 2 * LINK_WINDOW, "stdin stops at a bound");
	for (i = 0; i < 1000000 && ret == 0; i++)
		ret = channel_signal(p[0].c, 1);
	is_int(ret, -ENOBUFS, "so do signals");
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
	int i, ret = 0;

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
	for (i = 0; i < (int)LINK_CHANNELS_MAX && ret == 0; i++)
		ret = proc_open(&w, &q, 0);
	is_int(ret, 0, "256 channels");
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
	world_done(&w);
}

int main(void)
{
	test_handshake();
	test_exec();
	test_hostile();
	test_exit_twice();
	test_before_hello();
	test_half_frames();
	test_backpressure();
	test_guest_not_reading();
	test_close();
	test_free_inside();
	test_log();
	return done_testing();
}
