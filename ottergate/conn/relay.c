/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay.c - bytes both ways between two sockets
 *
 * Theory of operation: each direction is read into the worker's one copy buffer
 * and written at once, so that a connection whose peers keep up, and one that
 * is idle, hold no memory. Bytes that a full socket does not take wait in a
 * chunk of their own; until they are gone, nothing more is read in that
 * direction: that is the back pressure. A direction that has moved RELAY_FAT
 * bytes without a pause uses splice(2) through a pipe instead, which the worker
 * lends from a small pool and which is returned whenever it is empty.
 *
 * Events are edges: a direction is worked on until its source is empty, its
 * sink is full, its limit requires a rest, or its turn is over. A read that
 * returned less than asked for has emptied the socket, so EAGAIN is not read;
 * if the kernel has reported the end by then (EPOLLRDHUP), that is not read
 * either.
 *
 * The end of one direction is passed on (shutdown); the other continues. An
 * error ends both with a reset, so that no peer takes a part for the whole.
 */
#include "ottergate/conn/relay.h"

#include <string.h>
#include <sys/socket.h>

#include "ottergate/conn/conn_impl.h"
#include "ottergate/conn/relay_pipe.h"
#include "ottergate/conn/worker_impl.h"

struct relay_half {
	struct chunk left; /* read but not written */
	struct relay_pipe *pipe; /* the same, spliced */
	struct wheel_timer rest; /* armed while a limit requires a rest */
	struct conn *conn;
	bool up;
};

struct relay { /* exists only while something waits */
	struct relay_half half[2]; /* down, up */
};

/* conn_again(): down, up */
#define RELAY_PUMP CONN_OWN /* has more to move */
#define RELAY_RESTED (CONN_OWN << 2)

enum step {
	STEP_MORE, /* continue */
	STEP_WAIT, /* empty, full or resting: an event or the timer continues */
	STEP_EOF,
	STEP_DEAD, /* an error: reset both sides */
	STEP_GONE, /* the connection is closed */
};

static void relay_pump(struct conn *c, bool up);

static int source_fd(const struct conn *c, bool up)
{
	return up ? c->client.fd : c->upstream.fd;
}

static int sink_fd(const struct conn *c, bool up)
{
	return up ? c->upstream.fd : c->client.fd;
}

/* --- what waits ----------------------------------------------------------- */

static void relay_rested(struct wheel_timer *t)
{
	struct relay_half *h =
		(struct relay_half *)((char *)t -
				      offsetof(struct relay_half, rest));

	conn_again(h->conn, RELAY_RESTED << h->up);
}

size_t relay_held(const struct conn *c)
{
	if (!c->relay)
		return 0;
	return sizeof(*c->relay) + c->relay->half[0].left.cap +
	       c->relay->half[1].left.cap;
}

static struct relay *relay_need(struct conn *c)
{
	if (c->relay)
		return c->relay;
	c->relay = calloc(1, sizeof(*c->relay));
	for (unsigned up = 0; c->relay && up < 2; up++) {
		c->relay->half[up].conn = c;
		c->relay->half[up].up = up;
		c->relay->half[up].rest.fn = relay_rested;
	}
	return c->relay;
}

static bool half_waits(const struct relay_half *h)
{
	return h->left.mem || h->pipe || h->rest.link;
}

static bool relay_waits(const struct conn *c, bool up)
{
	return c->relay && half_waits(&c->relay->half[up]);
}

void relay_drop(struct conn *c)
{
	struct worker *w = c->worker;

	for (unsigned up = 0; c->relay && up < 2; up++) {
		struct relay_half *h = &c->relay->half[up];

		chunk_drop(&h->left);
		relay_pipe_put(w->impl, h->pipe);
		wheel_clear(&h->rest, &w->wheel);
	}
	free(c->relay);
	c->relay = NULL;
}

/* Frees c->relay if nothing waits: an idle tunnel has none. */
static void relay_tidy(struct conn *c)
{
	if (c->relay && !relay_waits(c, false) && !relay_waits(c, true))
		relay_drop(c);
}

/* --- limits --------------------------------------------------------------- */

/* @r: a result of usage_bytes(). */
static enum step relay_limit(struct conn *c, bool up, int rc)
{
	struct worker *w = c->worker;

