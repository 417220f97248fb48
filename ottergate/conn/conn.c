/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn.c - one client connection: memory, handlers, begin and end
 *
 * A new TLS connection costs its system calls: accept4 and recv (the hello),
 * socket, setsockopt twice, connect, epoll_ctl, then send, epoll_ctl of the
 * client, recv and send of the answer, and at the end a recv, one call that
 * passes the end on, and two close. Any further call needs a good reason.
 *
 * A connection belongs to one worker from accept to end. An idle tunnel must
 * cost little memory, so it holds no buffer: bytes are read through the
 * worker's one copy buffer, and only what must wait gets memory of its own.
 */
#include "ottergate/conn/conn.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "ottergate/conn/conn_impl.h"
#include "lib/jsonw.h"
#include "ottergate/conn/relay.h"
#include "ottergate/conn/worker_impl.h"

#define CHUNK_MIN 512u
/* how long the client may continue after the last words */
#define DRAIN_MS 1000u
#define DRAIN_MAX (256u * 1024)
#define ABORT_BURST 8192u

_Static_assert(sizeof(struct conn) <= 384, "ten thousand idle ones: 10 MB");

/* --- memory --------------------------------------------------------------- */

/* Updates the memory that the sandbox is charged for @c. Called after each
 * event. */
static void conn_weigh(struct conn *c)
{
	size_t held;

	if (c->closing || !c->agent)
		return;
	held = sizeof(*c) + c->in.cap + relay_held(c);
	if (c->ops && c->ops->held)
		held += c->ops->held(c);
	if (held > UINT32_MAX)
		held = UINT32_MAX;
	usage_hold(&c->agent->usage, c->held, held);
	c->held = (uint32_t)held;
}

bool conn_may_read(const struct conn *c, size_t mine)
{
	if (!c->agent || !c->policy)
		return true;
	switch (usage_room(&c->agent->usage, agent_policy_limits(c->policy))) {
	case ROOM_FREE:
		return true;
	case ROOM_SCARCE:
		return mine < CONN_ROOM_LITTLE;
	case ROOM_NONE:
		break;
	}
	return mine == 0;
}

/* --- handlers ------------------------------------------------------------- */

/* The handlers only record events; conn_turn() handles them. */
static void conn_client(struct worker *w, struct ev *ev, uint32_t events)
{
	struct conn *c =
		(struct conn *)((char *)ev - offsetof(struct conn, client));

	ev->pending |= events;
	task_queue(w->shares, &c->task);
}

static void conn_upstream(struct worker *w, struct ev *ev, uint32_t events)
{
	struct conn *c =
		(struct conn *)((char *)ev - offsetof(struct conn, upstream));

	ev->pending |= events;
	task_queue(w->shares, &c->task);
}

static uint32_t pending_take(struct ev *ev, bool *hup, bool *failed)
{
	uint32_t events = ev->pending;

	ev->pending = 0;
	if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		*hup = true;
	if (events & EPOLLERR)
		*failed = true;
	return events;
}

static void conn_dial_ended(struct conn *c)
{
	/* A dial keeps the policy it began with: a change is checked now. */
	if (!conn_recheck(c))
		return;
	conn_reached(c, (enum reason)c->dial_why);
	c->ops->dialled(c, (enum reason)c->dial_why);
}

/* Does all pending work once; what handlers postpone is another turn. */
static void conn_turn(struct worker *w, struct task *t)
{
	struct conn *c =
		(struct conn *)((char *)t - offsetof(struct conn, task));
	const struct conn_ops *ops;
	unsigned what = c->again & ~CONN_LATE;
	uint32_t events;

	(void)w;
	/* A new deadline cancels it, so it comes last. */
	c->again &= CONN_LATE;
	if (what & CONN_BEGIN)
		conn_begin(c);
	if (what & CONN_DIALLED && !c->closing)
		conn_dial_ended(c);
	ops = c->ops;
	if (c->client.pending && !c->closing && c->client.fd >= 0) {
		events = pending_take(&c->client, &c->client_hup,
				      &c->client_err);
		c->ops->client(c, events);
	}
	if (c->upstream.pending && !c->closing && c->upstream.fd >= 0) {
		events = pending_take(&c->upstream, &c->upstream_hup,
				      &c->upstream_err);
		c->ops->upstream(c, events);
	}
	what &= ~(CONN_BEGIN | CONN_DIALLED);
	if (what && !c->closing && c->ops == ops)
		ops->again(c, what);
	if (c->again & CONN_LATE && !c->closing) {
		c->again &= (uint8_t)~CONN_LATE;
		c->ops->timeout(c);
	}
	conn_weigh(c);
}

