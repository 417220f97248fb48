/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dial.c - from an allowed name to a connected socket
 *
 *            ┌ service, `hosts:`, literal ─┐
 *   start ────┤ name ── resolver ───────────┼→ judge → connect ─→ done
 *            └ `upstream_proxy:` host ─────┘             └→ greet ─┘
 *
 * A service with a `socket` is on the user's own loopback. It is judged as all
 * are, and then ac-edge's unix socket is connected to in place of its address.
 * ac-edge dials the service and greets with one byte (lib/edge_answer.h).
 *
 * Trust: the client's own destination never comes here, only the name that
 * decide() allowed (or the literal that an `ips` rule did). decide_address()
 * judges every address before a socket exists; a metadata service's among them
 * fails the whole name, since no honest name has one (N14). With an upstream
 * proxy the name is sent to the proxy, which resolves it and is responsible for
 * what it connects to. Literals are still judged here, and of the proxy's own
 * addresses only public and private ones are used.
 *
 * Attempts follow RFC 8305 §5: one address after the other, DIAL_STAGGER_MS
 * apart or at once when one fails, and the first that connects wins. The
 * gateway runs in a container, where IPv4 is certain and IPv6 is rare, so IPv4
 * is the preferred family (§4 leaves that to the policy).
 *
 * Nearly every dial has one attempt. It is registered in the epoll under the
 * caller's own `struct ev` from the beginning, which saves the system call to
 * hand it over; `dialling` finds the dial of such an ev. Further attempts have
 * an ev of their own; if one of them wins, it is registered again.
 */
#include "ottergate/conn/dial.h"

#include <string.h>
#include <sys/queue.h>

#include "ottergate/conn/dial_proxy.h"
#include "ottergate/conn/dial_socket.h"
#include "ottergate/dns/resolve.h"
#include "ottergate/conn/worker.h"

#define BUCKETS 1024u

struct attempt { /* an attempt beyond the caller's ev */
	struct ev ev; /* first: the handler casts back */
	struct dial *dial;
	struct addr addr;
	LIST_ENTRY(attempt) link;
};

LIST_HEAD(attempts, attempt);

struct dial {
	LIST_ENTRY(dial) link; /* of dialling */
	struct worker *worker;
	struct agent *agent; /* the caller's reference: it outlives the dial */
	const struct agent_policy *policy;
	struct verdict verdict;
	const struct upstream_proxy *proxy; /* NULL: dial directly */
	struct ev *ev;
	void (*ev_fn)(struct worker *w, struct ev *ev, uint32_t events);
	dial_fn fn;
	void *arg;
	struct resolve_query *query;
	struct attempts attempts;
	struct wheel_timer timer;
	uint64_t deadline_ms;
	uint64_t round; /* the round in which ev->fd was made */
	enum reason why; /* for dial_deferred() */
	enum reason failed; /* the failure so far, by reason_of_two() */
	bool starting; /* within dial_start(): no callback */
	/* dial_deferred() will be called, and frees the memory */
	bool deferred;
	bool settled; /* the result is known: ignore events */
	bool cancelled;
	bool greeting; /* connected, the proxy was asked */
	uint16_t port;
	uint8_t n, next; /* candidates, and those tried */
	struct addr peer; /* of ev->fd */
	struct addr literal; /* without a name */
	struct addr candidates[DIAL_CANDIDATES_MAX];
	struct name name;
};

LIST_HEAD(dials, dial);

/* Of this worker's thread, by the caller's ev. */
static _Thread_local struct dials dialling[BUCKETS];

static unsigned bucket_of(const struct ev *ev)
{
	return (unsigned)((uintptr_t)ev / 64 % BUCKETS);
}

static struct dial *dial_of(const struct ev *ev)
{
	struct dial *d;

	LIST_FOREACH (d, &dialling[bucket_of(ev)], link)
		if (d->ev == ev)
			return d;
	return NULL;
}

