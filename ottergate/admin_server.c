/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admin_server.c - answers on the admin socket
 *
 * Theory of operation
 *
 * One request a connection. The file's mode keeps others out, and the
 * kernel's word on the peer is asked besides: root, or who runs this. No
 * sandbox can see the socket.
 *
 *	READ → answered at once → FLUSH → closed
 *	     ↘ WAIT: a reload is on, bind and unbind come after it
 *	     ↘ ASKED → RELOADING: answered when that reload has ended
 *	     ↘ FOLLOW: lines until the client leaves, or lags too far behind
 *
 * An answer is collected in a bounded buffer and sent as the client takes it.
 * What workers have decided before a request is in the audit's file before its
 * answer: who has asked anything may read the file then.
 */
#include "ottergate/gate_impl.h"

#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/log.h"
#include "lib/sock.h"
#include "ottergate/admin.h"
#include "ottergate/jsonw.h"

#define CONNS_MAX 16u
#define FOLLOWERS_MAX 8u /* the others are for those that ask */
#define REQUEST_MS 10000u
#define ANSWER_MAX (128u * 1024 * 1024) /* 200,000 connections */
#define FOLLOW_MAX (1024u * 1024) /* a follower may lag by so much */
#define READ_SIZE (64u * 1024)
#define NEEDLE_MAX (32u + JSONW_ESCAPE_MAX * AUDIT_AGENT_MAX)

enum admin_state {
	ADMIN_READ,
	ADMIN_WAIT,
	ADMIN_ASKED,
	ADMIN_RELOADING,
	ADMIN_FOLLOWING,
	ADMIN_FLUSH,
};

struct admin_conn {
	struct admin_server *server;
	struct admin_conn *next, **link;
	struct loop_io *io;
	struct loop_timer *timer; /* the end, when it fires */
	struct audit_follow *follow;
	struct buf in, out;
	enum admin_state state;
	int fd;
	bool broken; /* the answer did not fit, or there was no memory */
	size_t needle_len;
	char needle[NEEDLE_MAX]; /* ,"agent":"ID" of a follower */
};

struct admin_server {
	struct gate *gate;
	struct loop_io *io;
	struct admin_conn *conns;
	size_t n_conns;
	int fd;
};

static void conn_free(struct admin_conn *c)
{
	if (c->follow)
		audit_unfollow(c->follow);
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	c->server->n_conns--;
	loop_del(c->io);
	loop_timer_free(c->timer);
	fd_closep(&c->fd);
	buf_done(&c->in);
	buf_done(&c->out);
	free(c);
}

static void conn_frame(struct admin_conn *c, enum admin_kind kind,
		       struct slice payload)
{
	if (!c->broken && admin_frame_put(&c->out, kind, payload) < 0)
		c->broken = true;
}

/* A text of any length, in pieces. */
static void conn_text(struct admin_conn *c, struct slice text)
{
	struct slice piece;

	while (text.len > 0) {
		size_t n = text.len < ADMIN_FRAME_MAX ? text.len :
							ADMIN_FRAME_MAX;

		if (slice_take(&text, n, &piece) < 0)
			return;
		conn_frame(c, ADMIN_DATA, piece);
	}
}

/* One request a connection: who says more, or leaves, is done. A client that
 * has only closed its sending side may still read the end of its answer. */
static void conn_wait(struct admin_conn *c)
{
	uint32_t out = buf_len(&c->out) > 0 ? EPOLLOUT : 0;

	loop_mod(c->io, c->state == ADMIN_FLUSH ? EPOLLOUT :
						  EPOLLIN | EPOLLRDHUP | out);
}

/* Sends what there is; frees @c when all is said or nobody listens. */
static void conn_flush(struct admin_conn *c)
{
	while (buf_len(&c->out) > 0) {
		struct slice s = buf_slice(&c->out);
		ssize_t n = send(c->fd, s.ptr, s.len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n <= 0) {
			conn_free(c);
			return;
		}
		buf_consume(&c->out, (size_t)n);
	}
	if (c->state == ADMIN_FLUSH && buf_len(&c->out) == 0)
		conn_free(c);
	else
		conn_wait(c);
}

/* The answer is complete; @err with a code: it is a failure. */
static void conn_end(struct admin_conn *c, const struct err *err)
{
	if (c->broken) { /* what fitted is not the answer */
		buf_done(&c->out);
		buf_init(&c->out, ANSWER_MAX);
		c->broken = false;
		conn_frame(c, ADMIN_ERROR,
			   slice_str("the answer is too long, or out of "
				     "memory"));
	} else if (err->code < 0) {
		conn_frame(c, ADMIN_ERROR, slice_str(err->msg));
	} else {
		conn_frame(c, ADMIN_END, slice_of(NULL, 0));
	}
	c->state = ADMIN_FLUSH;
	buf_done(&c->in);
	conn_flush(c);
}

