/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inspect.c - an inspected connection: its phases, its deadlines, its end
 *
 * Theory of operation: the client's hello waits while the upstream is dialled
 * and proves its name. Only then is the client's protocol known, and whether it
 * gets a connection at all. Then the client's handshake is made with a leaf of
 * the sandbox's own CA, and an engine gets both sides.
 *
 *	DIAL → UPSTREAM → CLIENT → RUN
 *	  └───────┴─ failed ─→ CLIENT → TELL → end
 *
 * If the upstream cannot be reached, the client's handshake is made all the
 * same and the reason sent as an HTTP response: a TLS alert would explain
 * nothing. The response waits for a request, because many clients take an early
 * response for an error of their own. For a client of HTTP/2 alone, the engine
 * does this without an upstream (RUN in place of TELL).
 *
 * Plain HTTP, to a service alone, goes the same way: its handshakes are done at
 * once, and the first request head is in the place of the hello.
 *
 * Trust: no byte of the client passes before the upstream has proved to be the
 * allowed name (T15); a service proves nothing in plain HTTP, it is what the user
 * has said is at that address. inspect/rules.c keeps what a request was judged by
 * (policy, credentials).
 *
 * An engine may end the connection from deep within a step; memory that the
 * step uses is freed when it has returned.
 */
#include "ottergate/inspect/inspect.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "ottergate/conn/hello.h"
#include "ottergate/inspect/inspect_impl.h"
#include "ottergate/policy/tell/deny.h"

#define ALERT_CERTIFICATE_EXPIRED 45 /* RFC 8446 §6.2 */
#define ALERT_ACCESS_DENIED 49
#define ALERT_INTERNAL_ERROR 80
#define BURST_UNKNOWN UINT32_MAX /* conn_reset(): unsent bytes may remain */

enum phase {
	PHASE_DIAL,
	PHASE_UPSTREAM, /* its handshake */
	PHASE_CLIENT, /* the client's handshake */
	PHASE_TELL, /* waits for the request that is told what failed */
	PHASE_RUN,
};

static const struct conn_ops inspect_ops;

/* Returns the number of open requests. */
static unsigned inspect_busy(const struct inspect *in)
{
	return in->engine && in->state ? in->engine->busy(in) : 0;
}

/* --- the end -------------------------------------------------------------- */

static void inspect_release(struct inspect *in)
{
	if (in->engine && in->state)
		in->engine->free(in);
	itls_done(&in->client);
	itls_done(&in->upstream);
	inspect_retired_free(in);
	agent_policy_unref(in->policy);
	secret_set_unref(in->secrets);
	leaf_ca_unref(in->ca);
	free(in);
}

static void on_free(struct conn *c)
{
	struct inspect *in = ptr_take(&c->proto);

	if (in->engine && in->state)
		in->engine->over(in);
	in->gone = true;
	if (!in->running)
		inspect_release(in);
}

void inspect_close(struct inspect *in)
{
	if (in->gone)
		return;
	itls_bye(&in->upstream);
	itls_bye(&in->client);
	conn_say_and_close(in->c, "", 0);
}

void inspect_cut(struct inspect *in)
{
	if (in->gone)
		return;
	in->c->burst[0] = in->c->burst[1] = BURST_UNKNOWN;
	conn_reset(in->c);
}

/* Returns true if it came as plain HTTP, not by a hello. */
static bool is_plain(const struct conn *c)
{
	return c->path == PATH_HTTP || c->path == PATH_PROXY;
}

/* Sends an alert in plain, before a handshake with the client has begun. Where
 * there is to be none, nothing says why. */
static void say_alert(struct conn *c, uint8_t alert)
{
	uint8_t words[HELLO_ALERT_LEN];

	if (is_plain(c)) {
		conn_say_and_close(c, "", 0);
		return;
	}
	hello_alert(alert, words);
	conn_say_and_close(c, words, sizeof(words));
}

/* --- what cannot be reached ----------------------------------------------- */

static int status_of(enum reason why)
{
	switch (why) {
	case REASON_CONNECT_TIMEOUT:
		return 504;
	case REASON_NO_MEMORY:
		return 503;
	case REASON_LIMIT_LOOKUPS:
		return 429;
	case REASON_BUILTIN_ADDRESS:
	case REASON_DENY_ADDRESS:
		return 403;
	default:
		return 502;
	}
}

static void upstream_drop(struct inspect *in)
{
	itls_done(&in->upstream);
	fd_closep(&in->c->upstream.fd);
}