	if (rc == 0)
		return STEP_MORE;
	if (rc < 0) {
		conn_limit(c, rc == -EDQUOT ? REASON_LIMIT_VOLUME :
					      REASON_LIMIT_KILLED);
		return STEP_GONE;
	}
	if (!relay_need(c))
		return STEP_DEAD;
	worker_count(w, COUNTER_THROTTLED, 1);
	wheel_set(&w->wheel, &c->relay->half[up].rest, w->now_ms, (uint64_t)rc);
	return STEP_WAIT;
}

/* Asked before bytes go up, since relay_account() comes after that. Returns
 * STEP_MORE, or STEP_GONE if the sandbox is killed. */
static enum step relay_may(struct conn *c, bool up)
{
	if (!up || !usage_is_killed(&c->agent->usage))
		return STEP_MORE;
	return relay_limit(c, up, -ECONNABORTED);
}

/* Counts @n written bytes. Returns STEP_MORE, or what the limits require. */
static enum step relay_account(struct conn *c, bool up, size_t n)
{
	struct worker *w = c->worker;
	int rc;

	if (n == 0)
		return STEP_MORE;
	c->active_ms = w->now_ms;
	*(up ? &c->up : &c->down) += n;
	if (c->burst[up] < RELAY_FAT)
		c->burst[up] += (uint32_t)n;
	worker_count(w, up ? COUNTER_BYTES_UP : COUNTER_BYTES_DOWN, n);
	rc = usage_bytes(&c->agent->usage, agent_policy_limits(c->policy), up,
			 n, w->now_ms);
	return relay_limit(c, up, rc);
}

/* Returns how much one step may move, so that a slow rate is smooth. */
static size_t step_size(const struct conn *c, bool up, size_t most)
{
	const struct limits *l = agent_policy_limits(c->policy);
	uint64_t rate = up ? l->up : l->down;

	if (rate == 0 || rate / 8 >= most)
		return most;
	return rate / 8 < 1024 ? 1024 : (size_t)(rate / 8);
}

/* --- copying -------------------------------------------------------------- */

static enum step errno_step(struct conn *c, bool up, bool reading)
{
	if (errno == EINTR)
		return STEP_MORE;
	if (errno == EAGAIN)
		return STEP_WAIT;
	/* the side that failed needs no reset */
	if (up == reading)
		c->client_err = true;
	else
		c->upstream_err = true;
	return STEP_DEAD;
}

/* The source is empty: decides whether that is the end. */
static enum step source_dry(const struct conn *c, bool up)
{
	if (up ? c->client_err : c->upstream_err)
		return STEP_DEAD;
	return (up ? c->client_hup : c->upstream_hup) ? STEP_EOF : STEP_WAIT;
}

/* Writes @k, which is c->in or the rest of a read. */
static enum step chunk_flush(struct conn *c, bool up, struct chunk *k)
{
	ssize_t m = send(sink_fd(c, up), k->mem + k->start, k->end - k->start,
			 MSG_NOSIGNAL);
	enum step limit;

	if (m < 0)
		return errno_step(c, up, false);
	k->start += (uint32_t)m;
	if (k->start == k->end)
		chunk_drop(k);
	limit = relay_account(c, up, (size_t)m);
	return limit == STEP_MORE && k->mem ? STEP_WAIT : limit;
}

static int relay_keep(struct conn *c, bool up, const uint8_t *mem, size_t len)
{
	struct chunk k = { .end = (uint32_t)len, .cap = (uint32_t)len };

	k.mem = malloc(len);
	if (!k.mem || !relay_need(c)) {
		free(k.mem);
		return -ENOMEM;
	}
	memcpy(k.mem, mem, len);
	c->relay->half[up].left = k;
	return 0;
}

static enum step relay_copy(struct conn *c, bool up)
{
	struct worker_impl *im = c->worker->impl;
	size_t want = step_size(c, up, im->copy_size);
	ssize_t n = recv(source_fd(c, up), im->copy, want, 0);
	enum step s, limit;
	ssize_t m;

