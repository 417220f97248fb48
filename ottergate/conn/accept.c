/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accept.c - accepts connections, identifies their sandbox, starts a protocol
 *
 * Theory of operation: the source address is the identity; an unknown address
 * gets nothing, not even a read. Limits come next; a connection within them
 * waits for its turn (share.h), which begins with the first bytes. They are
 * often there already: a connection whose hello came whole is never watched
 * before its relay begins.
 *
 * The listener is level-triggered (worker.c), so a round need not accept until
 * there is nothing more. The number it takes adapts to the load, because an
 * accept4() in vain costs as much as a successful one.
 */
#include "ottergate/conn/conn_impl.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/netfilter_ipv4.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "ottergate/conn/worker_impl.h"

#define FIRST_MAX 2048u /* bytes read to recognise the protocol */
#define TLS_HANDSHAKE 0x16 /* RFC 8446 §5.1 */
#define METHOD_MAX 20u
#define FULL_ROUNDS 8u /* then a round may take twice as many */

/* --- the first byte ------------------------------------------------------- */

/* Returns true if @in is a registered method (RFC 9110 §9.1) or the beginning
 * of one. The first letter alone would make SSH wait for an HTTP answer. */
static bool first_is_http(struct slice in)
{
	size_t i = 0;

	while (i < in.len && i < METHOD_MAX &&
	       ((in.ptr[i] >= 'A' && in.ptr[i] <= 'Z') ||
		(i > 0 && in.ptr[i] == '-')))
		i++;
	return i > 0 && (i == in.len || in.ptr[i] == ' ');
}

/* Chooses the protocol by the first bytes. */
static void first_dispatch(struct conn *c)
{
	struct slice in = conn_pending(c);

	if (in.ptr[0] == TLS_HANDSHAKE) {
		tunnel_begin(c, NULL);
		return;
	}
	if (first_is_http(in) && conn_watch(c) == 0) {
		c->path = PATH_HTTP;
		conn_deadline(c,
			      agent_policy_timeouts(c->policy)->request_header);
		http_begin(c);
		return;
	}
	conn_refuse(c, REASON_NOT_TLS, NULL);
	conn_close(c);
}

static void first_left(struct conn *c)
{
	conn_left(c);
	conn_close(c);
}

static void first_client(struct conn *c, uint32_t events)
{
	ssize_t n = conn_fill(c, FIRST_MAX);

	(void)events;
	if (n > 0)
		first_dispatch(c);
	else if (n != -EAGAIN)
		first_left(c);
}

static void first_upstream(struct conn *c, uint32_t events)
{
	(void)events;
	conn_close(c); /* there is none */
}

static void first_timeout(struct conn *c)
{
	conn_refuse(c, REASON_HELLO_TIMEOUT, NULL);
	conn_close(c);
}

static const struct conn_ops first_ops = {
	.client = first_client,
	.upstream = first_upstream,
	.timeout = first_timeout,
};

static void first_begin(struct conn *c)
{
	ssize_t n = conn_fill(c, FIRST_MAX);

	c->path = PATH_TLS;
	if (n > 0) {
		first_dispatch(c);
		return;
	}
	if (n != -EAGAIN || conn_watch(c) < 0) {
		first_left(c);
		return;
	}
	/* The deadline covers the whole hello (T8), whatever comes. */
	conn_deadline(c, agent_policy_timeouts(c->policy)->hello);
}

/* --- the destination
 * -------------------------------------------------------- */

/* Reads the destination, for the log and the port. It is dialled only if an
 * `ips` rule allows the address itself and no name is given
 * (conn/tls_front.c). */
static int original_read(struct conn *c)
{
	struct sockaddr_in sa = { 0 };
	socklen_t len = sizeof(sa);

	if (getsockopt(c->client.fd, SOL_IP, SO_ORIGINAL_DST, &sa, &len) < 0)
		return -errno;
	c->original = addr_v4(ntohl(sa.sin_addr.s_addr));
	c->port = ntohs(sa.sin_port);
	return 0;
}

/* Returns true if @name has no first bytes to wait for at this port. A name of
 * a `proto: tcp` rule may have rules for TLS or HTTP at other ports: there the
 * first bytes decide, as everywhere. */
static bool speaks_tcp(const struct conn *c, const struct name *name)
{
	const struct request rq = {
		.path = PATH_TCP,
		.name = name,
		.port = c->port,
	};
	struct verdict v = decide(c->policy, &rq);

	return v.allow || (v.reason != REASON_PORT && v.reason != REASON_PROTO);
}

