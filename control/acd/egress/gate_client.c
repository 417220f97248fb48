/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_client.c - calls to the gateway's admin socket, in acd's loop
 *
 * The gateway passes on what sandboxes say, so its answers are bounded in
 * length and time, like those of a stranger.
 */
#include "control/acd/egress/gate_client.h"

#include <sodium.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "lib/buf.h"
#include "lib/sock.h"
#include "lib/str.h"

#define QUESTION_MS 10000u
#define FOLLOW_AGAIN_MS 200u /* pause before following a new gateway */
#define SECRET_ROOM (128u * 1024) /* bytes of an answer with a CA */
#define CHANGE_MS 60000u /* a reload of a million rules takes seconds */

enum lane { LANE_CHANGES, LANE_QUESTIONS, LANE_FOLLOW, LANES };

struct call {
	STAILQ_ENTRY(call) link;
	struct gate_client *client;
	enum lane lane;
	bool lines; /* a line for each frame */
	bool secret; /* wipe request and answer */
	struct buf out, in, text;
	gate_line_fn line; /* gets each frame at once; NULL: collect */
	gate_fn fn;
	void *arg;
	struct loop_io *io;
	struct loop_timer *timer;
	int fd;
};

struct gate_client {
	struct loop *loop;
	char *path;
	STAILQ_HEAD(calls, call) lane[LANES]; /* the first one is open */
	unsigned n;
	bool closing;
	struct loop_timer *kick; /* starts the first call of each lane */
	struct loop_timer *again; /* follows again */
	char *code, *agent; /* that is followed, one of them; NULL: none */
	gate_line_fn line;
	void *line_arg;
};

static void buf_end(const struct call *c, struct buf *b)
{
	if (c->secret && b->mem)
		sodium_memzero(b->mem, b->cap);
	buf_done(b);
}

static void call_free(struct call *c)
{
	loop_del(c->io);
	loop_timer_free(c->timer);
	fd_closep(&c->fd);
	buf_end(c, &c->out);
	buf_end(c, &c->in);
	buf_end(c, &c->text);
	free(c);
}

/* Removes the call and reports it; the loop starts the next one. */
static void call_end(struct call *c, const struct err *err)
{
	static const char nothing[] = "";
	struct gate_client *g = c->client;
	size_t len = buf_len(&c->text);
	const char *text = nothing;

	STAILQ_REMOVE(&g->lane[c->lane], c, call, link);
	g->n--;
	if (len > 0 && buf_append(&c->text, "", 1) == 0)
		text = (const char *)buf_slice(&c->text).ptr;
	else
		len = 0;
	if (!g->closing)
		loop_timer_set(g->kick, 0);
	c->fn(c->arg, text, len, err);
	call_free(c);
}

static void call_fail(struct call *c, int code)
{
	struct err err = { 0 };

	if (code == -ENOENT || code == -ECONNREFUSED)
		err_set(&err, code, "the gateway is down");
	else if (code == -EPIPE)
		err_set(&err, code, "the gateway went away");
	else
		err_set(&err, code, "the gateway: %s", err_text(code));
	call_end(c, &err);
}

static int text_add(struct call *c, struct slice payload)
{
	int rc = 0;

	if (c->line) {
		c->line(c->arg, (const char *)payload.ptr, payload.len);
		return 0;
	}
	rc = buf_append(&c->text, payload.ptr, payload.len);
	if (rc == 0 && c->lines)
		rc = buf_append(&c->text, "\n", 1);
	return rc == -ENOBUFS ? -EMSGSIZE : rc;
}

/* Takes complete frames. Returns 1 if the call has ended, and @c is freed. */
static int frames_take(struct call *c)
{
	struct slice in = buf_slice(&c->in);
	struct admin_frame f;
	struct err err = { 0 };
	char words[sizeof(err.msg)];
	int rc;

	while ((rc = admin_frame_read(&in, &f)) == 0) {
		if (f.kind == ADMIN_END) {
			call_end(c, NULL);
			return 1;
		}
		if (f.kind == ADMIN_ERROR) {
			str_escape(words, sizeof(words), f.payload.ptr,
				   f.payload.len);
			err_set(&err, -EINVAL, "%s", words);
			call_end(c, &err);
			return 1;
		}
		rc = text_add(c, f.payload);
		if (rc < 0)
			return rc;
	}
	buf_consume(&c->in, buf_len(&c->in) - in.len);
	return rc == -EAGAIN ? 0 : -EPROTO;
}

static void call_read(struct call *c)
{
	uint8_t *to = buf_reserve(&c->in, 65536);
	ssize_t n;
	int rc;

	if (!to) {
		call_fail(c, -ENOMEM);
		return;
	}
	n = recv(c->fd, to, 65536, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		call_fail(c, -EPIPE);
		return;
	}
	buf_commit(&c->in, (size_t)n);
	rc = frames_take(c);
	if (rc < 0)
		call_fail(c, rc);
}

static void on_io(void *arg, uint32_t events)
{
	struct call *c = arg;
	struct slice out = buf_slice(&c->out);

	if (out.len > 0 && events & EPOLLOUT) {
		ssize_t n = send(c->fd, out.ptr, out.len, MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN && errno != EINTR) {
			call_fail(c, -EPIPE);
			return;
		}
		if (n > 0 && c->secret)
			sodium_memzero(c->out.mem + c->out.start, (size_t)n);
		if (n > 0)
			buf_consume(&c->out, (size_t)n);
		if (buf_len(&c->out) == 0)
			loop_mod(c->io, EPOLLIN);
		return;
	}
	call_read(c);
}