	if (n < 0)
		return errno_step(c, up, true);
	if (n == 0)
		return STEP_EOF;
	m = send(sink_fd(c, up), im->copy, (size_t)n, MSG_NOSIGNAL);
	if (m < 0) {
		if (errno_step(c, up, false) == STEP_DEAD)
			return STEP_DEAD;
		m = 0;
	}
	s = (size_t)n < want ? source_dry(c, up) : STEP_MORE;
	if (m < n) {
		/* the end, if there is one, is read again later */
		s = STEP_WAIT;
		if (relay_keep(c, up, im->copy + m, (size_t)(n - m)) < 0)
			return STEP_DEAD;
	}
	limit = relay_account(c, up, (size_t)m);
	/* a resting direction finds the end again too */
	return limit == STEP_MORE ? s : limit;
}

/* --- splicing ------------------------------------------------------------- */

/* Writes what is in @p; afterwards @p waits, or is back in the pool. A partial
 * write does not mean that the sink is full: only EAGAIN causes an edge. */
static enum step pipe_drain(struct conn *c, bool up, struct relay_pipe *p)
{
	ssize_t m = relay_pipe_drain(p, sink_fd(c, up));
	enum step s = m < 0 ? errno_step(c, up, false) : STEP_MORE;
	enum step limit;

	if (c->relay)
		c->relay->half[up].pipe = NULL;
	if (s == STEP_DEAD || p->len == 0 || !relay_need(c)) {
		s = p->len ? STEP_DEAD : STEP_MORE;
		relay_pipe_put(c->worker->impl, p);
	} else {
		c->relay->half[up].pipe = p;
	}
	if (m <= 0)
		return s;
	worker_count(c->worker, COUNTER_SPLICED, (uint64_t)m);
	limit = relay_account(c, up, (size_t)m);
	return limit == STEP_MORE ? s : limit;
}

static enum step relay_splice(struct conn *c, bool up)
{
	struct worker_impl *im = c->worker->impl;
	struct relay_pipe *p = relay_pipe_get(im);
	ssize_t n;

	if (!p)
		return relay_copy(c, up);
	n = relay_pipe_fill(p, source_fd(c, up),
			    step_size(c, up, RELAY_PIPE_SIZE));
	if (n <= 0) {
		enum step s = n == 0 ? STEP_EOF : errno_step(c, up, true);

		relay_pipe_put(im, p);
		return s;
	}
	if ((size_t)n < RELAY_THIN)
		c->burst[up] = 0;
	return pipe_drain(c, up, p);
}

/* --- a direction ---------------------------------------------------------- */

static bool relay_ended(const struct conn *c, bool up)
{
	return up ? c->client_eof : c->upstream_eof;
}

/* The source has ended and everything was written. */
static void relay_end(struct conn *c, bool up)
{
	if (up)
		c->client_eof = true;
	else
		c->upstream_eof = true;
	if (c->client_eof && c->upstream_eof)
		conn_close(c);
	else if (shutdown(sink_fd(c, up), SHUT_WR) < 0)
		conn_reset(c);
	else
		relay_tidy(c);
}

static enum step relay_step(struct conn *c, bool up)
{
	struct relay_half *h = c->relay ? &c->relay->half[up] : NULL;

	if (relay_ended(c, up) || (h && h->rest.link))
		return STEP_WAIT;
	if (relay_may(c, up) == STEP_GONE)
		return STEP_GONE;
	if (h && h->pipe)
		return pipe_drain(c, up, h->pipe);
	if (h && h->left.mem)
		return chunk_flush(c, up, &h->left);
	if (c->burst[up] >= RELAY_FAT)
		return relay_splice(c, up);
	return relay_copy(c, up);
}

static void relay_pump(struct conn *c, bool up)
{
	enum step s = STEP_MORE;

	for (unsigned i = 0; s == STEP_MORE && i < RELAY_STEPS; i++)
		s = relay_step(c, up);
	switch (s) {
	case STEP_MORE:
		conn_again(c, RELAY_PUMP << up);
		break;
	case STEP_WAIT:
		relay_tidy(c);
		break;
	case STEP_EOF:
		relay_end(c, up);
		break;
	case STEP_DEAD:
		conn_reset(c);
		break;
	case STEP_GONE:
		break;
	}
}

/* The rest is over. */
static void relay_wake(struct conn *c, bool up)
{
	int rc = usage_rested(&c->agent->usage, agent_policy_limits(c->policy),
			      up, c->worker->now_ms);

	/* c->relay exists: resting again needs no memory */
	if (relay_limit(c, up, rc) == STEP_MORE)
		relay_pump(c, up);
}

