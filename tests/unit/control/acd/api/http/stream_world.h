/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_world.h - a client's connection against a run made of notes
 *
 * The functions of run.c and of the log that a stream calls are defined here:
 * they write down what was asked of the run. A test program includes it
 * once.
 */
#ifndef TESTS_UNIT_CONTROL_ACD_API_HTTP_STREAM_WORLD_H
#define TESTS_UNIT_CONTROL_ACD_API_HTTP_STREAM_WORLD_H

#include <sys/socket.h>

#include "control/acd/api/http/stream.h"
#include "tests/unit/step.h"
#include "tests/unit/tap.h"

struct run {
	const struct run_watch_ops *ops; /* NULL: nobody watches */
	void *arg;
	bool tty, eof;
	size_t room, got; /* of stdin */
	uint64_t credited;
	int abandoned, detached;
	uint32_t signo;
	uint16_t rows;
};

struct run_watch {
	struct run *r;
};

struct run_watch *run_watch_add(struct run *r, const struct run_watch_ops *ops,
				void *arg)
{
	struct run_watch *w = calloc(1, sizeof(*w));

	w->r = r;
	r->ops = ops;
	r->arg = arg;
	return w;
}

void run_watch_credit(struct run_watch *w, uint32_t bytes)
{
	w->r->credited += bytes;
}

void run_watch_free(struct run_watch *w)
{
	if (w)
		w->r->ops = NULL;
	free(w);
}

/* ---- the log, of which nothing is kept but its length ---- */

struct instance_log {
	struct run *r;
};

static uint64_t log_end, log_pos, log_lost;
static int log_fails; /* what reading it comes to */

struct instance *run_instance(const struct run *r)
{
	return (struct instance *)(uintptr_t)r;
}

int instance_log_open(struct instance *in, uint64_t lines, uint64_t bytes,
		      void (*wake)(void *arg), void *arg,
		      struct instance_log **ret, struct err *err)
{
	(void)lines;
	(void)bytes;
	(void)wake;
	(void)arg;
	(void)err;
	*ret = calloc(1, sizeof(**ret));
	(*ret)->r = (struct run *)in;
	log_pos = log_end;
	return 0;
}

ssize_t instance_log_read(struct instance_log *l, void *data, size_t len,
			  uint64_t *ret_skipped)
{
	(void)l;
	*ret_skipped = log_lost;
	log_pos += log_lost;
	log_lost = 0;
	if (log_fails < 0)
		return log_fails;
	if (len > log_end - log_pos)
		len = (size_t)(log_end - log_pos);
	memset(data, 'l', len);
	log_pos += len;
	return (ssize_t)len;
}

void instance_log_close(struct instance_log *l)
{
	free(l);
}

bool run_is_tty(const struct run *r)
{
	return r->tty;
}

size_t run_stdin_room(const struct run *r)
{
	return r->room;
}

int run_stdin(struct run *r, const void *data, size_t len)
{
	(void)data;
	r->room -= len;
	r->got += len;
	return 0;
}

int run_stdin_eof(struct run *r)
{
	r->eof = true;
	return 0;
}

int run_signal(struct run *r, uint32_t signo)
{
	r->signo = signo;
	return 0;
}

int run_resize(struct run *r, uint16_t rows, uint16_t cols)
{
	(void)cols;
	r->rows = rows;
	return 0;
}

void run_abandon(struct run *r)
{
	r->abandoned++;
}

void run_detach(struct run *r)
{
	r->detached++;
}

/* ---- the client ---- */

struct client {
	struct loop *loop;
	struct run run;
	struct stream *st;
	int fd, far; /* ours, the stream's (until it has it) */
	struct buf rx;
	bool eof;
	uint64_t output; /* bytes of it */
	uint64_t credit; /* for stdin */
	int started, notices, exits;
};

static inline void client_init(struct client *c, enum stream_role role)
{
	int fds[2];

	*c = (struct client){ .loop = loop_new(), .run.room = LINK_WINDOW };
	socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds);
	c->fd = fds[0];
	c->far = fds[1];
	buf_init(&c->rx, 64u << 20);
	c->st = stream_new(c->loop, &c->run, role);
}

static inline void client_connect(struct client *c)
{
	stream_connect(c->st, c->far, slice_of(NULL, 0));
}

/* Reads what there is and counts it; the order is checked, too. */
static inline void client_read(struct client *c)
{
	char tmp[65536];
	struct slice all;
	struct link_frame f;
	uint32_t v;
	ssize_t n;

	while ((n = read(c->fd, tmp, sizeof(tmp))) > 0) {
		if (buf_append(&c->rx, tmp, (size_t)n) < 0)
			abort();
	}
	c->eof |= n == 0 || (n < 0 && errno == ECONNRESET);
	all = buf_slice(&c->rx);
	while (link_parse(&all, &f, NULL) == 0) {
		if (c->exits)
			ok(false, "nothing comes after EXIT");
		if (f.type == LINK_STARTED)
			c->started++;
		else if (f.type == LINK_NOTICE)
			c->notices++;
		else if (f.type == LINK_EXIT)
			c->exits++;
		else if (f.type == LINK_CREDIT && link_get_u32(&f, &v) == 0)
			c->credit += v;
		else
			c->output += f.payload.len;
	}
	buf_consume(&c->rx, buf_len(&c->rx) - all.len);
}

static inline void client_settle(struct client *c)
{
	int i;

	for (i = 0; i < 40 && !c->eof; i++) {
		client_read(c);
		step(c->loop);
	}
	client_read(c);
}

static inline void client_send(struct client *c, const void *data, size_t len)
{
	const char *p = data;
	ssize_t n;
	int tries = 0;

	while (len > 0 && tries < 1000) {
		n = send(c->fd, p, len, MSG_NOSIGNAL);
		if (n > 0) {
			p += n;
			len -= (size_t)n;
			continue;
		}
		if (errno != EAGAIN)
			return;
		tries++;
		step(c->loop);
	}
}

static inline void client_frame(struct client *c, enum link_type type,
				uint32_t ch, const void *data, size_t len)
{
	struct buf b = { .max = 1u << 20 };

	if (link_put(&b, type, ch, data, len) == 0)
		client_send(c, buf_slice(&b).ptr, buf_len(&b));
	buf_done(&b);
}

static inline void client_give(struct client *c, uint32_t bytes)
{
	struct buf b = { .max = 64 };

	if (link_put_u32(&b, LINK_CREDIT, 1, bytes) == 0)
		client_send(c, buf_slice(&b).ptr, buf_len(&b));
	buf_done(&b);
}

static inline void client_done(struct client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	step_for(c->loop, 3);
	stream_close_all();
	buf_done(&c->rx);
	loop_free(c->loop);
}

static inline void run_emit(struct client *c, size_t len)
{
	static const uint8_t block[LINK_PAYLOAD_MAX];
	size_t part;

	for (; len > 0; len -= part) {
		part = len < sizeof(block) ? len : sizeof(block);
		log_end += part;
		c->run.ops->output(c->run.arg, LINK_STDOUT,
				   slice_of(block, part));
	}
}

static inline void run_end(struct client *c)
{
	const struct link_exit x = { .kind = LINK_EXITED, .value = 4 };

	c->run.ops->exited(c->run.arg, &x);
}

#endif
