/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pump.c - passes data between the user's stdio and a link, and the signals
 *
 * Theory of operation: one poll() loop with four descriptors: the link, stdin,
 * a signalfd, and stdout or stderr while it does not take our output. Output is
 * written straight from the receive buffer. While a piece is stuck nothing more
 * is received, and acd stops after LINK_WINDOW bytes without credit. stdin is
 * read only as far as credit and a small transmit queue allow. So memory is
 * constant.
 *
 * Ends: EXIT from acd is the normal one. The user leaves by the detach keys, a
 * shared run by Ctrl-C too, or insists by signals: the first is passed on, the
 * second within two seconds kills, the third gives up. If stdout has no reader
 * any more, the process gets SIGPIPE, as it would without us in between, and
 * two seconds to end.
 */
#include "control/cli/wire/pump.h"

#include <assert.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "control/cli/core/outfd.h"
#include "control/cli/wire/pump_screen.h"
#include "control/cli/wire/pump_signal.h"
#include "lib/file.h"
#include "lib/loop.h"
#include "lib/sock.h"
#include "lib/str.h"

#define RX_SIZE (512u * 1024) /* several frames of the largest kind */
#define TX_MAX (1024u * 1024)
#define TX_STDIN (256u * 1024) /* queued bytes above which stdin waits */
#define STDIN_CREDIT_MAX (1u << 30)
#define CHANNEL 1u
#define PIPE_GRACE_MS 2000u
#define FLUSH_MS 1000 /* for the last frames to acd */

static_assert(RX_SIZE > 2 * (LINK_HEADER + LINK_PAYLOAD_MAX),
	      "a whole frame fits behind a partial one");

struct pump {
	const struct pump_opts *o;
	struct pump_result *ret;
	struct err *err;
	struct outfd out, errout;
	int in, own_in; /* to read from; own_in: to be closed, or -1 */
	uint8_t *rx;
	size_t rx_start, rx_end;
	struct outfd *stuck; /* where pending goes; NULL: nothing pending */
	struct slice pending; /* a view of rx, or of early */
	struct buf tx;
	uint32_t stdin_credit, due; /* due: output credit not given back */
	struct detach detach;
	struct pump_signals signals;
	struct pump_screen screen;
	uint64_t deadline; /* of a process without a reader; 0: none */
	bool begun; /* a frame from the process has come */
	bool in_open, raw, done, out_dead, err_dead;
};

static int fail(struct pump *p, int code, const char *text)
{
	return err_set(p->err, code, "%s", text);
}

static int queue(struct pump *p, int rc)
{
	return rc < 0 ? fail(p, rc, "cannot queue a frame for acd") : 0;
}

static void finish(struct pump *p, enum pump_end end, int code)
{
	p->ret->end = end;
	p->ret->code = code;
	p->done = true;
}

/* Output was taken: acd may send as many more bytes. */
static int give_credit(struct pump *p, size_t len)
{
	p->due += (uint32_t)len;
	if (p->due < LINK_WINDOW / 4)
		return 0;
	len = p->due;
	p->due = 0;
	return queue(p,
		     link_put_u32(&p->tx, LINK_CREDIT, CHANNEL, (uint32_t)len));
}

/* @dst takes no more output. */
static int output_died(struct pump *p, struct outfd *dst, int why)
{
	if (dst == &p->errout) {
		p->err_dead = true;
		return 0;
	}
	p->out_dead = true;
	if (why != -EPIPE)
		p->ret->out_error = why;
	if (p->o->shared) {
		finish(p, PUMP_DETACHED, 128 + SIGPIPE);
		return queue(p,
			     link_put(&p->tx, LINK_DETACH, CHANNEL, NULL, 0));
	}
	p->deadline = clock_ms() + PIPE_GRACE_MS;
	return queue(p, link_put_u32(&p->tx, LINK_SIGNAL, CHANNEL, SIGPIPE));
}

