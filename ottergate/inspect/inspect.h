/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inspect.h - a connection whose requests are read (`use: inspect`)
 *
 * Each client connection has one upstream connection. All its requests are for
 * one name (Host = :authority = SNI, else 421). The protocol is the one that
 * the upstream chose among those the client offered.
 *
 *	conn/tls_front.c: hello accepted, decide() says inspect; or
 *	conn/plain_http.c: request head read, decide() says so for a service
 *	  → inspect_begin(): dial → TLS upstream → TLS client
 *	  → inspect/h1.c or inspect/h2.c, until the end
 *
 * An engine moves bytes between two struct itls with bounded buffers; ireq.h
 * decides what a request may do. Sockets are edge-triggered: an engine's step
 * runs until both sides would block or its turn is over (inspect_defer()).
 */
#ifndef OTTERGATE_INSPECT_INSPECT_H
#define OTTERGATE_INSPECT_INSPECT_H

#include "ottergate/conn/conn_impl.h"
#include "ottergate/inspect/judge/ireq.h"
#include "ottergate/inspect/itls.h"
#include "ottergate/inspect/leaf.h"

#define INSPECT_IO_MAX (64u * 1024) /* bytes held in one direction */
#define INSPECT_BASE (64u * 1024) /* bytes of an idle connection, with TLS */

struct inspect;
struct inspect_engine { /* one of the two protocols */
	/* Sets in->state. Returns 0 or -ENOMEM. */
	int (*begin)(struct inspect *in);
	/* Moves what can be moved. Returns false if the connection is
	 * closed. */
	bool (*step)(struct inspect *in);
	/* Returns the number of open requests. */
	unsigned (*busy)(const struct inspect *in);
	/* The connection is closed, perhaps by a step that still runs: audits
	 * the usage of open requests. in->c must not be used afterwards. */
	void (*over)(struct inspect *in);
	/* Frees in->state. */
	void (*free)(struct inspect *in);
	/* A deadline passed or a second dial failed: answers open requests with
	 * @status (408, 502, 504) where that is possible, then ends. May be
	 * NULL: the connection is reset. */
	void (*fail)(struct inspect *in, int status, enum reason why);
	/* Returns the bytes of memory behind in->state. */
	size_t (*held)(const struct inspect *in);
};
/* HTTP/2 may begin without an upstream: in->fail_why is set and audited then,
 * and is the answer to its first request. */
extern const struct inspect_engine inspect_h1, inspect_h2;

struct inspect { /* c->proto */
	struct conn *c;
	struct itls client, upstream;
	struct name name; /* that requests are for */
	struct secret_set *secrets; /* a reference */
	struct leaf_ca *ca; /* a reference */
	const struct inspect_engine *engine; /* NULL: still in handshakes */
	void *state; /* the engine's */
	/* inspect.c's own. */
	uint8_t phase;
	uint8_t fail_why; /* enum reason, 0: none; told to the client */
	uint16_t fail_status;
	const char *fault; /* of the upstream's certificate; NULL: none */
	struct agent_policy *policy; /* a reference; for open requests */
	struct inspect_retired *retired; /* replaced ones, still in use */
	unsigned n_retired;
	bool plain; /* HTTP without TLS on both sides, for a service */
	bool offered_h1, offered_h2; /* by the client's hello */
	bool running; /* in a step: memory it may use is not freed */
	bool gone; /* the connection is closed, the step still runs */
	uint64_t requests;
	/* In ms of the worker's clock, 0: none; set by the engines: deadline
	 * for the rest of a request head; end of a pause of a direction
	 * (inspect_rest()); when bytes that were held back go on (ireq.h). */
	uint64_t head_due, rest_up, rest_down, hold_due;
	uint64_t room_due; /* reading pauses until then: inspect_may_read() */
};

/* Takes over @c, whose client's complete and accepted hello is in c->in; of
 * plain HTTP, by c->path, the head of its first request. @name is copied;
 * c->rule, an inspect rule, allows it. If it cannot begin, that is audited and
 * the client gets an alert. */
void inspect_begin(struct conn *c, const struct name *name);

/* --- for the engines ----------------------------------------------------- */

/* Returns what a new request is judged by. Policy and values stay valid until
 * no request is open; both are NULL if they could not be taken. */
struct ireq_ctx inspect_ctx(struct inspect *in);
/* Counts the request of @r, applies limits and audits its verdict (allow, deny,
 * alarm for a canary, and AUDIT_INJECT if a credential was injected). Returns
 * true if the request may go on; if not, r->verdict has the reason, which may
 * be a limit or a full audit. */
bool inspect_judged(struct inspect *in, struct ireq *r, struct slice method);
/* Audits that ireq.h has denied a response. If @r->reflected, audits an alarm
 * and revokes the credential; the caller must end the connection. */
void inspect_refused(struct inspect *in, struct ireq *r);
/* Audits the model usage of the request, if any; before ireq_end(). */
void inspect_finished(struct inspect *in, struct ireq *r, unsigned status);
/* Counts @n plain bytes that passed against the limits. Returns 0 to go on, the
 * ms to pause, or a negative errno if the connection was closed. */
int inspect_account(struct inspect *in, bool up, size_t n);
/* Returns 0 if this direction may send, 1 if it must pause (a step follows when
 * the pause is over), or a negative errno if the connection is closed. To be
 * called before bytes are moved. */
int inspect_rest(struct inspect *in, bool up);
/* Returns true if nothing may go up any more, since the sandbox is killed; the
 * connection is closed then. To be called before each write to the upstream:
 * inspect_account() looks after it only, when a credential is out already. */
bool inspect_is_killed(struct inspect *in);
/* Returns whether more may be read, by conn_may_read(). If not, a step follows
 * when there may be room. @mine: bytes that this connection holds. */
bool inspect_may_read(struct inspect *in, size_t mine);
/* Returns true if no more memory may be used for a body that is held. */
bool inspect_is_full(const struct inspect *in);
/* Returns the verdict for deny_text() on what was refused without a rule. */
static inline struct verdict inspect_refusal(const struct inspect *in,
					     enum reason why)
{
	return (struct verdict){
		.reason = why,
		.rule = in->c->rule,
		.detail = why == REASON_UPSTREAM_CERT ? in->fault : NULL,
	};
}
/* Ends this turn and asks for another step later. */
void inspect_defer(struct inspect *in);
/* Returns true if this turn is over; asked between two pieces of a step. */
bool inspect_spent(const struct inspect *in);
/* Dials the upstream again after it has closed a kept connection. No step runs
 * until the handshake is done. in->upstream must not be used until then.
 * Returns false without memory: the connection is closed then. */
bool inspect_redial(struct inspect *in);
/* Ends in order: close_notify on both sides where valid, then conn_close().
 * After this call, after inspect_cut() and after a negative result above, @in
 * stays valid until the step returns, but in->c must not be used. */
void inspect_close(struct inspect *in);
/* Ends by reset, for a message that is incomplete. */
void inspect_cut(struct inspect *in);

#endif
