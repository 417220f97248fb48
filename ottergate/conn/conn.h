/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn.h - one client connection, from accept to the last byte
 *
 *	                 ┌─ first byte 0x16 ─→ HELLO ─┐
 *	accept → FIRST ──┼─ a letter ────────→ HTTP ──┼→ decide → DIAL → RELAY
 *	         (tcp, known by its address: no FIRST)┘        └→ DENY → end
 *
 * Events, the end of a dial, a deadline and what a handler has left for later
 * wait for the turn of the connection (share.h); the handlers are called in it,
 * each with all that has come meanwhile.
 *
 * A state is the set of the three handlers below; each protocol
 * (conn/tls_front.c, conn/plain_http.c, later inspect.c) installs its own.
 * Whatever the protocol, conn_decide() asks the one decision function, counts,
 * audits, and is the only way to an upstream.
 */
#ifndef OTTERGATE_CONN_CONN_H
#define OTTERGATE_CONN_CONN_H

#include "ottergate/conn/dial.h"
#include "ottergate/conn/share.h"
#include "ottergate/conn/worker.h"

/* Bytes that were read and not yet forwarded; only while needed. */
struct chunk {
	uint8_t *mem; /* NULL: none */
	uint32_t start, end, cap;
};

struct program;
struct relay; /* relay.h: allocated when bytes flow, not for an idle one */

struct conn {
	struct ev client; /* ev.fd: the sandbox's side */
	struct ev upstream;
	struct wheel_timer timer;
	struct task task;
	struct worker *worker;
	struct conn *next, **link; /* worker's list */
	struct agent *agent; /* a reference; NULL: unknown source */
	struct agent_policy *policy; /* a reference; holds rule's memory */
	const struct rule *rule; /* that allowed it, NULL before */
	char *name; /* canonical, heap; NULL before the decision */
	struct dial *dial; /* while dialling */
	struct chunk in; /* from the client, for the upstream */
	struct program *program; /* who asked (lease.h), NULL: not known */
	void *proto; /* of the protocol's own, freed by ops->free */
	struct relay *relay; /* relay.c: while bytes wait */
	const struct conn_ops *ops;
	uint64_t id, started_ms, active_ms;
	uint64_t up, down;
	uint32_t source_v4; /* network order */
	struct addr original; /* as the client dialled it, for the log */
	struct addr dialled;
	uint16_t source_port, port; /* port: the wanted one */
	uint32_t held; /* bytes of memory, as its sandbox knows them */
	uint32_t burst[2]; /* relay: bytes since it last paused, down and up */
	uint8_t path; /* enum path */
	uint8_t use; /* enum rule_use */
	uint8_t proto_kind; /* enum rule_proto */
	bool half_open; /* counted so */
	bool allowed; /* the last decision */
	bool observed;
	bool closing;
	bool watched; /* the client is in the epoll */
	uint8_t door; /* enum listener_kind */
	uint8_t dial_why; /* enum reason, with CONN_DIALLED */
	uint8_t again; /* what the next turn does besides the events: CONN_ */
	bool client_eof, upstream_eof; /* half closes seen */
	/* The kernel told of a half close or an error: what is left to read is
	 * all there ever will be. */
	bool client_hup, upstream_hup, client_err, upstream_err;
};

#define CONN_BEGIN 1u /* it was accepted */
#define CONN_DIALLED 2u /* the dial has ended */
#define CONN_GO_ON 4u /* this, and all but the last: ops->again */
#define CONN_OWN 8u /* the protocol's own, from here on */
#define CONN_LATE 128u /* the deadline has passed: ops->timeout */

struct conn_ops {
	void (*client)(struct conn *c, uint32_t events);
	void (*upstream)(struct conn *c, uint32_t events);
	void (*timeout)(struct conn *c);
	/* The dial that conn_dial() began has ended; @fd is in c->upstream
	 * already when @why is REASON_ALLOWED. */
	void (*dialled)(struct conn *c, enum reason why);
	/* The policy changed; what was decided has been decided anew (c->rule,
	 * c->policy) and may stay. Has the protocol an objection? False: it is
	 * closed. May be NULL. */
	bool (*recheck)(struct conn *c);
	void (*free)(struct conn *c); /* c->proto; may be NULL */
	/* What conn_again() was told since the last turn. NULL: nothing is. */
	void (*again)(struct conn *c, unsigned what);
	/* Bytes of memory behind c->proto; may be NULL. */
	size_t (*held)(const struct conn *c);
};

