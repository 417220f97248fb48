/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inspect.h - a connection whose requests are read (design §7, inspect mode)
 *
 * One client connection has one upstream connection: the name is the same for
 * all its requests (Host = :authority = SNI, 421 otherwise), and the protocol
 * is the one that the upstream chose among those that the client offered.
 *
 *	conn/tls_front.c: hello accepted, decide() says inspect
 *	  → inspect_begin(): dial → TLS upstream → TLS client
 *	  → inspect/h1.c or inspect/h2.c, until the end
 *
 * The engines move bytes between two struct itls with bounded buffers; what a
 * request may do is ireq.h's business. Edge-triggered: an engine's step runs
 * until both sides would block or its turn is over (inspect_defer).
 */
#ifndef OTTERGATE_INSPECT_INSPECT_H
#define OTTERGATE_INSPECT_INSPECT_H

#include "ottergate/conn/conn_impl.h"
#include "ottergate/inspect/judge/ireq.h"
#include "ottergate/inspect/itls.h"
#include "ottergate/inspect/leaf.h"

#define INSPECT_IO_MAX (64u * 1024) /* bytes held of one direction */
#define INSPECT_BASE (64u * 1024) /* of a connection that waits, TLS and all */

struct inspect;
struct inspect_engine { /* one of the two protocols */
	int (*begin)(struct inspect *in); /* -ENOMEM */
	/* Moves what can be moved. False: the connection is gone. */
	bool (*step)(struct inspect *in);
	/* Requests open now. */
	unsigned (*busy)(const struct inspect *in);
	/* The connection is over, perhaps in the middle of a step of its own:
	 * what the requests that are open have used is audited. in->c may not
	 * be named any more after that. */
	void (*over)(struct inspect *in);
	void (*free)(struct inspect *in);
	/* A deadline or a second dial failed: answers @status (408, 502, 504)
	 * where that can still be said and ends. May be NULL: it is cut. */
	void (*fail)(struct inspect *in, int status, enum reason why);
	/* Bytes of memory behind in->state. */
	size_t (*held)(const struct inspect *in);
};
/* HTTP/2 may begin without an upstream: in->fail_why is set then, audited, and
 * what its first request is answered. */
extern const struct inspect_engine inspect_h1, inspect_h2;

struct inspect { /* c->proto */
	struct conn *c;
	struct itls client, upstream;
	struct name name;
	struct secret_set *secrets; /* a reference */
	struct leaf_ca *ca; /* a reference */
	const struct inspect_engine *engine; /* NULL: still in handshakes */
	void *state; /* of the engine */
	/* inspect.c's own. */
	uint8_t phase;
	uint8_t fail_why; /* enum reason, 0: none; what the client is told */
	uint16_t fail_status;
	const char *fault; /* of the upstream's certificate; NULL: none */
	struct agent_policy *policy; /* a reference: of open requests */
	struct inspect_retired *retired; /* what older ones still name */
	unsigned n_retired;
	bool offered_h1, offered_h2;
	bool running; /* a step is on: it frees nothing that it may name */
	bool gone; /* the connection is closed, the step has yet to end */
	uint64_t requests;
	/* ms of the worker's clock, 0: none. The engine's: when the request
	 * head that has begun must be whole; no bytes may go that way before
	 * (inspect_rest()); when the end of a piece that was held back goes
	 * on (ireq.h). */
	uint64_t head_due, rest_up, rest_down, hold_due;
	uint64_t room_due; /* reading rests until then: inspect_may_read() */
};

/* The client's hello is in c->in, whole and accepted; @name is allowed by
 * c->rule, an inspect rule. */
void inspect_begin(struct conn *c, const struct name *name);

/* --- for the engines ----------------------------------------------------- */

/* What every request is judged by, now. What it names stays until no request
 * is open. */
struct ireq_ctx inspect_ctx(struct inspect *in);
/* Counts, limits and audits the verdict of @r (allow or deny, AUDIT_INJECT when
 * a credential went in, the canary). False: a limit or a full audit denies it
 * after all, r->verdict says why. */
bool inspect_judged(struct inspect *in, struct ireq *r, struct slice method);
/* Audits that ireq.h has denied an answer. If it was @r->reflected, that is an
 * alarm, the credential is revoked, and the connection has to end. */
void inspect_refused(struct inspect *in, struct ireq *r);
/* Audits what the request has used (LLM counts); before ireq_end(). */
void inspect_finished(struct inspect *in, struct ireq *r, unsigned status);
/* @n plain bytes passed: counts them against the limits. 0: go on; >0: rest so
 * many ms; <0: it was cut off, the connection is gone. */
int inspect_account(struct inspect *in, bool up, size_t n);
/* Must this direction rest, as inspect_account() said? 0: no, or not any more;
 * >0: yes, a step comes when it is over; <0: cut off, as above. Ask before
 * bytes are moved. */
int inspect_rest(struct inspect *in, bool up);
/* conn_may_read(); when there is no room, a step comes when there may be. */
bool inspect_may_read(struct inspect *in, size_t mine);
/* Nothing more may be kept for a body that is judged whole. */
bool inspect_is_full(const struct inspect *in);
/* The verdict that deny_text() is given for what no rule has judged. */
static inline struct verdict inspect_refusal(const struct inspect *in,
					     enum reason why)
{
	return (struct verdict){
		.reason = why,
		.rule = in->c->rule,
		.detail = why == REASON_UPSTREAM_CERT ? in->fault : NULL,
	};
}
/* One more step in another turn: this one's is over. */
void inspect_defer(struct inspect *in);
/* Is this one's turn over? Asked between two pieces of a step. */
bool inspect_spent(const struct inspect *in);
/* The upstream has closed a connection that was kept: dials and shakes hands
 * anew, then steps go on; until then there are none. The old upstream must
 * not be named any more. False: no memory, the connection is gone. */
bool inspect_redial(struct inspect *in);
/* The end: close_notify both ways where that is true, then conn_close(). After
 * this, inspect_cut() and a negative result, @in is there until the step
 * returns, but in->c must not be named. */
void inspect_close(struct inspect *in);
/* The end of a message that is not whole: reset. */
void inspect_cut(struct inspect *in);

#endif
