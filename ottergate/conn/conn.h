/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn.h - one client connection, from accept to the last byte
 *
 * 	                 ┌─ first byte 0x16 ─→ HELLO ─┐
 * 	accept → FIRST ──┼─ a letter ────────→ HTTP ──┼→ decide → DIAL → RELAY
 * 	         (tcp, known by its address: no FIRST)┘        └→ DENY → end
 *
 * Events, the end of a dial, a deadline and work that a handler has postponed
 * wait for the connection's turn (share.h); the handlers are called in it, each
 * once for everything that has come meanwhile.
 *
 * A state is a set of handlers (struct conn_ops); each protocol (tls_front.c,
 * plain_http.c, tcp.c, relay.c, inspect/inspect.c) installs its own. For every
 * protocol conn_decide() calls the one decision function, counts and audits; it
 * is the only way to an upstream.
 */
#ifndef OTTERGATE_CONN_CONN_H
#define OTTERGATE_CONN_CONN_H

#include "ottergate/conn/dial.h"
#include "ottergate/conn/share.h"
#include "ottergate/conn/worker.h"

/* Bytes that were read and not yet forwarded. */
struct chunk {
	uint8_t *mem; /* NULL: no bytes */
	uint32_t start, end, cap;
};

struct program;
struct relay; /* relay.h: allocated only while bytes wait */

struct conn {
	struct ev client; /* ev.fd: the sandbox's side */
	struct ev upstream;
	struct wheel_timer timer;
	struct task task;
	struct worker *worker;
	struct conn *next, **link; /* worker's list */
	struct agent *agent; /* a reference; NULL: unknown source */
	struct agent_policy *policy; /* a reference; owns what rule points to */
	const struct rule *rule; /* the rule that allowed it, NULL before */
	char *name; /* canonical, heap; NULL before the decision */
	struct dial *dial; /* while dialling */
	struct chunk in; /* from the client, for the upstream */
	struct program *program; /* that asked (lease.h); NULL: unknown */
	void *proto; /* the protocol's own, freed by ops->free */
	struct relay *relay; /* relay.c: while bytes wait */
	const struct conn_ops *ops;
	uint64_t id, started_ms, active_ms;
	uint64_t up, down;
	uint32_t source_v4; /* network order */
	struct addr original; /* the client's destination, for the log */
	struct addr dialled;
	uint16_t source_port, port; /* port: the requested one */
	uint32_t held; /* bytes of memory, as counted for its sandbox */
	uint32_t burst[2]; /* relay: bytes since its last pause, down and up */
	uint8_t path; /* enum path */
	uint8_t use; /* enum rule_use */
	uint8_t proto_kind; /* enum rule_proto */
	bool half_open; /* counted as half open */
	bool allowed; /* by the last decision */
	bool observed;
	bool closing;
	bool watched; /* the client is in the epoll */
	uint8_t door; /* enum listener_kind */
	uint8_t dial_why; /* enum reason, with CONN_DIALLED */
	uint8_t again; /* CONN_ flags: what the next turn does besides events */
	bool client_eof, upstream_eof; /* half closes seen */
	/* The kernel reported a half close or an error: nothing more will come
	 * than what can be read now. */
	bool client_hup, upstream_hup, client_err, upstream_err;
};

#define CONN_BEGIN 1u /* it was accepted */
#define CONN_DIALLED 2u /* the dial has ended */
#define CONN_GO_ON 4u /* this, and the others but the last: call ops->again */
#define CONN_OWN 8u /* first flag of the protocol itself */
#define CONN_LATE 128u /* the deadline has passed: call ops->timeout */

struct conn_ops {
	void (*client)(struct conn *c, uint32_t events);
	void (*upstream)(struct conn *c, uint32_t events);
	void (*timeout)(struct conn *c);
	/* Called when the dial of conn_dial() has ended; the socket is in
	 * c->upstream if @why is REASON_ALLOWED. */
	void (*dialled)(struct conn *c, enum reason why);
	/* Called after a change of the policy, when the decision was repeated
	 * (c->rule, c->policy) and still allows the connection. Returns false
	 * if the protocol must close it. May be NULL. */
	bool (*recheck)(struct conn *c);
	void (*free)(struct conn *c); /* c->proto; may be NULL */
	/* Called with the flags given to conn_again() since the last turn. May
	 * be NULL. */
	void (*again)(struct conn *c, unsigned what);
	/* Returns the bytes of memory of c->proto; may be NULL. */
	size_t (*held)(const struct conn *c);
};