/* --- answers ------------------------------------------------------------- */

/* The outcome of a load: {"ok":…,"generation":…,"error":…,"lint":[…]}. */
static void conn_lint(struct admin_conn *c, const struct lint *lint,
		      const struct err *err)
{
	struct gate *g = c->server->gate;
	struct buf out;
	struct jsonw w;

	buf_init(&out, ANSWER_MAX);
	jsonw_init(&w, &out);
	jsonw_open(&w, NULL, '{');
	jsonw_bool(&w, "ok", err->code >= 0);
	jsonw_u64(&w, "generation",
		  table_generation(gate_state_table(g->state)));
	if (err->code < 0)
		jsonw_str(&w, "error", err->msg);
	jsonw_open(&w, "lint", '[');
	for (size_t i = 0; i < lint->n; i++) {
		jsonw_open(&w, NULL, '{');
		jsonw_str(&w, "level", lint_level_name(lint->v[i].level));
		jsonw_str(&w, "code", lint->v[i].code);
		jsonw_str(&w, "text", lint->v[i].text);
		jsonw_close(&w, '}');
	}
	jsonw_close(&w, ']');
	jsonw_u64(&w, "dropped", lint->dropped);
	jsonw_close(&w, '}');
	if (w.r < 0)
		c->broken = true;
	conn_text(c, buf_slice(&out));
	buf_done(&out);
}

static int answer_ping(struct admin_conn *c, const struct admin_request *rq,
		       struct err *err ATTR_UNUSED)
{
	struct gate *g = c->server->gate;
	struct buf out;
	struct jsonw w;

	(void)rq;
	buf_init(&out, ADMIN_FRAME_MAX);
	jsonw_init(&w, &out);
	jsonw_open(&w, NULL, '{');
	jsonw_str(&w, "version", GATE_VERSION);
	jsonw_u64(&w, "pid", (uint64_t)getpid());
	jsonw_u64(&w, "uptime", (clock_ms() - g->started_ms) / 1000);
	jsonw_u64(&w, "generation",
		  table_generation(gate_state_table(g->state)));
	jsonw_close(&w, '}');
	conn_text(c, buf_slice(&out));
	buf_done(&out);
	return w.r;
}

static int answer_figures(struct admin_conn *c, const struct admin_request *rq,
			  struct err *err ATTR_UNUSED)
{
	struct metrics_view v = gate_metrics(c->server->gate);
	struct buf out;
	int r;

	buf_init(&out, ANSWER_MAX / 2);
	r = rq->verb == ADMIN_METRICS ? metrics_text(&v, &out) :
					metrics_json(&v, &out);
	conn_text(c, buf_slice(&out));
	buf_done(&out);
	return r;
}

static const struct table_entry *agent_find(struct admin_conn *c,
					    const struct admin_request *rq,
					    struct err *err)
{
	struct table *t = gate_state_table(c->server->gate->state);
	const struct table_entry *e = NULL;
	SCOPED_STR id = NULL;

	if (slice_dup_str(rq->a, &id) >= 0)
		e = table_find_id(t, id);
	if (!e)
		err_set(err, -ENOENT, "no agent %s", id ? id : "of this name");
	return e;
}

static int answer_show(struct admin_conn *c, const struct admin_request *rq,
		       struct err *err)
{
	const struct table_entry *e = agent_find(c, rq, err);
	struct buf out;
	int r;

	if (!e)
		return -ENOENT;
	buf_init(&out, ANSWER_MAX / 2);
	r = agent_policy_json(e->policy, &out);
	conn_text(c, buf_slice(&out));
	buf_done(&out);
	return r;
}

static int answer_check(struct admin_conn *c, const struct admin_request *rq,
			struct err *err)
{
	const struct table_entry *e = agent_find(c, rq, err);
	struct buf out;
	SCOPED_STR url = NULL;
	int r;

	if (!e)
		return -ENOENT;
	r = slice_dup_str(rq->b, &url);
	if (r < 0)
		return r;
	buf_init(&out, ADMIN_FRAME_MAX);
	r = gate_check(e->policy, url, &out, err);
	if (r >= 0)
		conn_text(c, buf_slice(&out));
	buf_done(&out);
	return r < 0 ? r : 0;
}

static void connection_line(void *arg, const char *json, size_t len)
{
	conn_frame(arg, ADMIN_DATA, slice_of(json, len));
}

static int answer_connections(struct admin_conn *c,
			      const struct admin_request *rq,
			      struct err *err ATTR_UNUSED)
{
	SCOPED_STR agent = NULL;
	int r = slice_dup_str(rq->a, &agent);

