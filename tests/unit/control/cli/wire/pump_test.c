/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pump_test.c - the pump against a scripted acd on the other end of a
 * socket pair, with pipes as the user's stdio
 */
#include "control/cli/wire/pump.h"

#include <endian.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "lib/file.h"
#include "lib/loop.h"
#include "tests/unit/tap.h"

#if defined(__SANITIZE_ADDRESS__)
#define RUNNING_SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RUNNING_SANITIZED true
#endif
#endif
#ifndef RUNNING_SANITIZED
#define RUNNING_SANITIZED false
#endif

/* What the scripted acd does; runs in a child, returns its exit code. */
typedef int (*script_fn)(int sock);

struct stage {
	int sock, in, out, err; /* the pump's */
	int to_in, from_out, from_err; /* ours; -1 after a close */
	pid_t acd;
	bool alone;
};

static int put(int sock, struct buf *b)
{
	struct slice s = buf_slice(b);
	int rc = fd_write_all(sock, s.ptr, s.len);

	buf_consume(b, s.len);
	return rc;
}

static int put_frame(int sock, enum link_type type, const void *data,
		     size_t len)
{
	struct buf b;
	int rc;

	buf_init(&b, 1 << 20);
	rc = link_put(&b, type, 1, data, len);
	if (rc == 0)
		rc = put(sock, &b);
	buf_done(&b);
	return rc;
}

static int put_exit(int sock, enum link_exit_kind kind, uint32_t value)
{
	const struct link_exit x = { .kind = kind, .value = value };
	struct buf b;
	int rc;

	buf_init(&b, 4096);
	rc = link_put_exit(&b, 1, &x);
	if (rc == 0)
		rc = put(sock, &b);
	buf_done(&b);
	return rc;
}

/* Reads frames; the last one stays valid until the next call. */
static int get_frame(int sock, struct buf *in, struct link_frame *f)
{
	static size_t last;

	buf_consume(in, last);
	last = 0;
	for (;;) {
		struct slice s = buf_slice(in);
		size_t before = s.len;
		int rc = link_parse(&s, f, NULL);
		uint8_t *place;
		ssize_t n;

		if (rc == 0) {
			last = before - s.len;
			return 1;
		}
		if (rc != -EAGAIN)
			return rc;
		place = buf_reserve(in, 65536);
		n = place ? read(sock, place, 65536) : -1;
		if (n <= 0)
			return 0;
		buf_commit(in, (size_t)n);
	}
}

static void stage_open(struct stage *st, script_fn script)
{
	int pair[2], in[2], out[2], err[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ||
	    pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 ||
	    pipe2(err, O_CLOEXEC) < 0)
		exit(2);
	fflush(stdout);
	st->acd = fork();
	if (st->acd == 0) {
		/* Else the pump's pipes would never see their end. */
		close(pair[0]);
		close(in[0]);
		close(in[1]);
		close(out[0]);
		close(out[1]);
		close(err[0]);
		close(err[1]);
		signal(SIGPIPE, SIG_IGN);
		_exit(script(pair[1]));
	}
	close(pair[1]);
	*st = (struct stage){ pair[0], in[0],  out[1],  err[1], in[1],
			      out[0],  err[0], st->acd, false };
}