void conn_again(struct conn *c, unsigned what)
{
	c->again |= (uint8_t)what;
	task_queue(c->worker->shares, &c->task);
}

void conn_own(struct conn *c, struct agent *a, const struct listener *l)
{
	task_init(c->worker->shares, &c->task, a, conn_turn);
	c->door = (uint8_t)l->kind;
	if (l->kind == LISTEN_FIXED)
		c->port = l->port;
	conn_again(c, CONN_BEGIN);
}

static void conn_timer(struct wheel_timer *t)
{
	struct conn *c =
		(struct conn *)((char *)t - offsetof(struct conn, timer));

	conn_again(c, CONN_LATE);
}

struct conn *conn_new(struct worker *w, int fd, const struct sockaddr_in *peer)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (!c) {
		close(fd);
		return NULL;
	}
	c->client = (struct ev){ .fn = conn_client, .fd = fd };
	c->upstream = (struct ev){ .fn = conn_upstream, .fd = -1 };
	c->timer.fn = conn_timer;
	c->worker = w;
	c->id = ++w->next_conn << 8 | w->index;
	c->started_ms = c->active_ms = w->now_ms;
	c->source_v4 = peer->sin_addr.s_addr;
	c->source_port = ntohs(peer->sin_port);
	c->next = w->conns;
	c->link = &w->conns;
	if (c->next)
		c->next->link = &c->next;
	w->conns = c;
	w->n_conns++;
	return c;
}

void conn_become(struct conn *c, const struct conn_ops *ops)
{
	if (c->ops && c->ops->free)
		c->ops->free(c);
	c->proto = NULL;
	c->ops = ops;
	c->again &= CONN_BEGIN | CONN_DIALLED;
}

int conn_watch(struct conn *c)
{
	int rc = 0;

	if (!c->watched)
		rc = worker_watch(c->worker, &c->client);
	c->watched = rc == 0;
	return rc;
}

void conn_deadline(struct conn *c, uint64_t ms)
{
	c->again &= (uint8_t)~CONN_LATE;
	if (ms)
		wheel_set(&c->worker->wheel, &c->timer, c->worker->now_ms, ms);
	else
		wheel_clear(&c->timer, &c->worker->wheel);
}

struct addr conn_source(const struct conn *c)
{
	return addr_v4(ntohl(c->source_v4));
}

/* --- bytes from the client ------------------------------------------------ */

void chunk_drop(struct chunk *k)
{
	free(k->mem);
	*k = (struct chunk){ 0 };
}

void chunk_compact(struct chunk *k)
{
	if (k->start == 0)
		return;
	memmove(k->mem, k->mem + k->start, k->end - k->start);
	k->end -= k->start;
	k->start = 0;
}

struct slice conn_pending(const struct conn *c)
{
	if (!c->in.mem)
		return slice_of(NULL, 0);
	return slice_of(c->in.mem + c->in.start, c->in.end - c->in.start);
}

static int chunk_append(struct chunk *k, const uint8_t *mem, size_t len)
{
	size_t want;

	if (k->start == k->end)
		k->start = k->end = 0;
	want = k->end + len;
	if (want > k->cap) {
		/* The first bytes are mostly all there are: allocate no more.
		 * Later ones come in small pieces: double. */
		size_t cap = k->cap ? 2 * (size_t)k->cap : CHUNK_MIN;
		uint8_t *bigger;

		if (cap < want)
			cap = want;
		if (cap > UINT32_MAX)
			return -ENOBUFS;
		bigger = realloc(k->mem, cap);
		if (!bigger)
			return -ENOMEM;
		k->mem = bigger;
		k->cap = (uint32_t)cap;
	}
	memcpy(k->mem + k->end, mem, len);
	k->end = (uint32_t)want;
	return 0;
}