/* --- events --------------------------------------------------------------- */

/* @up: the direction that this side is the source of. */
static void relay_event(struct conn *c, bool up, uint32_t events)
{
	if (c->worker->now_ms - c->active_ms > RELAY_LULL_MS)
		c->burst[0] = c->burst[1] = 0;
	/* A client that resets has abandoned the exchange: its last bytes are
	 * useless without the rest. A server may reset after its answer, which
	 * is read first, unless its end was seen. */
	if (events & EPOLLERR && (up || relay_ended(c, up))) {
		conn_reset(c);
		return;
	}
	if (events & ~(uint32_t)EPOLLOUT)
		relay_pump(c, up);
	if (events & ~(uint32_t)EPOLLIN && !c->closing && relay_waits(c, !up))
		relay_pump(c, !up);
}

static void relay_client(struct conn *c, uint32_t events)
{
	relay_event(c, true, events);
}

static void relay_upstream(struct conn *c, uint32_t events)
{
	relay_event(c, false, events);
}

/* --- deadlines ------------------------------------------------------------ */

static uint64_t until(uint64_t when, uint64_t now)
{
	return when > now ? when - now : 0;
}

/* The idle timeout is lazy: a busy connection sets no timer; one that fires too
 * early is set again for the rest. */
static void relay_timeout(struct conn *c)
{
	const struct timeouts *t = agent_policy_timeouts(c->policy);
	uint64_t now = c->worker->now_ms, never = UINT64_MAX;
	uint64_t idle = t->idle ? until(c->active_ms + t->idle, now) : never;
	uint64_t age = t->tunnel_max ?
			       until(c->started_ms + t->tunnel_max, now) :
			       never;
	uint64_t task = conn_expires_in(c);
	uint64_t left = idle < age ? idle : age;

	if (task < left)
		left = task;
	if (task == 0)
		conn_limit(c, REASON_EXPIRED);
	else if (age == 0)
		conn_limit(c, REASON_LIMIT_AGE);
	else if (idle == 0)
		conn_close(c);
	else
		conn_deadline(c, left == never ? 0 : left);
}

static void relay_again(struct conn *c, unsigned what)
{
	for (unsigned up = 0; up < 2 && !c->closing; up++) {
		if (what & RELAY_RESTED << up)
			relay_wake(c, up);
		else if (what & RELAY_PUMP << up)
			relay_pump(c, up);
	}
}

static const struct conn_ops relay_ops = {
	.client = relay_client,
	.upstream = relay_upstream,
	.timeout = relay_timeout,
	.again = relay_again,
};

/* Writes the client's first bytes. Returns false if the connection has
 * ended. */
static bool relay_first(struct conn *c)
{
	enum step s = relay_may(c, true);

	if (s == STEP_MORE)
		s = chunk_flush(c, true, &c->in);
	if (s == STEP_GONE)
		return false;
	if (s == STEP_DEAD || (c->in.mem && !relay_need(c))) {
		conn_reset(c);
		return false;
	}
	if (c->in.mem) {
		c->relay->half[1].left = c->in;
		c->in = (struct chunk){ 0 };
	}
	return true;
}

void conn_relay(struct conn *c)
{
	bool spoke = conn_pending(c).len > 0;

	conn_become(c, &relay_ops);
	/* An end that was seen is read again, and passed on then. */
	c->client_hup |= c->client_eof;
	c->upstream_hup |= c->upstream_eof;
	c->client_eof = c->upstream_eof = false;
	c->active_ms = c->worker->now_ms;
	relay_timeout(c);
	if (c->closing || (spoke && !relay_first(c)))
		return;
	if (!spoke)
		chunk_drop(&c->in);
	/*
	 * Earlier edges are gone: look. In TLS the server is silent until it
	 * has the hello, so its side need not be looked at; other servers may
	 * have spoken while the client did. A client that was not watched yet
	 * will get its edge.
	 */
	if (c->watched)
		relay_pump(c, true);
	else if (conn_watch(c) < 0)
		conn_close(c);
	if (!c->closing && (!spoke || c->proto_kind != RULE_TLS))
		relay_pump(c, false);
}