static void client_begin(struct inspect *in, enum itls_alpn alpn);

/* A second dial, for an open request, has failed. */
static void engine_fail(struct inspect *in, int status, enum reason why);

static void upstream_failed(struct inspect *in, enum reason why)
{
	struct conn *c = in->c;

	if (in->engine) {
		upstream_drop(in);
		in->phase = PHASE_RUN;
		engine_fail(in, status_of(why), why);
		return;
	}
	conn_reached(c, why); /* TLS may have failed after the dial */
	conn_refuse(c, why, NULL);
	in->fail_why = (uint8_t)why;
	in->fail_status = (uint16_t)status_of(why);
	upstream_drop(in);
	client_begin(in, in->offered_h1 ? ITLS_H1 :
			 in->offered_h2 ? ITLS_H2 :
					  ITLS_NONE);
}

/* Answers the first bytes of a request with the failure. */
static void tell(struct inspect *in)
{
	struct conn *c = in->c;
	const struct verdict v = inspect_refusal(in, (enum reason)in->fail_why);
	char out[1024];
	uint8_t mem[1024];
	ssize_t n = itls_read(&in->client, mem, sizeof(mem));
	size_t len;

	if (n == -EAGAIN)
		return;
	if (n > 0) {
		len = deny_response(out, sizeof(out), in->fail_status,
				    agent_policy_id(c->policy), in->name.s,
				    c->port, &v);
		/* It fits: nothing else is queued on this connection. */
		if (itls_write(&in->client, out, len) != (ssize_t)len) {
			inspect_cut(in);
			return;
		}
	}
	inspect_close(in);
}

/* --- handshakes ----------------------------------------------------------- */

static void upstream_begin(struct inspect *in)
{
	struct conn *c = in->c;

	if (inspect_side_upstream(in) < 0) {
		upstream_failed(in, REASON_NO_MEMORY);
		return;
	}
	in->phase = PHASE_UPSTREAM;
	conn_deadline(c, agent_policy_timeouts(c->policy)->connect);
}

static void engine_begin(struct inspect *in, enum itls_alpn alpn)
{
	in->engine = alpn == ITLS_H2 ? &inspect_h2 : &inspect_h1;
	in->phase = PHASE_RUN;
	if (in->engine->begin(in) < 0) {
		conn_refuse(in->c, REASON_NO_MEMORY, NULL);
		conn_close(in->c);
	}
}

/* Goes on with the handshake. Returns true if something has changed. */
static bool upstream_shake(struct inspect *in)
{
	enum reason why = REASON_UPSTREAM_TLS;
	int rc = itls_handshake(&in->upstream, &why);
	enum itls_alpn alpn;

	if (rc == -EAGAIN)
		return false;
	if (rc < 0) {
		in->fault = itls_certificate_fault(&in->upstream);
		upstream_failed(in, why);
		return true;
	}
	alpn = itls_alpn(&in->upstream);
	in->c->active_ms = in->c->worker->now_ms;
	if (in->engine)
		in->phase = PHASE_RUN;
	else if (alpn != ITLS_H2 && in->offered_h2 && !in->offered_h1)
		upstream_failed(in, REASON_UPSTREAM_TLS);
	else if (alpn == ITLS_H2)
		client_begin(in, ITLS_H2);
	else
		client_begin(in, in->offered_h1 ? ITLS_H1 : ITLS_NONE);
	return true;
}