/* Writes what is pending; the rest stays. */
static int output_push(struct pump *p)
{
	struct outfd *dst = p->stuck;
	bool dead = dst == &p->out ? p->out_dead : p->err_dead;

	while (p->pending.len > 0 && !dead) {
		struct slice piece;
		ssize_t n = outfd_write(dst, p->pending.ptr, p->pending.len);
		int rc;

		if (n == -EAGAIN)
			return 0;
		if (n < 0) {
			rc = output_died(p, dst, (int)n);
			if (rc < 0)
				return rc;
			break;
		}
		if (slice_take(&p->pending, (size_t)n, &piece) < 0)
			return fail(p, -EPROTO, "more written than there was");
		pump_screen_wrote(&p->screen, piece, dst == &p->out);
		rc = give_credit(p, piece.len);
		if (rc < 0)
			return rc;
	}
	p->stuck = NULL;
	return give_credit(p, p->pending.len);
}

static int output(struct pump *p, const struct link_frame *f)
{
	int rc;

	if (f->type == LINK_STDERR && p->o->err_sink) {
		p->o->err_sink(p->o->arg, f->payload);
		return give_credit(p, f->payload.len);
	}
	if (f->type == LINK_STDERR && p->o->escape_err) {
		outfd_escaped(p->o->err, f->payload);
		pump_screen_wrote(&p->screen, f->payload, false);
		return give_credit(p, f->payload.len);
	}
	if (f->type == LINK_STDOUT && p->o->sink) {
		rc = p->o->sink(p->o->arg, f->payload);
		return rc < 0 ? rc : give_credit(p, f->payload.len);
	}
	p->stuck = f->type == LINK_STDOUT ? &p->out : &p->errout;
	p->pending = f->payload;
	return output_push(p);
}

/* Levels are those of enum log_level: 0 error, 1 warning. */
static int notice(struct pump *p, const struct link_frame *f)
{
	struct slice text;
	char line[1024];
	uint8_t level;

	if (link_get_text(f, &level, &text) < 0)
		return fail(p, -EPROTO, "acd sent a malformed notice");
	/* What comes before the process has begun is not about its end. */
	if (level <= 1 && (p->begun || p->o->shared))
		p->ret->noticed = true;
	else if (level > 1 && p->o->quiet)
		return 0;
	str_escape(line, sizeof(line), text.ptr, text.len);
	pump_screen_say(&p->screen, line, level <= 1, p->raw);
	return 0;
}

static int stdin_credit(struct pump *p, const struct link_frame *f)
{
	uint32_t more;

	if (link_get_u32(f, &more) < 0 ||
	    more > STDIN_CREDIT_MAX - p->stdin_credit)
		return fail(p, -EPROTO, "acd gave impossible credit");
	p->stdin_credit += more;
	return 0;
}

static int ended(struct pump *p, const struct link_frame *f)
{
	if (link_get_exit(f, &p->ret->exit) < 0)
		return fail(p, -EPROTO, "acd sent a malformed exit");
	finish(p, PUMP_EXIT, link_exit_code(&p->ret->exit));
	return 0;
}

static int frame(struct pump *p, const struct link_frame *f)
{
	if (f->channel != CHANNEL)
		return fail(p, -EPROTO, "acd sent a frame for another channel");
	p->begun |= f->type != LINK_CREDIT && f->type != LINK_NOTICE;
	switch (f->type) {
	case LINK_STARTED:
		return 0;
	case LINK_STDOUT:
	case LINK_STDERR:
		return output(p, f);
	case LINK_CREDIT:
		return stdin_credit(p, f);
	case LINK_NOTICE:
		return notice(p, f);
	case LINK_EXIT:
		return ended(p, f);
	default:
		return fail(p, -EPROTO, "acd sent an unexpected frame");
	}
}