/*
 * Returns true if more may be read for a direction that holds @mine bytes.
 * False means that the sandbox has used its memory for data that it does not
 * read (limits.h); nothing reports when there is room again, so try after
 * CONN_ROOM_MS.
 */
#define CONN_ROOM_MS 200u
#define CONN_ROOM_LITTLE (16u * 1024)
bool conn_may_read(const struct conn *c, size_t mine);
/* Accepts a batch of the connections that wait at the listener. */
void conn_accept(struct worker *w, struct ev *listener, uint32_t events);

/* Decides on the request, sets c->name, c->rule, c->port and c->path, counts it
 * against the limits and audits the verdict. The returned allow is final: it
 * includes limits and a full audit. */
struct verdict conn_decide(struct conn *c, const struct request *rq);
/* Like conn_decide() if decide() was called already: @v is its result for
 * @rq. */
struct verdict conn_settle(struct conn *c, const struct request *rq,
			   struct verdict v);
/* Audits and counts a denial that no decision made (bad hello, timeout…).
 * Closes nothing. @name NULL: c->name, if there is one. */
void conn_refuse(struct conn *c, enum reason why, const struct name *name);
/* Like conn_refuse(), for a request that names an address instead of a host.
 * The audit gets @name, unless its len is 0, then @addr, unless its family is
 * 0. */
void conn_refuse_host(struct conn *c, enum reason why, const struct name *name,
		      const struct addr *addr);
/*
 * Records whether the allowed host could be reached (REASON_ALLOWED) or why
 * not, for programs that ask. Must be called before the client can notice, so
 * that a program that has noticed gets the answer. The end of a dial is
 * recorded already.
 */
void conn_reached(const struct conn *c, enum reason why);
/* Dials what conn_decide() allowed. Returns 0; ops->dialled is called later,
 * never from within. Returns -ENOMEM if it will not be called. */
int conn_dial(struct conn *c);
/* Closes both sides, audits the end, and frees @c after the round.
 * Idempotent. */
void conn_close(struct conn *c);
/* Sends @words to the client (an alert, a 403) and then closes. A reset would
 * discard the words, so the client's bytes are read and dropped for at most a
 * second and 256 KiB. */
void conn_say_and_close(struct conn *c, const void *words, size_t len);

/* Queues one more turn, after the others of the same sandbox, which calls
 * ops->again() with @what, unless the connection has changed its protocol by
 * then. */
void conn_again(struct conn *c, unsigned what);

/* Starts to report events of the client, the first at once with the current
 * state. Idempotent. Returns 0 or -errno. */
int conn_watch(struct conn *c);

/*
 * Reads what is there into c->in, to at most @max bytes in all. Returns the
 * bytes read, 0 at the end, -EAGAIN, -ENOBUFS at @max, -ENOMEM or -errno. After
 * a positive result that stays below @max nothing more is there now; if it was
 * followed by the end, c->client_eof is set.
 */
ssize_t conn_fill(struct conn *c, size_t max);
/* Frees the bytes. */
void chunk_drop(struct chunk *k);
/* Moves the bytes to the front, over those that were taken: without it, a
 * client that always sends a part of the next request would fill memory. */
void chunk_compact(struct chunk *k);

/* Calls ops->timeout after @ms milliseconds or later, replacing an earlier
 * deadline; 0: never. */
void conn_deadline(struct conn *c, uint64_t ms);
/* Forwards bytes both ways until the end, c->in first. The upstream must be
 * connected. Deadlines and limits of the policy apply. */
void conn_relay(struct conn *c);

/* conn/tls_front.c: expects a TLS hello next, in c->in or to come. @expect
 * NULL: the SNI is decided on; otherwise it must equal @expect (CONNECT), which
 * was decided on already and is not dialled yet. */
void tunnel_begin(struct conn *c, const struct name *expect);
/* conn/plain_http.c: expects an HTTP request head next, in c->in or to come.
 * The client must be watched and the timer (`request_header`) running; c->path
 * is PATH_HTTP (c->port is the original port) or PATH_PROXY (explicit). */
void http_begin(struct conn *c);

#endif