/* --- the end ------------------------------------------------------------- */

static void attempt_drop(struct attempt *a)
{
	fd_closep(&a->ev.fd);
	LIST_REMOVE(a, link);
	worker_free_later(a->dial->worker, a);
}

/* Frees everything but the memory and, if @keep, the caller's socket. */
static void dial_release(struct dial *d, bool keep)
{
	struct attempt *a;

	resolver_cancel(d->query);
	d->query = NULL;
	wheel_clear(&d->timer, &d->worker->wheel);
	while ((a = LIST_FIRST(&d->attempts)))
		attempt_drop(a);
	LIST_REMOVE(d, link);
	d->ev->fn = d->ev_fn;
	if (!keep)
		fd_closep(&d->ev->fd);
	d->settled = true;
}

static void dial_end(struct dial *d, enum reason why)
{
	dial_release(d, why == REASON_ALLOWED);
	d->cancelled = true; /* for a cancel from within the callback */
	d->fn(d->arg, why, &d->peer);
	free(d);
}

static void dial_deferred(struct worker *w, void *arg)
{
	struct dial *d = arg;

	(void)w;
	d->deferred = false;
	if (d->cancelled)
		free(d);
	else
		dial_end(d, d->why);
}

static void dial_defer(struct dial *d, enum reason why)
{
	d->why = why;
	d->settled = true;
	d->deferred = true;
	wheel_clear(&d->timer, &d->worker->wheel);
	worker_defer(d->worker, dial_deferred, d);
}

static void dial_settle(struct dial *d, enum reason why)
{
	if (d->starting)
		dial_defer(d, why);
	else
		dial_end(d, why);
}

/* --- connecting ---------------------------------------------------------- */

static void dial_ready(struct worker *w, struct ev *ev, uint32_t events);
static void attempt_ready(struct worker *w, struct ev *ev, uint32_t events);

/* Returns the name of ac-edge's socket if the dial is through it, or NULL. */
static const char *edge_socket(const struct dial *d)
{
	return d->verdict.service ? d->verdict.service->socket : NULL;
}

/* Tries the next candidate, with the caller's ev if that is free. */
static int attempt_start(struct dial *d)
{
	const struct addr *addr = &d->candidates[d->next++];
	uint16_t port = d->proxy ? d->proxy->port : d->port;
	const char *edge = edge_socket(d);
	SCOPED_FD fd = edge ? dial_socket_edge(d->worker->opts->edge, edge) :
			      dial_socket_tcp(addr, port);
	struct attempt *a;
	int rc;

	worker_count(d->worker, COUNTER_DIALLED, 1);
	if (fd < 0)
		return fd;
	if (d->ev->fd < 0) {
		d->ev->fd = fd;
		rc = worker_watch(d->worker, d->ev);
		if (rc < 0) {
			d->ev->fd = -1;
			return rc;
		}
		d->peer = *addr;
		d->round = d->worker->round;
		fd_take(&fd);
		return 0;
	}
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->ev = (struct ev){ .fn = attempt_ready, .fd = fd };
	rc = worker_watch(d->worker, &a->ev);
	if (rc < 0) {
		free(a);
		return rc;
	}
	fd_take(&fd);
	a->dial = d;
	a->addr = *addr;
	LIST_INSERT_HEAD(&d->attempts, a, link);
	return 0;
}

static void timer_arm(struct dial *d)
{
	uint64_t now = d->worker->now_ms;
	uint64_t ms = d->deadline_ms > now ? d->deadline_ms - now : 0;

	if (!d->greeting && d->next < d->n && ms > DIAL_STAGGER_MS)
		ms = DIAL_STAGGER_MS;
	wheel_set(&d->worker->wheel, &d->timer, now, ms);
}

static void attempt_failed(struct dial *d, int rc)
{
	enum reason why = edge_socket(d) ? dial_edge_reason(rc) :
					   reason_of_connect(rc);

	worker_count(d->worker, COUNTER_DIAL_FAILED, 1);
	d->failed = reason_of_two(d->failed, why);
}

