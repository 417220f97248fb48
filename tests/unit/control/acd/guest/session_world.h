/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_world.h - a session whose guest is the test
 *
 * The test writes bytes into the other end of a socket pair and looks at
 * what comes back. A test program includes it once.
 */
#ifndef TESTS_UNIT_CONTROL_ACD_GUEST_SESSION_WORLD_H
#define TESTS_UNIT_CONTROL_ACD_GUEST_SESSION_WORLD_H

#include <sys/socket.h>

#include "control/acd/guest/session.h"
#include "lib/sock.h"
#include "tests/unit/step.h"
#include "tests/unit/tap.h"

struct world {
	struct loop *loop;
	struct session *s;
	int fd; /* the guest's end */
	struct buf rx; /* what the guest has read */
	size_t taken; /* of it, by the last guest_next() */
	int hellos, prepared, readies, logs, closed;
	struct err why;
	char log[LINK_TEXT_MAX + 1];
	char audit[LINK_TEXT_MAX + 1];
	int audits; /* lines of it */
	unsigned log_lines; /* that the guest said itself */
	uint64_t log_bytes;
	unsigned log_lost; /* lines, as far as it was told */
	bool log_cut, log_full, audit_cut; /* it was said that lines are not
					      there */
	bool free_on_ready, free_on_closed;
};

struct proc {
	struct world *w;
	struct channel *c;
	uint64_t bytes;
	struct link_exit x;
	int started, exited, credits;
	bool credit_at_once, close_on_output, free_session_on_output;
	bool close_on_exit;
};

static inline void on_hello(void *arg)
{
	struct world *w = arg;

	w->hellos++;
}

static inline void on_prepared(void *arg)
{
	struct world *w = arg;

	w->prepared++;
}

static inline void on_ready(void *arg)
{
	struct world *w = arg;

	w->readies++;
	if (w->free_on_ready) {
		session_free(w->s);
		w->s = NULL;
	}
}

static inline void on_log(void *arg, uint8_t level, const char *text)
{
	struct world *w = arg;

	(void)level;
	w->logs++;
	w->log_bytes += strlen(text);
	if (strstr(text, "more than acd takes")) {
		w->log_cut = true;
		w->log_lost += (unsigned)strtoul(text, NULL, 10);
	} else if (strstr(text, "not in this log")) {
		w->log_full = true;
		w->log_lost += (unsigned)strtoul(text, NULL, 10);
	} else {
		w->log_lines++;
	}
	snprintf(w->log, sizeof(w->log), "%s", text);
}

static inline void on_audit(void *arg, const char *json)
{
	struct world *w = arg;

	w->audits++;
	w->audit_cut |= strncmp(json, "{\"verdict\":\"lost\"", 17) == 0;
	snprintf(w->audit, sizeof(w->audit), "%s", json);
}

static inline void on_closed(void *arg, const struct err *err)
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
	.prepared = on_prepared,
	.ready = on_ready,
	.log = on_log,
	.audit = on_audit,
	.closed = on_closed,
};

static inline void on_started(void *arg, uint32_t pid)
{
	struct proc *p = arg;

	(void)pid;
	p->started++;
}

static inline void on_output(void *arg, enum link_type type, struct slice data)
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

static inline void on_stdin_credit(void *arg)
{
	struct proc *p = arg;

	p->credits++;
}

static inline void on_exited(void *arg, const struct link_exit *x)
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

static inline void world_init(struct world *w)
{
	int fds[2];

	*w = (struct world){ .loop = loop_new() };
	socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds);
	w->fd = fds[1];
	buf_init(&w->rx, 64u << 20);
	w->s = session_new(w->loop, fds[0], &ops, w);
}

static inline void world_done(struct world *w)
{
	session_free(w->s);
	if (w->fd >= 0)
		close(w->fd);
	buf_done(&w->rx);
	loop_free(w->loop);
}

/* The guest reads what there is. */
static inline void guest_read(struct world *w)
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
static inline bool guest_next(struct world *w, enum link_type type,
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

static inline void guest_write(struct world *w, const void *data, size_t len)
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

static inline void guest_frame(struct world *w, enum link_type type,
			       uint32_t ch, const void *data, size_t len)
{
	struct buf b = { .max = 1u << 20 };

	if (link_put(&b, type, ch, data, len) == 0)
		guest_write(w, buf_slice(&b).ptr, buf_len(&b));
	buf_done(&b);
}

static inline void guest_u32(struct world *w, enum link_type type, uint32_t ch,
			     uint32_t v)
{
	uint8_t p[4] = { (uint8_t)(v >> 24), (uint8_t)(v >> 16),
			 (uint8_t)(v >> 8), (uint8_t)v };

	guest_frame(w, type, ch, p, 4);
}

static inline void guest_exit(struct world *w, uint32_t ch,
			      enum link_exit_kind kind, uint32_t value)
{
	struct link_exit x = { .kind = kind, .value = value };
	struct buf b = { .max = 1u << 20 };

	if (link_put_exit(&b, ch, &x) == 0)
		guest_write(w, buf_slice(&b).ptr, buf_len(&b));
	buf_done(&b);
}

static inline void guest_hello(struct world *w)
{
	static const uint8_t hello[6] = { 0, LINK_VERSION, 0, 0, 0, 0 };

	guest_frame(w, LINK_HELLO, 0, hello, sizeof(hello));
	STEP_UNTIL(w->loop, w->hellos || w->closed);
}

static inline void guest_ready(struct world *w)
{
	const struct link_prepare p = { .ca = NULL };
	const struct link_assign a = { .name = "x" };

	guest_hello(w);
	session_prepare(w->s, &p);
	session_assign(w->s, &a);
	guest_frame(w, LINK_PREPARED, 0, NULL, 0);
	guest_frame(w, LINK_READY, 0, "\0", 2);
	STEP_UNTIL(w->loop, w->readies || w->closed);
}

static inline int proc_open(struct world *w, struct proc *p, uint32_t flags)
{
	static const char *const argv[] = { "cat", NULL };
	const struct link_exec x = { .flags = flags, .cwd = "", .argv = argv };

	p->w = w;
	return session_exec(w->s, &x, &chops, p, &p->c);
}

/* A frame that a test makes always fits. */
static inline void put(struct buf *b, int rc)
{
	(void)b;
	if (rc < 0)
		abort();
}

#endif