ssize_t conn_fill(struct conn *c, size_t max)
{
	const struct worker_impl *im = c->worker->impl;
	ssize_t sum = 0;

	for (;;) {
		size_t want = conn_pending(c).len;
		ssize_t n;
		int rc;

		if (want >= max)
			return sum ? sum : -ENOBUFS;
		want = max - want < im->copy_size ? max - want : im->copy_size;
		n = recv(c->client.fd, im->copy, want, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return sum ? sum : -errno;
		if (n == 0) {
			c->client_eof = true;
			return sum;
		}
		rc = chunk_append(&c->in, im->copy, (size_t)n);
		if (rc < 0)
			return rc;
		sum += n;
		/* A short read has emptied the socket: later bytes make a new
		 * edge. Only an end that was reported already makes none. */
		if ((size_t)n < want && !c->client_hup)
			return sum;
	}
}

/* --- the upstream --------------------------------------------------------- */

static void conn_dialled(void *arg, enum reason why, const struct addr *peer)
{
	struct conn *c = arg;

	c->dial = NULL;
	/* If an address was asked for, that stays what is judged, even if a
	 * proxy's was dialled. */
	if (why == REASON_ALLOWED && c->name)
		c->dialled = *peer;
	c->dial_why = (uint8_t)why;
	conn_again(c, CONN_DIALLED);
}

int conn_dial(struct conn *c)
{
	struct verdict v = {
		.allow = true,
		.reason = c->observed ? REASON_OBSERVED : REASON_ALLOWED,
		.rule = c->rule,
		.use = c->use,
		.proto = c->proto_kind,
		.observed = c->observed,
	};
	struct name name = { 0 };
	struct dial_spec spec = {
		.agent = c->agent,
		.policy = c->policy,
		.verdict = &v,
		.name = &name,
		.addr = c->dialled,
		.port = c->port,
	};

	if (c->name) {
		name.len = (uint8_t)strnlen(c->name, NAME_LEN_MAX);
		memcpy(name.s, c->name, name.len);
	}
	if (c->rule)
		v.service = agent_policy_service(c->policy, &name, c->port);
	c->upstream_eof = c->upstream_hup = c->upstream_err = false;
	c->upstream.pending = 0; /* those of the previous upstream */
	c->again &= (uint8_t)~CONN_DIALLED;
	return dial_start(c->worker, &spec, &c->upstream, conn_dialled, c,
			  &c->dial);
}

/* Cancels the dial; ops->dialled is not called for it. */
static void conn_dial_cancel(struct conn *c)
{
	dial_cancel(c->dial);
	c->dial = NULL;
	c->again &= (uint8_t)~CONN_DIALLED; /* it may have ended already */
}

/* --- the end -------------------------------------------------------------- */

void conn_close(struct conn *c)
{
	struct worker *w = c->worker;

	if (c->closing)
		return;
	c->closing = true;
	wheel_clear(&c->timer, &w->wheel);
	task_done(&c->task);
	conn_dial_cancel(c);
	conn_audit_close(c);
	conn_become(c, NULL);
	relay_drop(c);
	chunk_drop(&c->in);
	fd_closep(&c->upstream.fd);
	fd_closep(&c->client.fd);
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	if (w->impl->sweep == c)
		w->impl->sweep = c->next;
	w->n_conns--;
	if (c->agent) {
		usage_hold(&c->agent->usage, c->held, 0);
		usage_close(&c->agent->usage, c->half_open);
	}
	agent_unref(c->agent);
	agent_policy_unref(c->policy);
	free(c->name);
	free(c->program);
	worker_free_later(w, c);
}

/*
 * Makes close() send a reset. RFC 9293 §3.10.5: an abort must be visible, so
 * that no peer takes what came so far for everything. But a reset discards
 * bytes that the kernel has not sent yet, although the other side sent them
 * before it failed: if there may be some, they are sent and a normal end
 * follows. @burst: bytes written recently; that many are in flight at once (RFC
 * 6928).
 */
static void fd_abort(int fd, uint32_t burst)
{
	const struct linger now = { .l_onoff = 1, .l_linger = 0 };
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	if (fd < 0)
		return;
	if (burst > ABORT_BURST &&
	    getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 &&
	    (info.tcpi_unacked || info.tcpi_notsent_bytes))
		return;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

void conn_reset(struct conn *c)
{
	/* The side that failed knows; a peer that is alive must be told. */
	if (!c->client_err)
		fd_abort(c->client.fd, c->burst[0]);
	if (!c->upstream_err)
		fd_abort(c->upstream.fd, c->burst[1]);
	conn_close(c);
}

static void drain_client(struct conn *c, uint32_t events)
{
	const struct worker_impl *im = c->worker->impl;
	ssize_t n = 1;

	(void)events;
	while (n > 0 && c->burst[1] < DRAIN_MAX) {
		n = recv(c->client.fd, im->copy, im->copy_size, 0);
		if (n > 0)
			c->burst[1] += (uint32_t)n;
	}
	/* Further bytes stay unread until the time is over: closing now would
	 * be a reset. */
	if (n <= 0 && (n == 0 || (errno != EAGAIN && errno != EINTR)))
		conn_close(c);
}

static void drain_upstream(struct conn *c, uint32_t events)
{
	(void)events;
	conn_close(c);
}

static const struct conn_ops drain_ops = {
	.client = drain_client,
	.upstream = drain_upstream,
	.timeout = conn_close,
};

void conn_say_and_close(struct conn *c, const void *words, size_t len)
{
	bool watched;

	conn_become(c, &drain_ops);
	conn_dial_cancel(c);
	relay_drop(c);
	chunk_drop(&c->in);
	fd_closep(&c->upstream.fd);
	c->burst[1] = 0;
	watched = c->watched;
	if (c->client_err ||
	    send(c->client.fd, words, len, MSG_NOSIGNAL) != (ssize_t)len ||
	    c->client_eof || shutdown(c->client.fd, SHUT_WR) < 0 ||
	    conn_watch(c) < 0) {
		conn_close(c);
		return;
	}
	conn_deadline(c, DRAIN_MS);
	/* Its last edge may have brought bytes that were not read, and a client
	 * whose sends are stuck makes no other. */
	if (watched)
		drain_client(c, 0);
}

/* --- the list of connections
 * ------------------------------------------------ */

static const char *conn_state(const struct conn *c)
{
	if (c->dial)
		return "dialling";
	if (c->upstream.fd >= 0)
		return "open";
	return c->ops == &drain_ops ? "closing" : "request";
}

int conn_json(const struct conn *c, struct buf *out)
{
	char text[ADDR_TEXT_MAX];
	struct addr source = conn_source(c);
	uint64_t now = c->worker->now_ms;
	struct jsonw j;

	jsonw_init(&j, out);
	jsonw_open(&j, NULL, '{');
	jsonw_u64(&j, "id", c->id);
	jsonw_str(&j, "agent", c->agent ? c->agent->id : NULL);
	jsonw_str(&j, "source", addr_text(&source, text));
	jsonw_u64(&j, "source_port", c->source_port);
	jsonw_str(&j, "path", path_name(c->path));
	jsonw_str(&j, "state", conn_state(c));
	jsonw_str(&j, "name", c->name);
	jsonw_u64(&j, "port", c->port);
	jsonw_str(&j, "rule", c->rule ? c->rule->id : NULL);
	jsonw_str(&j, "dialled",
		  c->dialled.family ? addr_text(&c->dialled, text) : NULL);
	jsonw_u64(&j, "up", c->up);
	jsonw_u64(&j, "down", c->down);
	jsonw_u64(&j, "age_ms", now - c->started_ms);
	jsonw_u64(&j, "idle_ms", now - c->active_ms);
	jsonw_close(&j, '}');
	return j.rc;
}