	if (r < 0)
		return r;
	workers_connections(c->server->gate->workers, agent[0] ? agent : NULL,
			    connection_line, c);
	return 0;
}

/* A line of the audit. Others' lines are told apart by their text: it is ours
 * and the agent's id stands in it once, quoted. */
static void follow_line(void *arg, const char *line, size_t len)
{
	struct admin_conn *c = arg;

	if (c->needle_len > 0 && !memmem(line, len, c->needle, c->needle_len))
		return;
	conn_frame(c, ADMIN_DATA, slice_of(line, len));
	/* Nothing is sent or freed while lines are handed round. */
	if (c->broken)
		loop_timer_set(c->timer, 0); /* too slow: it is cut off */
	else
		conn_wait(c);
}

static unsigned followers(const struct admin_server *s)
{
	unsigned n = 0;

	for (const struct admin_conn *c = s->conns; c; c = c->next)
		n += c->state == ADMIN_FOLLOWING;
	return n;
}

static int answer_follow(struct admin_conn *c, const struct admin_request *rq,
			 struct err *err)
{
	static const char key[] = ",\"agent\":\"";
	char *p = c->needle;

	if (rq->a.len > AUDIT_AGENT_MAX)
		return err_set(err, -EINVAL, "the agent's id is too long");
	if (followers(c->server) >= FOLLOWERS_MAX)
		return err_set(err, -EBUSY, "%u others follow the log already",
			       FOLLOWERS_MAX);
	if (rq->a.len > 0) {
		memcpy(p, key, sizeof(key) - 1);
		p = jsonw_put_escaped(p + sizeof(key) - 1, rq->a.ptr,
				      rq->a.len);
		*p++ = '"';
		c->needle_len = (size_t)(p - c->needle);
	}
	buf_init(&c->out, FOLLOW_MAX);
	c->follow = audit_follow(c->server->gate->audit, follow_line, c);
	if (!c->follow)
		return -ENOMEM;
	c->state = ADMIN_FOLLOWING;
	return 0;
}

static int answer_reload(struct admin_conn *c, const struct admin_request *rq,
			 struct err *err ATTR_UNUSED)
{
	(void)rq;
	c->state = ADMIN_ASKED;
	gate_reload_ask(c->server->gate->reload);
	return 0;
}

/* Bound: which text it was, too. */
static void change_note(struct gate *g, const char *id, bool bound)
{
	const struct table *t = gate_state_table(g->state);
	const struct table_entry *e = bound ? table_find_id(t, id) : NULL;
	char detail[192], hash[65];
	int n;

	n = snprintf(detail, sizeof(detail),
		     "\"%s\":true,\"generation\":%" PRIu64,
		     bound ? "bound" : "unbound", table_generation(t));
	if (e) {
		agent_policy_hash(e->policy, hash);
		snprintf(detail + n, sizeof(detail) - (size_t)n,
			 ",\"agent_policy\":\"%s\"", hash);
	}
	audit_note(g->audit, AUDIT_POLICY, id, detail);
}

static int answer_change(struct admin_conn *c, const struct admin_request *rq,
			 struct err *err)
{
	struct gate *g = c->server->gate;
	struct table *old;
	struct lint lint = { 0 };
	bool bind = rq->verb == ADMIN_BIND;
	SCOPED_STR id = NULL;
	int r;

	if (gate_reload_busy(g->reload)) {
		c->state = ADMIN_WAIT;
		return 0;
	}
	r = slice_dup_str(rq->a, &id);
	if (r < 0)
		return err_set(err, r, "the agent's id");
	old = table_ref(gate_state_table(g->state));
	r = bind ? gate_state_bind(g->state, id, (const char *)rq->b.ptr,
				   rq->b.len, &lint, err) :
		   gate_state_unbind(g->state, id, err);
	if (r >= 0) {
		gate_apply(g, old);
		change_note(g, id, bind);
	} else {
		table_unref(old);
	}
	conn_lint(c, &lint, err);
	lint_done(&lint);
	return r < 0 ? r : 0;
}

typedef int (*answer_fn)(struct admin_conn *c, const struct admin_request *rq,
			 struct err *err);

static const answer_fn answers[ADMIN_VERB_LAST + 1] = {
	[ADMIN_PING] = answer_ping,
	[ADMIN_STATS] = answer_figures,
	[ADMIN_METRICS] = answer_figures,
	[ADMIN_RELOAD] = answer_reload,
	[ADMIN_BIND] = answer_change,
	[ADMIN_UNBIND] = answer_change,
	[ADMIN_CHECK] = answer_check,
	[ADMIN_CONNECTIONS] = answer_connections,
	[ADMIN_FOLLOW] = answer_follow,
	[ADMIN_SHOW] = answer_show,
};