static int stage_close(struct stage *st)
{
	int status = 0;

	fd_closep(&st->sock);
	fd_closep(&st->in);
	fd_closep(&st->out);
	fd_closep(&st->err);
	fd_closep(&st->to_in);
	fd_closep(&st->from_out);
	fd_closep(&st->from_err);
	waitpid(st->acd, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static int pump(struct stage *st, struct pump_result *res, struct err *err)
{
	const struct pump_opts opts = { .sock = st->sock,
					.in = st->in,
					.out = st->out,
					.err = st->err,
					.alone = st->alone };

	return pump_run(&opts, res, err);
}

static ssize_t drain(int fd, char *text, size_t size)
{
	ssize_t n = read(fd, text, size - 1);

	text[n > 0 ? n : 0] = '\0';
	return n;
}

static int script_hello(int sock)
{
	put_frame(sock, LINK_STDOUT, "out\0put", 7);
	put_frame(sock, LINK_STDERR, "error", 5);
	return put_exit(sock, LINK_EXITED, 42);
}

static void test_output(void)
{
	struct pump_result res;
	struct err err = { 0 };
	struct stage st;
	char text[64];

	stage_open(&st, script_hello);
	is_int(pump(&st, &res, &err), 0, "a short run");
	is_int(res.end, PUMP_EXIT, "ends by EXIT");
	is_int(res.code, 42, "its code");
	is_int(drain(st.from_out, text, sizeof(text)), 7, "stdout, all bytes");
	ok(memcmp(text, "out\0put", 7) == 0, "stdout as it was");
	drain(st.from_err, text, sizeof(text));
	is_str(text, "error", "stderr apart");
	is_int(stage_close(&st), 0, "acd was content");
}

/* What credit allows of what is waiting; stdin gets credit for as much. */
static int echo_some(int sock, struct buf *wait, uint64_t *window)
{
	while (buf_len(wait) > 0 && *window > 0) {
		struct slice s = buf_slice(wait);
		size_t n = s.len < *window ? s.len : (size_t)*window;
		uint32_t credit;

		if (n > LINK_PAYLOAD_MAX)
			n = LINK_PAYLOAD_MAX;
		if (put_frame(sock, LINK_STDOUT, s.ptr, n) < 0)
			return -EPIPE;
		*window -= n;
		buf_consume(wait, n);
		credit = htobe32((uint32_t)n);
		if (put_frame(sock, LINK_CREDIT, &credit, 4) < 0)
			return -EPIPE;
	}
	return 0;
}

/* Gives back what it gets; ends when that is done at the end of stdin. */
static int script_echo(int sock)
{
	uint64_t window = LINK_WINDOW;
	struct buf in, wait;
	struct link_frame f;
	bool eof = false;

	buf_init(&in, 1 << 20);
	buf_init(&wait, LINK_WINDOW); /* all that credit lets come */
	while (get_frame(sock, &in, &f) > 0) {
		uint32_t credit;

		if (f.type == LINK_STDIN_EOF)
			eof = true;
		else if (f.type == LINK_CREDIT && !link_get_u32(&f, &credit))
			window += credit;
		else if (f.type == LINK_STDIN &&
			 buf_append(&wait, f.payload.ptr, f.payload.len) < 0)
			return 4; /* more than it had credit for */
		if (echo_some(sock, &wait, &window) < 0)
			return 5;
		if (eof && buf_len(&wait) == 0) {
			buf_done(&in);
			return put_exit(sock, LINK_EXITED, 0);
		}
	}
	return 6;
}

#define ECHO_BYTES (24u * 1024 * 1024)

static uint8_t pattern(uint64_t i)
{
	return (uint8_t)(i * 2654435761u >> 13);
}

/* A child that writes the pattern, and one that checks it. */
static pid_t feed(int fd)
{
	pid_t pid = fork();
	uint8_t chunk[5000];
	uint64_t done = 0;

	if (pid)
		return pid;
	while (done < ECHO_BYTES) {
		size_t n = 0;

		while (n < sizeof(chunk) && done < ECHO_BYTES)
			chunk[n++] = pattern(done++);
		if (fd_write_all(fd, chunk, n) < 0)
			_exit(1);
	}
	_exit(0);
}

static pid_t check(int fd)
{
	pid_t pid = fork();
	uint8_t chunk[7001];
	uint64_t done = 0;
	ssize_t n, i;

	if (pid)
		return pid;
	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		for (i = 0; i < n; i++)
			if (chunk[i] != pattern(done++))
				_exit(1);
	_exit(done == ECHO_BYTES ? 0 : 2);
}

static void test_stream(void)
{
	struct pump_result res;
	struct err err = { 0 };
	struct stage st;
	struct rusage ru;
	int status = 1;
	pid_t writer, reader;

	stage_open(&st, script_echo);
	writer = feed(st.to_in);
	fd_closep(&st.to_in);
	fflush(stdout);
	/* The reader must hold only its own end. */
	fcntl(st.out, F_SETFD, FD_CLOEXEC);
	reader = fork();
	if (reader == 0) {
		close(st.out);
		pid_t inner = check(st.from_out);

		waitpid(inner, &status, 0);
		_exit(WEXITSTATUS(status));
	}
	fd_closep(&st.from_out);
	is_int(pump(&st, &res, &err), 0, "24 MiB in and out: %s", err.msg);
	is_int(res.code, 0, "exit code");
	fd_closep(&st.in);
	fd_closep(&st.out);
	waitpid(writer, &status, 0);
	is_int(status, 0, "all of stdin was taken");
	waitpid(reader, &status, 0);
	is_int(WEXITSTATUS(status), 0, "all came back as it was");
	getrusage(RUSAGE_SELF, &ru);
	ok(ru.ru_maxrss < 64 * 1024 || RUNNING_SANITIZED,
	   "memory stays flat (%ld KiB)", ru.ru_maxrss);
	is_int(stage_close(&st), 0, "credit was never exceeded");
}

/* Floods; wants a SIGPIPE signal back, then ends as a program would. */
static int script_flood(int sock)
{
	static uint8_t data[64 * 1024];
	struct buf in;
	struct link_frame f;
	uint32_t value;
	int i;

	buf_init(&in, 1 << 20);
	for (i = 0; i < 16; i++)
		if (put_frame(sock, LINK_STDOUT, data, sizeof(data)) < 0)
			return 1;
	while (get_frame(sock, &in, &f) > 0)
		if (f.type == LINK_SIGNAL && link_get_u32(&f, &value) == 0 &&
		    value == SIGPIPE) {
			buf_done(&in);
			return put_exit(sock, LINK_SIGNALED, SIGPIPE);
		}
	return 2;
}

static void test_epipe(void)
{
	struct pump_result res;
	struct err err = { 0 };
	struct stage st;

	stage_open(&st, script_flood);
	fd_closep(&st.from_out);
	is_int(pump(&st, &res, &err), 0, "nobody reads stdout");
	is_int(res.end, PUMP_EXIT, "the process ended of it");
	is_int(res.code, 141, "as by SIGPIPE");
	is_int(res.out_error, 0, "which is no error of ours");
	is_int(stage_close(&st), 0, "acd was asked to signal it");
}

/* Takes any signal as a reason to say it back in the exit code. */
static int script_signal(int sock)
{
	struct buf in;
	struct link_frame f;
	uint32_t value;

	buf_init(&in, 1 << 16);
	put_frame(sock, LINK_STDOUT, "ready", 5);
	while (get_frame(sock, &in, &f) > 0)
		if (f.type == LINK_SIGNAL && link_get_u32(&f, &value) == 0) {
			buf_done(&in);
			return put_exit(sock, LINK_SIGNALED, value);
		}
	return 2;
}

static void test_signal(int signo)
{
	struct pump_result res;
	struct err err = { 0 };
	struct stage st;
	pid_t self = getpid(), killer;
	char text[16];

	stage_open(&st, script_signal);
	fflush(stdout);
	killer = fork();
	if (killer == 0) {
		drain(st.from_out, text, sizeof(text));
		kill(self, signo);
		_exit(0);
	}
	is_int(pump(&st, &res, &err), 0, "signal %d is passed on", signo);
	is_int(res.code, 128 + signo, "its code");
	waitpid(killer, NULL, 0);
	is_int(stage_close(&st), 0, "acd got it");
}

/* Its sandbox stands still: nothing of it comes until we are gone. */
static int script_mute(int sock)
{
	static const char text[] = "\1still";
	uint8_t b[64];

	put_frame(sock, LINK_NOTICE, text, sizeof(text) - 1);
	while (read(sock, b, sizeof(b)) > 0)
		continue;
	return 0;
}

static void test_mute(void)
{
	struct pump_result res;
	struct err err = { 0 };
	struct stage st;
	pid_t self = getpid(), killer;
	char text[16];

	stage_open(&st, script_mute);
	st.alone = true;
	fflush(stdout);
	killer = fork();
	if (killer == 0) {
		drain(st.from_err, text, sizeof(text));
		kill(self, SIGTERM);
		_exit(0);
	}
	is_int(pump(&st, &res, &err), 0, "TERM before it has begun");
	ok(res.end == PUMP_GIVEN_UP && res.code == 128 + SIGTERM,
	   "ends us, who need not wait");
	waitpid(killer, NULL, 0);
	is_int(stage_close(&st), 0, "and acd hears of it");
}

static int script_vanish(int sock)
{
	put_frame(sock, LINK_STDOUT, "half", 4);
	return 0;
}

static int script_rubbish(int sock)
{
	return fd_write_all(sock, "\377\377\377\377 what is this", 17);
}

static int script_other_channel(int sock)
{
	struct buf b;
	int rc;

	buf_init(&b, 4096);
	rc = link_put(&b, LINK_STDOUT, 7, "x", 1);
	if (rc == 0)
		rc = put(sock, &b);
	buf_done(&b);
	return rc;
}

static int script_credit(int sock)
{
	uint32_t much = 0xffffffff;

	return put_frame(sock, LINK_CREDIT, &much, 4);
}

static void test_bad_acd(void)
{
	static const struct {
		script_fn fn;
		int want;
		const char *what;
	} rows[] = {
		{ script_vanish, -ECONNRESET, "gone without EXIT" },
		{ script_rubbish, -EPROTO, "no frames" },
		{ script_other_channel, -EPROTO, "another channel" },
		{ script_credit, -EPROTO, "credit without end" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pump_result res;
		struct err err = { 0 };
		struct stage st;

		stage_open(&st, rows[i].fn);
		is_int(pump(&st, &res, &err), rows[i].want, "acd: %s",
		       rows[i].what);
		ok(err.msg[0], "which is told: %s", err.msg);
		stage_close(&st);
	}
}

static int script_notice(int sock)
{
	static const char text[] = "\1hel\033[31mlo";

	put_frame(sock, LINK_STARTED, "\0\0\0\1", 4);
	put_frame(sock, LINK_NOTICE, text, sizeof(text) - 1);
	return put_exit(sock, LINK_TIMEOUT, 0);
}

static int script_mid_line(int sock)
{
	put_frame(sock, LINK_STDERR, "half", 4);
	put_frame(sock, LINK_NOTICE, "\1full", 5);
	put_frame(sock, LINK_STDERR, "half", 4);
	return put_exit(sock, LINK_TIMEOUT, 0);
}

static void test_notice(void)
{
	struct pump_result res;
	struct err err = { 0 };
	struct stage st;
	char text[128];

	stage_open(&st, script_notice);
	is_int(pump(&st, &res, &err), 0, "a notice");
	is_int(res.code, 124, "a timeout is 124");
	ok(res.noticed, "a warning was told");
	drain(st.from_err, text, sizeof(text));
	is_str(text, "ac: hel\\x1b[31mlo\n", "and it cannot paint");
	stage_close(&st);
	stage_open(&st, script_mid_line);
	is_int(pump(&st, &res, &err), 0, "a notice in the middle of a line");
	drain(st.from_err, text, sizeof(text));
	is_str(text, "half\nac: full\nhalf", "has a line of its own");
	ok(res.mid_line, "so can what comes after it");
	stage_close(&st);
}

static int count_sink(void *arg, struct slice data)
{
	size_t *n = arg;

	*n += data.len;
	return *n > 5 ? -EMSGSIZE : 0;
}

static void test_sink(void)
{
	struct pump_result res;
	struct err err = { 0 };
	struct stage st;
	size_t n = 0;
	struct pump_opts opts = { .in = -1, .sink = count_sink, .arg = &n };

	stage_open(&st, script_hello);
	opts.sock = st.sock;
	opts.out = st.out;
	opts.err = st.err;
	is_int(pump_run(&opts, &res, &err), -EMSGSIZE, "a sink may refuse");
	is_int(n, 7, "and gets stdout alone");
	stage_close(&st);
}

/* The head of the connection may bring frames with it. */
static void test_early(void)
{
	struct pump_result res;
	struct err err = { 0 };
	struct stage st;
	struct buf b;
	struct pump_opts opts = { .in = -1 };
	char text[16];

	buf_init(&b, 4096);
	if (link_put(&b, LINK_STDOUT, 1, "early", 5) < 0)
		return;
	stage_open(&st, script_hello);
	opts.sock = st.sock;
	opts.out = st.out;
	opts.err = st.err;
	opts.early = buf_slice(&b);
	is_int(pump_run(&opts, &res, &err), 0, "frames behind the head");
	drain(st.from_out, text, 6);
	is_str(text, "early", "come first");
	buf_done(&b);
	stage_close(&st);
}

int main(void)
{
	test_output();
	test_stream();
	test_epipe();
	test_signal(SIGINT);
	test_signal(SIGTERM);
	test_mute();
	test_signal(SIGHUP);
	test_bad_acd();
	test_notice();
	test_sink();
	test_early();
	return done_testing();
}