/* Handles complete frames until one is stuck. */
static int frames(struct pump *p)
{
	while (!p->done && !p->stuck) {
		struct slice in =
			slice_of(p->rx + p->rx_start, p->rx_end - p->rx_start);
		size_t before = in.len;
		struct link_frame f;
		int rc = link_parse(&in, &f, NULL);

		if (rc == -EAGAIN)
			return 0;
		if (rc < 0)
			return fail(p, -EPROTO, "acd sent a malformed frame");
		p->rx_start += before - in.len;
		rc = frame(p, &f);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Called only with nothing pending: the buffer may be moved then. */
static int receive(struct pump *p)
{
	ssize_t n;

	if (p->rx_start == p->rx_end) {
		p->rx_start = p->rx_end = 0;
	} else if (RX_SIZE - p->rx_end < LINK_HEADER + LINK_PAYLOAD_MAX) {
		memmove(p->rx, p->rx + p->rx_start, p->rx_end - p->rx_start);
		p->rx_end -= p->rx_start;
		p->rx_start = 0;
	}
	n = recv(p->o->sock, p->rx + p->rx_end, RX_SIZE - p->rx_end,
		 MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return fail(p, -ECONNRESET, "the connection to acd was lost");
	p->rx_end += (size_t)n;
	return frames(p);
}

static int transmit(struct pump *p)
{
	while (buf_len(&p->tx) > 0) {
		struct slice s = buf_slice(&p->tx);
		ssize_t n = send(p->o->sock, s.ptr, s.len,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0) {
			/* What acd has sent before may still be read. */
			buf_consume(&p->tx, s.len);
			p->in_open = false;
			return 0;
		}
		buf_consume(&p->tx, (size_t)n);
	}
	return 0;
}

/* The terminal is gone, and with it the user. */
static int stdin_ended(struct pump *p)
{
	p->in_open = false;
	if (!p->raw)
		return queue(p, link_put(&p->tx, LINK_STDIN_EOF, CHANNEL, NULL,
					 0));
	finish(p, PUMP_GIVEN_UP, 128 + SIGHUP);
	return 0;
}

/* Reads typed bytes to @out, without the keys to detach. Keys that an earlier
 * call held back may be among them. */
static ssize_t typed_read(struct pump *p, uint8_t *out, size_t want,
			  bool *ret_leave)
{
	uint8_t typed[1024];
	size_t len;
	ssize_t n;

	/* Room that detach_feed() needs; wait_for() has made sure that there is
	 * more. */
	want -= DETACH_KEYS_MAX;
	n = read(p->in, typed, want < sizeof(typed) ? want : sizeof(typed));
	if (n <= 0)
		return n;
	*ret_leave = detach_feed(&p->detach, typed, (size_t)n, out, &len);
	if (len == 0 && !*ret_leave) {
		errno = EAGAIN;
		return -1;
	}
	return (ssize_t)len;
}

/* Input is not passed on: only the keys to detach matter. */
static int keys_read(struct pump *p)
{
	uint8_t out[1024 + DETACH_KEYS_MAX];
	bool leave = false;
	ssize_t n = typed_read(p, out, sizeof(out), &leave);

	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n <= 0 && !leave) {
		p->in_open = n < 0 && errno == EINTR;
		return 0;
	}
	if (!leave)
		return 0;
	finish(p, PUMP_DETACHED, 0);
	return queue(p, link_put(&p->tx, LINK_DETACH, CHANNEL, NULL, 0));
}

/* Reads stdin as one frame, straight into the queue. */
static ssize_t stdin_frame(struct pump *p, size_t want, bool *ret_leave)
{
	uint8_t *mem = buf_reserve(&p->tx, LINK_HEADER + want);
	ssize_t n;

	if (!mem) {
		errno = ENOMEM;
		return -1;
	}
	if (p->raw)
		n = typed_read(p, mem + LINK_HEADER, want, ret_leave);
	else
		n = read(p->in, mem + LINK_HEADER, want);
	if (n > 0)
		link_put_header(mem, LINK_STDIN, CHANNEL, (size_t)n);
	buf_commit(&p->tx, n > 0 ? LINK_HEADER + (size_t)n : 0);
	return n;
}

static int stdin_read(struct pump *p)
{
	size_t want = p->stdin_credit < LINK_PAYLOAD_MAX ? p->stdin_credit :
							   LINK_PAYLOAD_MAX;
	bool leave = false;
	ssize_t n;
	int rc = 0;

	if (p->o->keys_only)
		return keys_read(p);
	n = stdin_frame(p, want, &leave);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0 || (n == 0 && !leave))
		return stdin_ended(p);
	p->stdin_credit -= (uint32_t)n;
	if (p->o->on_stdin)
		p->o->on_stdin(p->o->arg, (size_t)n);
	if (leave) {
		rc = link_put(&p->tx, LINK_DETACH, CHANNEL, NULL, 0);
		finish(p, PUMP_DETACHED, 0);
	}
	return queue(p, rc);
}

static int resize(struct pump *p)
{
	uint16_t rows, cols;

	if (!p->o->tty || (term_size(p->o->in, &rows, &cols) < 0 &&
			   term_size(p->o->out, &rows, &cols) < 0))
		return 0;
	return queue(p, link_put_resize(&p->tx, CHANNEL, rows, cols));
}

/* Stopped from outside in raw mode: the shell needs its terminal back. */
static int suspend(struct pump *p)
{
	term_restore();
	kill(getpid(), SIGSTOP);
	if (p->raw)
		term_raw(p->o->in);
	else if (p->o->keys_only)
		term_keys(p->o->in);
	return resize(p);
}

static int on_signal(struct pump *p)
{
	uint32_t pass = 0;
	int signo = pump_signals_read(&p->signals);

	if (signo <= 0)
		return 0;
	if (signo == SIGWINCH)
		return resize(p);
	if (signo == SIGTSTP)
		return suspend(p);
	if (p->o->alone && !p->begun && signo != SIGUSR1 && signo != SIGUSR2) {
		finish(p, PUMP_GIVEN_UP, 128 + signo);
		return 0;
	}
	switch (pump_signals_decide(&p->signals, signo, p->raw, p->o->shared,
				    clock_ms(), &pass)) {
	case PUMP_SIGNAL_DETACH:
		finish(p, PUMP_DETACHED, 128 + signo);
		return queue(p,
			     link_put(&p->tx, LINK_DETACH, CHANNEL, NULL, 0));
	case PUMP_SIGNAL_GIVE_UP:
		finish(p, PUMP_GIVEN_UP, 128 + signo);
		break;
	case PUMP_SIGNAL_PASS:
		break;
	}
	return pass ? queue(p,
			    link_put_u32(&p->tx, LINK_SIGNAL, CHANNEL, pass)) :
		      0;
}

enum { FD_SOCK, FD_IN, FD_SIGNAL, FD_OUT, FD_N };

static int wait_for(struct pump *p, struct pollfd fds[FD_N])
{
	bool more_in = p->in_open && buf_len(&p->tx) < TX_STDIN &&
		       (p->o->keys_only ||
			p->stdin_credit > (p->raw ? DETACH_KEYS_MAX : 0));
	uint64_t now = clock_ms();
	int timeout = -1, sock = 0;

	if (!p->stuck)
		sock |= POLLIN;
	if (buf_len(&p->tx) > 0)
		sock |= POLLOUT;
	/* Not polled even for its end, which poll() would report again and
	 * again while the reader of our stdout is slow. */
	fds[FD_SOCK] =
		(struct pollfd){ sock ? p->o->sock : -1, (short)sock, 0 };
	fds[FD_IN] = (struct pollfd){ more_in ? p->in : -1, POLLIN, 0 };
	fds[FD_SIGNAL] = (struct pollfd){ p->signals.fd, POLLIN, 0 };
	fds[FD_OUT] =
		(struct pollfd){ p->stuck ? p->stuck->fd : -1, POLLOUT, 0 };
	if (p->deadline)
		timeout = p->deadline > now ? (int)(p->deadline - now) : 0;
	if (poll(fds, FD_N, timeout) < 0)
		return errno == EINTR ? 0 : err_sys(p->err, "poll");
	if (p->deadline && clock_ms() >= p->deadline)
		finish(p, PUMP_GIVEN_UP, 128 + SIGPIPE);
	return 1;
}

static int step(struct pump *p)
{
	struct pollfd fds[FD_N];
	int rc = wait_for(p, fds);

	if (rc <= 0 || p->done)
		return rc;
	rc = 0;
	if (fds[FD_SIGNAL].revents)
		rc = on_signal(p);
	if (rc == 0 && fds[FD_OUT].revents && p->stuck) {
		rc = output_push(p);
		if (rc == 0)
			rc = frames(p);
	}
	if (rc == 0 && !p->done && fds[FD_IN].revents)
		rc = stdin_read(p);
	if (rc == 0 && (fds[FD_SOCK].revents & ~POLLOUT) && !p->stuck &&
	    !p->done)
		rc = receive(p);
	/* Sends a new frame at once, without another poll. */
	return rc < 0 ? rc : transmit(p);
}

/* Sends what is queued for acd, for a short time at most. */
static void flush(struct pump *p)
{
	uint64_t until = clock_ms() + FLUSH_MS;

	while (buf_len(&p->tx) > 0 && clock_ms() < until) {
		struct pollfd fd = { p->o->sock, POLLOUT, 0 };

		if (poll(&fd, 1, FLUSH_MS) <= 0 || transmit(p) < 0)
			return;
	}
}

static bool same_file(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

static int pump_begin(struct pump *p)
{
	const struct pump_opts *o = p->o;
	int rc;

	p->rx = malloc(RX_SIZE);
	if (!p->rx)
		return fail(p, -ENOMEM, "out of memory");
	if (o->early.len > 0)
		memcpy(p->rx, o->early.ptr, o->early.len);
	p->rx_end = o->early.len;
	rc = fd_nonblock(o->sock, 1);
	if (rc == 0)
		rc = pump_signals_begin(&p->signals, o->tty || o->keys_only);
	if (rc < 0)
		return fail(p, rc, "cannot prepare signals");
	if (o->tty && o->in >= 0 && isatty(o->in) == 1) {
		rc = term_raw(o->in);
		if (rc < 0)
			return fail(p, rc, "cannot set the terminal");
		p->raw = true;
	} else if (o->keys_only) {
		rc = term_keys(o->in);
		if (rc < 0)
			return fail(p, rc, "cannot set the terminal");
	}
	return resize(p);
}

static void pump_finish(struct pump *p, int rc)
{
	term_restore();
	if (!p->out_dead)
		pump_screen_leave(&p->screen,
				  rc < 0 || p->ret->end != PUMP_EXIT ||
					  p->ret->exit.kind != LINK_EXITED);
	p->ret->mid_line = p->screen.mid_line;
	pump_screen_done(&p->screen);
	pump_signals_end(&p->signals);
	outfd_done(&p->out);
	outfd_done(&p->errout);
	fd_closep(&p->own_in);
	buf_done(&p->tx);
	free(p->rx);
}

int pump_run(const struct pump_opts *opts, struct pump_result *ret,
	     struct err *err)
{
	struct pump p = { .o = opts,
			  .ret = ret,
			  .err = err,
			  .stdin_credit = LINK_WINDOW,
			  .detach = opts->detach,
			  .in_open = opts->in >= 0 };
	int rc;

	memset(ret, 0, sizeof(*ret));
	signal(SIGPIPE, SIG_IGN);
	pump_signals_init(&p.signals);
	buf_init(&p.tx, TX_MAX);
	outfd_init(&p.out, opts->out);
	outfd_init(&p.errout, opts->err);
	p.own_in = outfd_open_in(opts->in);
	p.in = p.own_in >= 0 ? p.own_in : opts->in;
	pump_screen_init(&p.screen, opts->out, opts->err,
			 opts->tty && !opts->sink && isatty(opts->out) == 1,
			 !opts->sink && same_file(opts->out, opts->err));
	rc = pump_begin(&p);
	if (rc == 0)
		rc = frames(&p);
	while (rc == 0 && !p.done)
		rc = step(&p);
	if (rc == 0 && ret->end != PUMP_EXIT)
		flush(&p);
	pump_finish(&p, rc);
	return rc;
}
