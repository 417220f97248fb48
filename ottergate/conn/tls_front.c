/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_front.c - TLS that is not opened: the hello decides, then bytes pass
 *
 * Theory of operation: the ClientHello is collected in c->in, within the
 * policy's size and one deadline, and never changed. Transparent: its name is
 * the request; without a name, the request is the address that the client
 * dialled, if an `ips` rule allows that. After a CONNECT the request was
 * decided on; the hello must name the same host, so that no client asks for one
 * and goes to another. A refused hello gets a TLS alert (RFC 8446 §6.2), the
 * only message that the client can show its user; then the connection closes at
 * once.
 *
 * A rule that inspects hands the connection over to inspect.c at that point.
 *
 * The common case needs no memory: a hello that is there whole is read, decided
 * on and dialled for without storing the reader's state.
 */
#include "ottergate/conn/conn_impl.h"

#include <string.h>

#include "ottergate/conn/hello.h"
#include "ottergate/inspect/inspect.h"

#define RECORD_HEAD 5u

enum alert {
	ALERT_ACCESS_DENIED = 49,
	ALERT_DECODE_ERROR = 50,
	ALERT_PROTOCOL_VERSION = 70,
	ALERT_INTERNAL_ERROR = 80,
	ALERT_UNRECOGNIZED_NAME = 112,
};

struct tunnel { /* exists only while the hello is incomplete */
	struct hello_reader reader;
	bool expected; /* CONNECT decided on c->name */
};

static const struct conn_ops hello_ops;
static const struct conn_ops dial_ops;

static void tunnel_alert(struct conn *c, enum alert alert)
{
	uint8_t words[HELLO_ALERT_LEN];

	hello_alert((uint8_t)alert, words);
	conn_say_and_close(c, words, sizeof(words));
}

static void tunnel_refuse(struct conn *c, enum reason why, enum alert alert,
			  const struct name *name)
{
	conn_refuse(c, why, name);
	tunnel_alert(c, alert);
}

/* --- the hello is there --------------------------------------------------- */

static void tunnel_dial(struct conn *c)
{
	struct name name = { 0 };

	if (c->use == RULE_INSPECT) {
		if (c->name) {
			name.len = (uint8_t)strnlen(c->name, NAME_LEN_MAX);
			memcpy(name.s, c->name, name.len);
		}
		inspect_begin(c, &name);
		return;
	}
	conn_become(c, &dial_ops);
	conn_deadline(c, 0); /* the dial has its own */
	if (conn_dial(c) < 0)
		tunnel_refuse(c, REASON_NO_MEMORY, ALERT_INTERNAL_ERROR, NULL);
}

/* T3: the outer name counts only if the rule says so. Asked before the decision
 * is audited, so that there is only one line. */
static bool hides_name(const struct conn *c, const struct hello *h,
		       const struct verdict *v)
{
	return h->ech && !agent_policy_tls(c->policy)->ech_allow &&
	       !(v->rule && v->rule->ech_outer);
}

/*
 * Without a name the client wants an address (RFC 6066 §3). That is the request
 * if a rule of this agent allows it, like a CONNECT to it; decide() has no rule
 * for the gateway's own addresses and the synthetic ones. Observe mode is not
 * enough: nearly all such hellos come from clients that resolved a name, and
 * then the address is ours.
 */
static bool asks_for_address(const struct conn *c, const struct verdict *v)
{
	return c->original.family != 0 &&
	       !addr_eq(&c->original, &c->worker->opts->self) && v->allow &&
	       v->rule;
}

static void tunnel_transparent(struct conn *c, const struct hello *h)
{
	const struct request rq = {
		.path = PATH_TLS,
		.name = &h->sni,
		.addr = c->original,
		.port = c->port,
	};
	struct verdict v = decide(c->policy, &rq);

	if (!h->has_sni && !asks_for_address(c, &v)) {
		tunnel_refuse(c, REASON_NO_SNI, ALERT_UNRECOGNIZED_NAME, NULL);
		return;
	}
	if (v.allow && hides_name(c, h, &v)) {
		tunnel_refuse(c, REASON_ECH, ALERT_ACCESS_DENIED,
			      h->has_sni ? &h->sni : NULL);
		return;
	}
	v = conn_settle(c, &rq, v);
	if (v.allow)
		tunnel_dial(c);
	else
		tunnel_alert(c, ALERT_ACCESS_DENIED);
}

/* H5: CONNECT to one host, TLS for another. An address that an `ips` rule
 * allowed has no name (RFC 6066 §3), so none may be given. */
static void tunnel_expected(struct conn *c, const struct hello *h)
{
	const struct verdict v = { .allow = true, .rule = c->rule };
	bool absent = !h->has_sni &&
		      (!c->name || agent_policy_tls(c->policy)->no_sni_allow);

	if (!h->has_sni && !absent)
		tunnel_refuse(c, REASON_NO_SNI, ALERT_UNRECOGNIZED_NAME, NULL);
	else if (!absent && (!c->name || strcmp(h->sni.s, c->name) != 0))
		tunnel_refuse(c, REASON_SNI_MISMATCH, ALERT_UNRECOGNIZED_NAME,
			      &h->sni);
	else if (hides_name(c, h, &v))
		tunnel_refuse(c, REASON_ECH, ALERT_ACCESS_DENIED, NULL);
	else
		tunnel_dial(c);
}

static void tunnel_hello(struct conn *c, const struct hello *h, bool expected)
{
	if (h->version < agent_policy_tls(c->policy)->min_version)
		tunnel_refuse(c, REASON_TLS_VERSION, ALERT_PROTOCOL_VERSION,
			      h->has_sni ? &h->sni : NULL);
	else if (expected)
		tunnel_expected(c, h);
	else
		tunnel_transparent(c, h);
}