static void on_timer(void *arg)
{
	call_fail(arg, -ETIMEDOUT);
}

/* A unix socket connects at once, or its backlog is full. */
static int call_connect(struct call *c)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	const char *path = c->client->path;

	if (strlen(path) >= sizeof(sa.sun_path))
		return -ENAMETOOLONG;
	memcpy(sa.sun_path, path, strlen(path));
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		return -errno;
	c->io = loop_add(c->client->loop, c->fd, EPOLLIN | EPOLLOUT, on_io, c);
	return c->io ? 0 : -ENOMEM;
}

static void on_kick(void *arg)
{
	struct gate_client *g = arg;

	for (int i = 0; i < LANES; i++) {
		struct call *c = STAILQ_FIRST(&g->lane[i]);
		int rc;

		if (!c || c->fd >= 0)
			continue;
		rc = call_connect(c);
		if (rc < 0)
			call_fail(c, rc);
		else if (i != LANE_FOLLOW)
			loop_timer_set(c->timer, i == LANE_CHANGES ?
							 CHANGE_MS :
							 QUESTION_MS);
	}
}

static struct call *call_new(struct gate_client *g, enum admin_verb verb)
{
	struct call *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->client = g;
	c->fd = -1;
	c->lines = verb == ADMIN_CONNECTIONS;
	c->secret = verb == ADMIN_SECRETS || verb == ADMIN_CA;
	c->lane = verb == ADMIN_FOLLOW ? LANE_FOLLOW :
		  c->secret || verb == ADMIN_BIND || verb == ADMIN_UNBIND ||
				  verb == ADMIN_RELOAD ?
					 LANE_CHANGES :
					 LANE_QUESTIONS;
	buf_init(&c->out, ADMIN_REQUEST_MAX + 64);
	buf_init(&c->in, 2 * ADMIN_FRAME_MAX);
	buf_init(&c->text, GATE_ANSWER_MAX);
	c->timer = loop_timer_new(g->loop, on_timer, c);
	/* Reserved at once: a buffer that grows leaves copies behind. */
	if (c->timer && (!c->secret || (buf_reserve(&c->in, SECRET_ROOM) &&
					buf_reserve(&c->text, SECRET_ROOM))))
		return c;
	call_free(c);
	return NULL;
}

int gate_call(struct gate_client *g, enum admin_verb verb, struct slice a,
	      struct slice b, gate_fn fn, void *arg)
{
	struct call *c;
	int rc;

	if (g->closing)
		return -ECANCELED;
	if (g->n >= GATE_CALLS_MAX)
		return -EBUSY;
	c = call_new(g, verb);
	if (!c)
		return -ENOMEM;
	rc = admin_request_put(&c->out, verb, a, b);
	if (rc < 0) {
		call_free(c);
		return rc;
	}
	c->fn = fn;
	c->arg = arg;
	STAILQ_INSERT_TAIL(&g->lane[c->lane], c, link);
	g->n++;
	loop_timer_set(g->kick, 0);
	return 0;
}

/* ---- following ---- */

static void on_line(void *arg, const char *line, size_t len)
{
	struct gate_client *g = arg;

	g->line(g->line_arg, line, len);
}

static void on_follow_end(void *arg, const char *text, size_t len,
			  const struct err *err)
{
	struct gate_client *g = arg;

	(void)text;
	(void)len;
	(void)err;
	if (!g->closing)
		loop_timer_set(g->again, FOLLOW_AGAIN_MS);
}

static void on_again(void *arg)
{
	struct gate_client *g = arg;
	struct call *c;

	if (gate_call(g, ADMIN_FOLLOW, slice_str(g->agent), slice_str(g->code),
		      on_follow_end, g) < 0) {
		loop_timer_set(g->again, FOLLOW_AGAIN_MS);
		return;
	}
	c = STAILQ_FIRST(&g->lane[LANE_FOLLOW]);
	c->line = on_line;
}

/* Takes @what, the text of @at. */
static int follow(struct gate_client *g, char **at, char *what, gate_line_fn fn,
		  void *arg)
{
	*at = what;
	g->line = fn;
	g->line_arg = arg;
	g->again = loop_timer_new(g->loop, on_again, g);
	if (!what || !g->again)
		return -ENOMEM;
	loop_timer_set(g->again, 0);
	return 0;
}

int gate_follow(struct gate_client *g, const char *code, gate_line_fn fn,
		void *arg)
{
	return follow(g, &g->code, strdup(code), fn, arg);
}

int gate_follow_agent(struct gate_client *g, const char *agent, gate_line_fn fn,
		      void *arg)
{
	return follow(g, &g->agent, strdup(agent), fn, arg);
}

struct gate_client *gate_client_new(struct loop *loop, const char *sock_path,
				    struct err *err)
{
	struct gate_client *g = calloc(1, sizeof(*g));

	if (g) {
		g->loop = loop;
		for (int i = 0; i < LANES; i++)
			STAILQ_INIT(&g->lane[i]);
		g->path = strdup(sock_path);
		g->kick = loop_timer_new(loop, on_kick, g);
	}
	if (g && g->path && g->kick)
		return g;
	gate_client_free(g);
	err_nomem(err);
	return NULL;
}

void gate_client_free(struct gate_client *g)
{
	struct call *c;

	if (!g)
		return;
	g->closing = true;
	for (int i = 0; i < LANES; i++)
		while ((c = STAILQ_FIRST(&g->lane[i])))
			call_fail(c, -ECANCELED);
	loop_timer_free(g->kick);
	loop_timer_free(g->again);
	free(g->code);
	free(g->agent);
	free(g->path);
	free(g);
}