static void attempt_next(struct dial *d)
{
	while (d->next < d->n) {
		int rc = attempt_start(d);

		if (rc == 0) {
			timer_arm(d);
			return;
		}
		attempt_failed(d, rc);
	}
	if (d->ev->fd < 0 && LIST_EMPTY(&d->attempts))
		dial_settle(d, d->failed == REASON_ALLOWED ?
				       REASON_CONNECT_FAILED :
				       d->failed);
	else
		timer_arm(d);
}

static void dial_timeout(struct wheel_timer *timer)
{
	struct dial *d =
		(struct dial *)((char *)timer - offsetof(struct dial, timer));

	if (d->worker->now_ms < d->deadline_ms) {
		attempt_next(d);
		return;
	}
	worker_count(d->worker, COUNTER_DIAL_FAILED, 1);
	/* a proxy that accepted the connection is the silent one */
	dial_end(d, d->greeting ?
			    REASON_CONNECT_TIMEOUT :
			    reason_of_two(d->failed, REASON_CONNECT_TIMEOUT));
}

/* --- connected ----------------------------------------------------------- */

/* RFC 9110 §9.3.6. A socket that just connected takes a request whole. */
static void proxy_greet(struct dial *d)
{
	char host[ADDR_TEXT_MAX], request[DIAL_PROXY_REQUEST_MAX];
	const char *name = d->name.len ? d->name.s :
					 addr_text(&d->literal, host);
	ssize_t len = dial_proxy_request(name, d->port, d->proxy->authorization,
					 request);

	if (len < 0 || send(d->ev->fd, request, (size_t)len,
			    MSG_NOSIGNAL | MSG_DONTWAIT) != len) {
		dial_end(d, REASON_CONNECT_FAILED);
		return;
	}
	d->greeting = true;
	timer_arm(d);
}

/* Peeks at the head and then reads to its last byte: what follows belongs to
 * the tunnel. */
static void proxy_answer(struct dial *d)
{
	uint8_t mem[DIAL_PROXY_HEAD_MAX];
	unsigned status;
	size_t len;
	ssize_t n = recv(d->ev->fd, mem, sizeof(mem), MSG_PEEK | MSG_DONTWAIT);
	int rc;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	rc = n <= 0 ?
		     -ECONNRESET :
		     dial_proxy_answer(slice_of(mem, (size_t)n), &status, &len);
	if (rc == -EAGAIN)
		return;
	if (rc < 0 || recv(d->ev->fd, mem, len, MSG_DONTWAIT) != (ssize_t)len) {
		worker_count(d->worker, COUNTER_DIAL_FAILED, 1);
		dial_end(d, REASON_CONNECT_FAILED);
		return;
	}
	dial_end(d,
		 status / 100 == 2 ? REASON_ALLOWED : REASON_DENIED_BY_PROXY);
}

/* What follows the answer is the service's. */
static void edge_answer(struct dial *d)
{
	enum reason why;

	if (dial_edge_answer(d->ev->fd, &why) < 0) {
		d->greeting = true;
		return;
	}
	if (why != REASON_ALLOWED)
		worker_count(d->worker, COUNTER_DIAL_FAILED, 1);
	dial_end(d, why);
}

/*
 * A later attempt was faster: its socket replaces the caller's. This round may
 * still have an event of the losing socket under the caller's ev. So the
 * callback waits for the end of the round, and a greeting looks at the socket
 * alone, not at events.
 */