/* Tells the sandbox's account what @c holds by now. After each event, and for
 * what goes on apart from one. */
void conn_weigh(struct conn *c);
/*
 * May more be read for a direction that holds @mine bytes? False: the memory of
 * the sandbox is used by what it does not read (limits.h); CONN_ROOM_MS later
 * there may be room again, of which nobody tells.
 */
#define CONN_ROOM_MS 200u
#define CONN_ROOM_LITTLE (16u * 1024)
bool conn_may_read(const struct conn *c, size_t mine);
/* Accepts from @l until there is nothing more. */
void conn_accept(struct worker *w, struct ev *listener, uint32_t events);

/*
 * Decides for the request, sets c->name, c->rule, c->port, c->path; counts it
 * against the limits; audits either way. The result's allow is final: limits
 * and a full audit are in it.
 */
struct verdict conn_decide(struct conn *c, const struct request *rq);
/* The same where decide() has been asked already: @v is what it said of @rq. */
struct verdict conn_settle(struct conn *c, const struct request *rq,
			   struct verdict v);
/* Audits and counts a denial that no decision made (bad hello, timeout…).
 * Closes nothing. @name NULL: c->name, if there is one. */
void conn_refuse(struct conn *c, enum reason why, const struct name *name);
/* The same of a request that names an address in place of a host: what is said
 * is @name, unless its len is 0, then @addr, unless its family is 0. */
void conn_refuse_host(struct conn *c, enum reason why, const struct name *name,
		      const struct addr *addr);
/* How it went to reach what conn_decide() allowed (REASON_ALLOWED: well), for
 * the program that asks. Before the client can see it, so that who has seen it
 * is told. A dial's end is noted already. */
void conn_reached(const struct conn *c, enum reason why);
/* Dials what conn_decide() allowed; ops->dialled is called, never from
 * within. -ENOMEM: it will not be called. */
int conn_dial(struct conn *c);
/* ops->dialled is not called for it any more. */
void conn_dial_cancel(struct conn *c);
/* Closes both sides, audits the end, frees after the round. Idempotent. */
void conn_close(struct conn *c);
/* Last words to the client (alert, 403), then conn_close(): a reset would
 * take the words away, so what the client still sends is drained for at most
 * a second and 256 KiB. */
void conn_say_and_close(struct conn *c, const void *words, size_t len);

/* One more turn, behind the others of the same sandbox: ops->again() with @what,
 * unless the connection has become another protocol's by then. */
void conn_again(struct conn *c, unsigned what);

/* Events of the client come from now on, the first at once with what is true
 * then. Idempotent. */
int conn_watch(struct conn *c);

/*
 * Reads what is there into c->in, at most up to @max bytes in all. Returns
 * bytes read, 0 at the end, -EAGAIN, -ENOBUFS at @max, -ENOMEM, -errno.
 * A positive result below @max means that nothing more is there now; if the
 * end came right behind, c->client_eof is set.
 */
ssize_t conn_fill(struct conn *c, size_t max);
void chunk_drop(struct chunk *k); /* gives the memory back */
/* Bytes are appended behind those that were taken already: without this, a
 * client that always sends a part of the next request would fill memory. */
void chunk_compact(struct chunk *k);

/* When @ms have passed (ops->timeout), at the earliest; 0: never. */
void conn_deadline(struct conn *c, uint64_t ms);
/* From any state with a dialled upstream on: bytes both ways until the end.
 * What is in c->in goes first. Deadlines and limits of the policy hold. */
void conn_relay(struct conn *c);

/* conn/tls_front.c: the TLS hello is expected next (in c->in, or to come).
 * @expect NULL: the SNI decides; else it must equal @expect (CONNECT), the
 * decision is made already and the upstream is not dialled yet. */
void tunnel_begin(struct conn *c, const struct name *expect);
/* conn/plain_http.c: an HTTP request head is expected next: in c->in, or to
 * come. The client is watched, the timer runs (`request_header`), and c->path
 * says how it came: PATH_HTTP (c->port is the original port) or PATH_PROXY
 * (explicit). */
void http_begin(struct conn *c);

#endif