static void tunnel_bad(struct conn *c, enum hello_why why)
{
	switch (why) {
	case HELLO_NOT_TLS:
		/* no client would understand an alert */
		conn_refuse(c, REASON_NOT_TLS, NULL);
		conn_reset(c);
		break;
	case HELLO_SSL2:
	case HELLO_VERSION:
		tunnel_refuse(c, REASON_TLS_VERSION, ALERT_PROTOCOL_VERSION,
			      NULL);
		break;
	case HELLO_BAD_NAME:
		tunnel_refuse(c, REASON_BAD_NAME, ALERT_UNRECOGNIZED_NAME,
			      NULL);
		break;
	case HELLO_IP_NAME:
		tunnel_refuse(c, REASON_ADDRESS_LITERAL,
			      ALERT_UNRECOGNIZED_NAME, NULL);
		break;
	case HELLO_RECORDS:
		tunnel_refuse(c, REASON_HELLO_RECORDS, ALERT_DECODE_ERROR,
			      NULL);
		break;
	case HELLO_TOO_LONG:
		tunnel_refuse(c, REASON_HELLO_LONG, ALERT_DECODE_ERROR, NULL);
		break;
	default:
		tunnel_refuse(c, REASON_BAD_HELLO, ALERT_DECODE_ERROR, NULL);
		break;
	}
}

/* --- collecting it -------------------------------------------------------- */

/* The handshake's bytes and the headers of as many records as may carry them;
 * the reader is stricter. */
static size_t stream_max(const struct conn *c)
{
	return agent_policy_tls(c->policy)->hello_max +
	       HELLO_RECORDS_MAX * RECORD_HEAD;
}

/* Reads what has come. Returns true if the hello is done; @c may be gone. */
static bool tunnel_look(struct conn *c, struct tunnel *t)
{
	bool expected = t->expected;
	struct hello h;
	int rc;

	if (conn_pending(c).len == 0)
		return false;
	rc = hello_read(&t->reader, conn_pending(c), &h);
	if (rc == 0)
		tunnel_hello(c, &h, expected);
	else if (rc != -EAGAIN)
		tunnel_bad(c, t->reader.why);
	return rc != -EAGAIN;
}

/* The client ended before the hello was complete: no one to answer. */
static void tunnel_cut(struct conn *c)
{
	conn_refuse(c, REASON_BAD_HELLO, NULL);
	conn_close(c);
}

static void hello_client(struct conn *c, uint32_t events)
{
	ssize_t n = conn_fill(c, stream_max(c));

	(void)events;
	if (n == -EAGAIN)
		return;
	if (n == -ENOBUFS)
		tunnel_bad(c, HELLO_TOO_LONG);
	else if (n <= 0 || (!tunnel_look(c, c->proto) && c->client_eof))
		tunnel_cut(c);
}

static void hello_upstream(struct conn *c, uint32_t events)
{
	(void)events;
	conn_close(c); /* there is none */
}

static void hello_timeout(struct conn *c)
{
	tunnel_refuse(c, REASON_HELLO_TIMEOUT, ALERT_DECODE_ERROR, NULL);
}

static void hello_free(struct conn *c)
{
	free(c->proto);
}

static const struct conn_ops hello_ops = {
	.client = hello_client,
	.upstream = hello_upstream,
	.timeout = hello_timeout,
	.free = hello_free,
};

/* Waits for more, within the deadline that runs since the accept or since the
 * answer to CONNECT. */
static void tunnel_wait(struct conn *c, const struct tunnel *t)
{
	struct tunnel *kept = malloc(sizeof(*kept));
	bool watched = c->watched;

	conn_become(c, &hello_ops);
	c->proto = kept;
	if (!kept) {
		tunnel_refuse(c, REASON_NO_MEMORY, ALERT_INTERNAL_ERROR, NULL);
		return;
	}
	*kept = *t;
	if (t->expected || !c->timer.link)
		conn_deadline(c, agent_policy_timeouts(c->policy)->hello);
	if (c->client_eof || conn_watch(c) < 0)
		tunnel_cut(c);
	else if (watched && conn_pending(c).len > 0)
		hello_client(c, 0); /* its edge may have brought more */
}

void tunnel_begin(struct conn *c, const struct name *expect)
{
	struct tunnel t = {
		.expected = expect != NULL,
		.reader.max_kib =
			(uint16_t)(agent_policy_tls(c->policy)->hello_max /
				   1024),
	};

	if (!tunnel_look(c, &t))
		tunnel_wait(c, &t);
}

/* --- dialling ------------------------------------------------------------- */

static void dial_client(struct conn *c, uint32_t events)
{
	(void)events;
	if (c->client_err)
		conn_close(c); /* anything else: the relay looks first */
}

static void dial_timeout(struct conn *c)
{
	tunnel_refuse(c, REASON_CONNECT_TIMEOUT, ALERT_INTERNAL_ERROR, NULL);
}

static void dial_dialled(struct conn *c, enum reason why)
{
	if (why == REASON_ALLOWED)
		conn_relay(c);
	else if (why == REASON_BUILTIN_ADDRESS || why == REASON_DENY_ADDRESS ||
		 why == REASON_DENIED_BY_PROXY)
		tunnel_refuse(c, why, ALERT_ACCESS_DENIED, NULL);
	else
		tunnel_refuse(c, why, ALERT_INTERNAL_ERROR, NULL);
}

static const struct conn_ops dial_ops = {
	.client = dial_client,
	.upstream = hello_upstream,
	.timeout = dial_timeout,
	.dialled = dial_dialled,
};