static void attempt_won(struct attempt *a)
{
	struct dial *d = a->dial;
	int rc;

	fd_closep(&d->ev->fd);
	epoll_ctl(d->worker->epfd, EPOLL_CTL_DEL, a->ev.fd, NULL);
	d->ev->fd = fd_take(&a->ev.fd);
	d->peer = a->addr;
	while ((a = LIST_FIRST(&d->attempts)))
		attempt_drop(a);
	rc = worker_watch(d->worker, d->ev);
	if (rc < 0)
		dial_defer(d, REASON_NO_MEMORY);
	else if (d->proxy)
		proxy_greet(d);
	else
		dial_defer(d, REASON_ALLOWED);
}

static void attempt_ready(struct worker *w, struct ev *ev, uint32_t events)
{
	struct attempt *a = (struct attempt *)ev;
	struct dial *d = a->dial;

	(void)w;
	if (ev->fd < 0)
		return; /* dropped earlier in this round */
	if (events & (EPOLLERR | EPOLLHUP)) {
		attempt_failed(d, dial_socket_error(ev->fd));
		attempt_drop(a);
		attempt_next(d);
	} else if (events & EPOLLOUT) {
		attempt_won(a);
	}
}

static void dial_ready(struct worker *w, struct ev *ev, uint32_t events)
{
	struct dial *d = dial_of(ev);

	if (!d || d->settled || ev->fd < 0)
		return;
	/* The event is of the caller's previous socket, in the same round. */
	if (d->round == w->round)
		return;
	if (edge_socket(d)) {
		edge_answer(d);
	} else if (d->greeting) {
		proxy_answer(d);
	} else if (events & (EPOLLERR | EPOLLHUP)) {
		attempt_failed(d, dial_socket_error(ev->fd));
		fd_closep(&ev->fd);
		attempt_next(d);
	} else if (events & EPOLLOUT) {
		if (d->proxy)
			proxy_greet(d);
		else
			dial_end(d, REASON_ALLOWED);
	}
}

/* --- candidates ---------------------------------------------------------- */

/* The user wrote the proxy into the policy, so it may be private; but addresses
 * that no policy can allow are refused. */
static enum reason judge_proxy(const struct dial *d, const struct addr *a)
{
	switch (agent_policy_addr_class(d->policy, a)) {
	case ADDR_PUBLIC:
	case ADDR_PRIVATE:
	case ADDR_CGNAT:
		return REASON_ALLOWED;
	default:
		return REASON_BUILTIN_ADDRESS;
	}
}

/* Alternates the families, IPv4 first, keeping each one's order (RFC 8305
 * §4). */
static void interleave(struct addr *v, unsigned n)
{
	struct addr in[DIAL_CANDIDATES_MAX];
	unsigned i4 = 0, i6 = 0, out = 0;

	memcpy(in, v, n * sizeof(*v));
	while (out < n) {
		while (i4 < n && in[i4].family != 4)
			i4++;
		if (i4 < n)
			v[out++] = in[i4++];
		while (i6 < n && in[i6].family != 6)
			i6++;
		if (i6 < n)
			v[out++] = in[i6++];
	}
}

static void dial_candidates(struct dial *d, const struct addr *v, size_t n)
{
	enum reason first_bad = REASON_NO_ADDRESS;

	for (size_t i = 0; i < n && d->n < DIAL_CANDIDATES_MAX; i++) {
		enum reason why;

		if (addr_classify(&v[i]) == ADDR_METADATA) {
			dial_settle(d, REASON_BUILTIN_ADDRESS);
			return;
		}
		why = d->proxy ? judge_proxy(d, &v[i]) :
				 decide_address(d->policy, &d->verdict, &v[i]);
		if (why == REASON_ALLOWED)
			d->candidates[d->n++] = v[i];
		else if (first_bad == REASON_NO_ADDRESS)
			first_bad = why;
	}
	if (d->n == 0) {
		dial_settle(d, first_bad);
		return;
	}
	interleave(d->candidates, d->n);
	d->deadline_ms =
		d->worker->now_ms + agent_policy_timeouts(d->policy)->connect;
	attempt_next(d);
}