static void client_begin(struct inspect *in, enum itls_alpn alpn)
{
	struct conn *c = in->c;
	int on = 1;

	if (inspect_side_client(in, alpn) < 0 || conn_watch(c) < 0) {
		conn_refuse(c, REASON_NO_MEMORY, NULL);
		say_alert(c, ALERT_INTERNAL_ERROR);
		return;
	}
	chunk_drop(&c->in);
	/* Each record is complete: do not delay it. */
	setsockopt(c->client.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	in->phase = PHASE_CLIENT;
	conn_deadline(c, agent_policy_timeouts(c->policy)->hello);
}

/* The client rejects our certificate (T17), or has gone. */
static void client_failed(struct inspect *in, enum reason why)
{
	if (in->fail_why == 0)
		conn_refuse(in->c, why, NULL);
	/* OpenSSL has sent an alert if there was one to send. */
	conn_say_and_close(in->c, "", 0);
}

static bool client_shake(struct inspect *in)
{
	enum reason why = REASON_CLIENT_TLS;
	int rc = itls_handshake(&in->client, &why);

	if (rc == -EAGAIN)
		return false;
	in->c->active_ms = in->c->worker->now_ms;
	if (rc < 0)
		client_failed(in, why);
	else if (in->fail_why && itls_alpn(&in->client) == ITLS_H2)
		engine_begin(in, ITLS_H2);
	else if (in->fail_why)
		in->phase = PHASE_TELL;
	else
		engine_begin(in, itls_alpn(&in->upstream));
	return true;
}

/* --- steps ---------------------------------------------------------------- */

static void earlier(uint64_t *due, uint64_t other)
{
	if (other > 0 && other < *due)
		*due = other;
}

static void timer_set(struct inspect *in)
{
	struct conn *c = in->c;
	const struct timeouts *t = agent_policy_timeouts(c->policy);
	uint64_t now = c->worker->now_ms, due = c->active_ms + t->idle;
	uint64_t expires = conn_expires_in(c);

	earlier(&due, in->head_due);
	if (in->rest_up > now)
		earlier(&due, in->rest_up);
	if (in->rest_down > now)
		earlier(&due, in->rest_down);
	if (in->hold_due > now)
		earlier(&due, in->hold_due);
	if (in->room_due > now)
		earlier(&due, in->room_due);
	if (t->tunnel_max > 0)
		earlier(&due, c->started_ms + t->tunnel_max);
	if (expires != UINT64_MAX)
		earlier(&due, now + expires);
	conn_deadline(c, due > now ? due - now : 1);
}

static void engine_step(struct inspect *in)
{
	if (inspect_busy(in) == 0)
		inspect_retired_free(in);
	if (!in->engine->step(in))
		inspect_cut(in); /* does nothing if it is gone already */
	else if (!in->gone && in->phase == PHASE_RUN)
		timer_set(in);
}

static void engine_fail(struct inspect *in, int status, enum reason why)
{
	if (in->engine->fail)
		in->engine->fail(in, status, why);
	else
		inspect_cut(in);
}

/* Runs phases until none can go on. */
static void phases(struct inspect *in)
{
	bool more = true;

	while (more && !in->gone) {
		switch ((enum phase)in->phase) {
		case PHASE_DIAL:
			return;
		case PHASE_UPSTREAM:
			more = upstream_shake(in);
			break;
		case PHASE_CLIENT:
			more = client_shake(in);
			break;
		case PHASE_TELL:
			tell(in);
			return;
		case PHASE_RUN:
			engine_step(in);
			return;
		}
	}
}

/* Brackets a call from outside: memory in use is not freed before it
 * returns. */
static void enter(struct inspect *in)
{
	in->running = true;
}

static void leave(struct inspect *in)
{
	in->running = false;
	if (in->gone)
		inspect_release(in);
}

static void run(struct inspect *in)
{
	enter(in);
	phases(in);
	leave(in);
}

static void on_again(struct conn *c, unsigned what)
{
	(void)what;
	run(c->proto);
}

void inspect_defer(struct inspect *in)
{
	if (!in->gone)
		conn_again(in->c, CONN_GO_ON);
}

bool inspect_spent(const struct inspect *in)
{
	return shares_spent(in->c->worker->shares);
}

bool inspect_redial(struct inspect *in)
{
	struct conn *c = in->c;

	upstream_drop(in);
	in->phase = PHASE_DIAL;
	c->dialled.family = 0; /* the address may change */
	conn_deadline(c, 0); /* a dial has its own */
	if (conn_dial(c) == 0)
		return true;
	conn_refuse(c, REASON_NO_MEMORY, NULL);
	inspect_cut(in);
	return false;
}

/* An edge of one side: bytes to read, or room to write. */
static void edge(struct inspect *in, struct itls *t, bool hup)
{
	itls_event(t, hup);
	run(in);
}

/* --- events --------------------------------------------------------------- */

static void on_client(struct conn *c, uint32_t events)
{
	struct inspect *in = c->proto;

	/* Both directions are closed: an answer would not arrive. */
	if (events & (EPOLLERR | EPOLLHUP))
		conn_close(c);
	else
		edge(in, &in->client, c->client_hup);
}

static void on_upstream(struct conn *c, uint32_t events)
{
	struct inspect *in = c->proto;

	(void)events; /* reading finds out */
	if (in->phase != PHASE_DIAL)
		edge(in, &in->upstream, c->upstream_hup);
}

static void on_dialled(struct conn *c, enum reason why)
{
	struct inspect *in = c->proto;

	c->active_ms = c->worker->now_ms;
	enter(in);
	if (why == REASON_ALLOWED)
		upstream_begin(in);
	else
		upstream_failed(in, why);
	phases(in);
	leave(in);
}

static void run_timeout(struct inspect *in)
{
	struct conn *c = in->c;
	const struct timeouts *t = agent_policy_timeouts(c->policy);
	uint64_t now = c->worker->now_ms;

	if (t->tunnel_max > 0 && now >= c->started_ms + t->tunnel_max)
		conn_limit(c, REASON_LIMIT_AGE);
	else if (conn_expires_in(c) == 0)
		conn_limit(c, REASON_EXPIRED);
	else if (in->head_due > 0 && now >= in->head_due)
		engine_fail(in, 408, REASON_HELLO_TIMEOUT);
	else if (now < c->active_ms + t->idle)
		return; /* a pause is over */
	else if (inspect_busy(in) == 0)
		inspect_close(in);
	else
		engine_fail(in, 504, REASON_CONNECT_TIMEOUT);
}

static void on_timeout(struct conn *c)
{
	struct inspect *in = c->proto;

	enter(in);
	switch ((enum phase)in->phase) {
	case PHASE_DIAL:
	case PHASE_UPSTREAM:
		upstream_failed(in, REASON_CONNECT_TIMEOUT);
		break;
	case PHASE_CLIENT:
		client_failed(in, REASON_HELLO_TIMEOUT);
		break;
	case PHASE_TELL:
		inspect_close(in);
		break;
	case PHASE_RUN:
		run_timeout(in);
		break;
	}
	phases(in);
	leave(in);
}

/* Called by conn/verdict.c: the rule still inspects, and allows. */
static bool on_recheck(struct conn *c)
{
	struct inspect *in = c->proto;
	const struct table_entry *e = inspect_entry(c);

	return e && inspect_rules_take(in, c->policy, e->secrets);
}

static size_t on_held(const struct conn *c)
{
	const struct inspect *in = c->proto;

	if (!in->engine || !in->state)
		return INSPECT_BASE;
	return INSPECT_BASE + in->engine->held(in);
}

static const struct conn_ops inspect_ops = {
	.client = on_client,
	.upstream = on_upstream,
	.timeout = on_timeout,
	.dialled = on_dialled,
	.recheck = on_recheck,
	.free = on_free,
	.again = on_again,
	.held = on_held,
};

/* --- the beginning -------------------------------------------------------- */

/* Returns what is missing before a dial makes sense, or REASON_ALLOWED. */
static enum reason inspect_lacks(const struct inspect *in)
{
	if (in->plain)
		return REASON_ALLOWED;
	if (in->name.len == 0)
		return REASON_NO_SNI; /* no name for the upstream to prove */
	if (!in->c->worker->opts || !in->c->worker->opts->tls)
		return REASON_UPSTREAM_CERT; /* nothing to verify it by */
	if (!in->ca)
		return REASON_CLIENT_TLS;
	/* The sandbox's programs trust this CA only. */
	return leaf_ca_is_past(in->ca) ? REASON_CA_EXPIRED : REASON_ALLOWED;
}

void inspect_begin(struct conn *c, const struct name *name)
{
	struct inspect *in = calloc(1, sizeof(*in));
	const struct table_entry *e = inspect_entry(c);
	enum reason why;

	if (!in) {
		conn_refuse(c, REASON_NO_MEMORY, NULL);
		say_alert(c, ALERT_INTERNAL_ERROR);
		return;
	}
	in->c = c;
	in->name = *name; /* copied before its owner is freed */
	in->client.fd = in->upstream.fd = -1;
	in->policy = agent_policy_ref(c->policy);
	in->secrets = secret_set_ref(e ? e->secrets : NULL);
	in->ca = leaf_ca_ref(e ? e->ca : NULL);
	in->plain = is_plain(c);
	in->offered_h1 = in->plain;
	if (!in->plain)
		itls_hello_alpn(conn_pending(c), &in->offered_h1,
				&in->offered_h2);
	conn_become(c, &inspect_ops);
	c->proto = in;
	conn_deadline(c, 0); /* a dial has its own */
	why = inspect_lacks(in);
	if (why == REASON_ALLOWED && conn_dial(c) < 0)
		why = REASON_NO_MEMORY;
	if (why != REASON_ALLOWED) {
		conn_refuse(c, why, NULL);
		say_alert(c, why == REASON_CA_EXPIRED ?
				     ALERT_CERTIFICATE_EXPIRED :
				     ALERT_ACCESS_DENIED);
	}
}