void conn_begin(struct conn *c)
{
	const struct name *name;

	switch ((enum listener_kind)c->door) {
	case LISTEN_PROXY:
		c->path = PATH_PROXY;
		conn_deadline(c,
			      agent_policy_timeouts(c->policy)->request_header);
		if (conn_watch(c) < 0)
			conn_close(c);
		else
			http_begin(c);
		return;
	case LISTEN_TRANSPARENT:
		/* Not redirected: no port was asked for. */
		if (original_read(c) < 0) {
			conn_refuse(c, REASON_PORT, NULL);
			conn_close(c);
			return;
		}
		name = agent_policy_synthetic_name(c->policy, &c->original);
		if (name && speaks_tcp(c, name)) {
			tcp_begin(c, name);
			return;
		}
		break;
	default:
		break;
	}
	first_begin(c);
}

/* --- accepting ------------------------------------------------------------ */

static void accept_one(struct worker *w, const struct listener *l, int fd,
		       const struct sockaddr_in *peer, struct share_bill *bill)
{
	struct addr source = addr_of((const struct sockaddr *)peer);
	const struct table_entry *e = table_find(w->table, &source);
	enum reason why;
	struct conn *c;

	worker_count(w, COUNTER_ACCEPTED, 1);
	share_bill_add(bill, e ? e->agent : NULL);
	if (!e) {
		conn_audit_stranger(w, &source, ntohs(peer->sin_port),
				    REASON_NO_AGENT);
		close(fd);
		return;
	}
	c = conn_new(w, fd, peer);
	if (!c) {
		worker_count(w, COUNTER_NO_FILES, 1);
		return;
	}
	c->ops = &first_ops;
	c->policy = agent_policy_ref(e->policy);
	c->agent = agent_ref(e->agent);
	why = w->n_conns > w->impl->max_conns ?
		      REASON_LIMIT_CONNS :
		      usage_open(&e->agent->usage,
				 agent_policy_limits(c->policy), w->now_ms);
	if (why != REASON_ALLOWED) {
		conn_turn_away(c, why);
		agent_unref(c->agent);
		c->agent = NULL; /* not counted as open */
		conn_close(c);
		return;
	}
	c->half_open = true;
	conn_own(c, c->agent, l);
}

static void listener_events(struct listener_slot *s, uint32_t events)
{
	struct epoll_event e = {
		.events = events,
		.data.ptr = &s->listener.ev,
	};

	epoll_ctl(s->worker->epfd, EPOLL_CTL_MOD, s->listener.ev.fd, &e);
}

static void listener_rested(struct wheel_timer *t)
{
	struct listener_slot *s =
		(struct listener_slot *)((char *)t -
					 offsetof(struct listener_slot, rest));

	listener_events(s, EPOLLIN);
}

static bool out_of_things(int e)
{
	return e == EMFILE || e == ENFILE || e == ENOMEM || e == ENOBUFS;
}

/* Out of descriptors: uses the reserve to accept and close the waiting
 * connection, so that its client learns of it; otherwise it would wake us again
 * and again. If even that fails, the listener rests for a while. */
static void accept_shed(struct worker *w, struct listener_slot *s)
{
	struct worker_impl *im = w->impl;
	int fd;

	worker_count(w, COUNTER_NO_FILES, 1);
	fd_closep(&im->reserve);
	fd = accept4(s->listener.ev.fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		close(fd);
	im->reserve = fcntl(im->mailbox.fd, F_DUPFD_CLOEXEC, 0);
	if (fd >= 0 && im->reserve >= 0)
		return;
	listener_events(s, 0);
	s->rest.fn = listener_rested;
	wheel_set(&w->wheel, &s->rest, w->now_ms, WORKER_ACCEPT_REST_MS);
}

/* Full rounds allow longer ones; an accept4() in vain makes the next as long as
 * this one. */
static void burst_adapt(struct listener_slot *s, unsigned took)
{
	if (took < s->burst) {
		s->burst = took ? (uint8_t)took : 1;
		s->full_rounds = 0;
	} else if (++s->full_rounds >= FULL_ROUNDS) {
		s->full_rounds = 0;
		if (s->burst < WORKER_ACCEPTS)
			s->burst *= 2;
	}
}

void conn_accept(struct worker *w, struct ev *listener, uint32_t events)
{
	struct listener_slot *s = (struct listener_slot *)listener;
	struct share_bill bill;
	unsigned took = 0;

	(void)events;
	share_bill_begin(w->shares, &bill);
	while (took < s->burst) {
		struct sockaddr_in peer = { 0 };
		socklen_t len = sizeof(peer);
		int fd = accept4(listener->fd, (struct sockaddr *)&peer, &len,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0 && errno == EAGAIN)
			break;
		if (fd < 0 && out_of_things(errno)) {
			accept_shed(w, s);
			return;
		}
		/* otherwise one that died in the queue: accept(2), "Error
		 * handling" */
		took++;
		if (fd >= 0)
			accept_one(w, &s->listener, fd, &peer, &bill);
	}
	share_bill_end(w->shares, &bill);
	burst_adapt(s, took);
}