static void dial_resolved(void *arg, const struct resolved *res)
{
	struct dial *d = arg;
	const struct rule *rule = d->verdict.rule;

	d->query = NULL;
	if (res->code < 0) {
		dial_settle(d, res->code == -ENOENT ? REASON_NO_ADDRESS :
						      REASON_DNS_FAILED);
		return;
	}
	for (unsigned i = 0; i < res->n_aliases; i++) {
		if (d->proxy || !rule || !rule->cname_strict)
			break;
		if (!decide_alias(d->policy, &d->verdict, &res->aliases[i])) {
			dial_settle(d, REASON_DENY_ADDRESS); /* N15 */
			return;
		}
	}
	dial_candidates(d, res->addrs, res->n);
}

/* `hosts:` comes first, then the cache, then the servers. */
static void dial_lookup(struct dial *d, const struct name *name)
{
	struct resolver *resolver = d->worker->resolver;
	const struct resolved *res;
	const struct addr *v;
	size_t n = agent_policy_hosts(d->policy, name, &v);
	int rc;

	if (n > 0) {
		dial_candidates(d, v, n);
		return;
	}
	if (resolver_cached(resolver, name, &res)) {
		dial_resolved(d, res);
		return;
	}
	rc = resolver_ask(resolver, d->agent, name, dial_resolved, d,
			  &d->query);
	if (rc < 0)
		dial_settle(d, rc == -EDQUOT ? REASON_LIMIT_LOOKUPS :
			       rc == -ENOMEM ? REASON_NO_MEMORY :
					       REASON_DNS_FAILED);
}

static void dial_by_proxy(struct dial *d, const struct upstream_proxy *proxy)
{
	struct addr addr;
	struct name name;

	if (d->name.len == 0) {
		enum reason why =
			decide_address(d->policy, &d->verdict, &d->literal);

		if (why != REASON_ALLOWED) {
			dial_settle(d, why);
			return;
		}
	}
	d->proxy = proxy;
	if (addr_parse(slice_str(proxy->host), &addr) == 0)
		dial_candidates(d, &addr, 1);
	else if (name_canon(slice_str(proxy->host), &name) == 0)
		dial_lookup(d, &name);
	else
		dial_settle(d, REASON_DNS_FAILED);
}

/* A place that the policy itself gives is reached without a proxy. */
static void dial_begin(struct dial *d)
{
	const struct rule *service = d->verdict.service;
	const struct upstream_proxy *proxy;
	const struct addr *v;

	if (service) {
		dial_candidates(d, &service->service_ip, 1);
		return;
	}
	proxy = agent_policy_upstream(d->policy, &d->name);
	if (proxy && (d->name.len == 0 ||
		      agent_policy_hosts(d->policy, &d->name, &v) == 0))
		dial_by_proxy(d, proxy);
	else if (d->name.len == 0)
		dial_candidates(d, &d->literal, 1);
	else
		dial_lookup(d, &d->name);
}

int dial_start(struct worker *w, const struct dial_spec *spec, struct ev *ev,
	       dial_fn fn, void *arg, struct dial **ret)
{
	struct dial *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->worker = w;
	d->agent = spec->agent;
	d->policy = spec->policy;
	d->verdict = *spec->verdict;
	d->ev = ev;
	d->ev_fn = ev->fn;
	d->fn = fn;
	d->arg = arg;
	d->timer.fn = dial_timeout;
	d->port = spec->port;
	d->literal = spec->addr;
	d->name = *spec->name;
	LIST_INIT(&d->attempts);
	LIST_INSERT_HEAD(&dialling[bucket_of(ev)], d, link);
	ev->fn = dial_ready;
	ev->fd = -1;
	*ret = d;

	d->starting = true;
	dial_begin(d);
	d->starting = false;
	return 0;
}

void dial_cancel(struct dial *d)
{
	if (!d || d->cancelled)
		return;
	d->cancelled = true;
	dial_release(d, false);
	if (!d->deferred)
		free(d);
}