/* --- connections --------------------------------------------------------- */

/* Looks at what has come; may free @c. */
static void conn_request(struct admin_conn *c)
{
	struct slice in = buf_slice(&c->in);
	struct admin_request rq;
	struct err err = { 0 };
	int r = admin_request_read(&in, &rq);

	if (r == -EAGAIN)
		return;
	loop_timer_clear(c->timer);
	audit_pump(c->server->gate->audit);
	if (r < 0)
		err_set(&err, r, "this is no request");
	else
		r = answers[rq.verb](c, &rq, &err);
	if (r < 0 && err.code == 0)
		err_set(&err, r, "%s", err_text(r));
	if (r < 0 || c->state == ADMIN_READ)
		conn_end(c, &err);
}

/* Takes what the client sends; may free @c. */
static void conn_read(struct admin_conn *c)
{
	uint8_t *to = buf_reserve(&c->in, READ_SIZE);
	ssize_t n = to ? recv(c->fd, to, READ_SIZE, 0) : 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		buf_commit(&c->in, 0);
		return;
	}
	if (n <= 0) {
		conn_free(c);
		return;
	}
	buf_commit(&c->in, (size_t)n);
	conn_request(c);
}

static void conn_on_io(void *arg, uint32_t events)
{
	struct admin_conn *c = arg;

	if (events & (EPOLLHUP | EPOLLERR) || c->broken) {
		conn_free(c);
		return;
	}
	if (c->state == ADMIN_READ && events & EPOLLIN) {
		conn_read(c);
		return;
	}
	if (c->state != ADMIN_FLUSH && events & (EPOLLIN | EPOLLRDHUP)) {
		conn_free(c);
		return;
	}
	conn_flush(c);
}

static void conn_on_timer(void *arg)
{
	conn_free(arg);
}

static bool peer_may(int fd)
{
	uid_t uid = (uid_t)-1;

	return sock_peer(fd, NULL, &uid, NULL) == 0 &&
	       (uid == 0 || uid == geteuid());
}

/* Takes @fd. */
static void conn_new(struct admin_server *s, int fd)
{
	struct admin_conn *c = calloc(1, sizeof(*c));

	if (!c) {
		close(fd);
		return;
	}
	c->server = s;
	c->fd = fd;
	/* Room to read one more piece than the longest request has. */
	buf_init(&c->in, ADMIN_REQUEST_MAX + READ_SIZE);
	buf_init(&c->out, ANSWER_MAX);
	c->next = s->conns;
	c->link = &s->conns;
	if (c->next)
		c->next->link = &c->next;
	s->conns = c;
	s->n_conns++;
	c->timer = loop_timer_new(s->gate->loop, conn_on_timer, c);
	c->io = loop_add(s->gate->loop, fd, EPOLLIN | EPOLLRDHUP, conn_on_io,
			 c);
	if (!c->timer || !c->io)
		conn_free(c);
	else
		loop_timer_set(c->timer, REQUEST_MS);
}

static void server_on_accept(void *arg, uint32_t events ATTR_UNUSED)
{
	struct admin_server *s = arg;
	int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	if (s->n_conns < CONNS_MAX && peer_may(fd))
		conn_new(s, fd);
	else
		close(fd);
}

struct admin_server *admin_server_new(struct gate *g, int fd, struct err *err)
{
	struct admin_server *s = calloc(1, sizeof(*s));

	if (!s) {
		close(fd);
		err_nomem(err);
		return NULL;
	}
	s->gate = g;
	s->fd = fd;
	s->io = loop_add(g->loop, fd, EPOLLIN, server_on_accept, s);
	if (!s->io) {
		err_sys(err, "admin socket");
		admin_server_free(s);
		return NULL;
	}
	return s;
}

void admin_server_free(struct admin_server *s)
{
	if (!s)
		return;
	while (s->conns)
		conn_free(s->conns);
	loop_del(s->io);
	fd_closep(&s->fd);
	free(s);
}

void admin_server_reload_begins(struct admin_server *s)
{
	for (struct admin_conn *c = s->conns; c; c = c->next)
		if (c->state == ADMIN_ASKED)
			c->state = ADMIN_RELOADING;
}

void admin_server_reload_ended(struct admin_server *s, const struct lint *lint,
			       const struct err *err)
{
	struct admin_conn *c = s->conns, *next;

	for (; c; c = next) {
		next = c->next;
		if (c->state == ADMIN_RELOADING) {
			conn_lint(c, lint, err);
			conn_end(c, err);
		} else if (c->state == ADMIN_WAIT) {
			c->state = ADMIN_READ;
			conn_request(c);
		}
	}
}
