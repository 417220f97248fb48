/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn_impl.h - shared by the files of conn/
 */
#ifndef OTTERGATE_CONN_CONN_IMPL_H
#define OTTERGATE_CONN_CONN_IMPL_H

#include "lib/buf.h"
#include "ottergate/conn/conn.h"

struct sockaddr_in;

/* --- conn.c --- */

/* Makes a connection without an agent. Takes ownership of @fd, even on failure.
 * Returns NULL when out of memory. */
struct conn *conn_new(struct worker *w, int fd, const struct sockaddr_in *peer);
/* Puts @c into @a's share (NULL: the common one) and queues its first turn:
 * conn_begin(). */
void conn_own(struct conn *c, struct agent *a, const struct listener *l);
/* Installs other handlers; frees the old ones' c->proto. */
void conn_become(struct conn *c, const struct conn_ops *ops);
/* Closes both sides with a reset and frees @c. */
void conn_reset(struct conn *c);
/* Returns the client's address. */
struct addr conn_source(const struct conn *c);
/* Returns the bytes of c->in. */
struct slice conn_pending(const struct conn *c);
/* Appends @c as a JSON object for `connections`. Returns 0 or the error. */
int conn_json(const struct conn *c, struct buf *out);

/* --- conn/accept.c --- */

/* Handles the first turn. */
void conn_begin(struct conn *c);

/* --- conn/verdict.c --- */

/* Applies the worker's new table: moves @c to the new policy, or closes it.
 * Returns false if it was closed. */
bool conn_recheck(struct conn *c);
/* Like conn_refuse(), for a connection that a limit does not let begin: floods
 * are audited once a second. */
void conn_turn_away(struct conn *c, enum reason why);
/* Returns a record with what all events of @c have in common. */
struct audit_record conn_record(const struct conn *c, enum audit_event e,
				enum reason why);
/* Returns true if the event is to be recorded. */
bool conn_wants(const struct conn *c, enum audit_event e);
void conn_count_denial(struct conn *c);
/* Returns the milliseconds until the policy expires or that must be checked
 * again (clocks can be set); 0: it has expired; UINT64_MAX: never. */
uint64_t conn_expires_in(const struct conn *c);
/* Closes an allowed connection that exceeded a limit. */
void conn_limit(struct conn *c, enum reason why);
void conn_audit_close(const struct conn *c);
/* Audits a connection from an unknown address, which gets no struct conn. */
void conn_audit_stranger(struct worker *w, const struct addr *source,
			 uint16_t source_port, enum reason why);

/* --- conn/meant.c --- */

/* Sets c->program to the program that asked to connect. Call it before the
 * first decision or refusal. */
void conn_find_program(struct conn *c);
/*
 * Completes @rec, the refusal of a connection that named neither host nor
 * address: adds the name that its destination address stands for, also as
 * c->name. If no bytes could have made it allowed, the policy's reason and rule
 * replace the missing bytes as the reason.
 */
void conn_meant(struct conn *c, struct audit_record *rec);
/* Called when the client left without sending anything: audits a refusal if
 * nothing it could have sent is allowed. */
void conn_left(struct conn *c);

/* --- tcp.c --- */

/* Begins a connection whose destination is the synthetic address of @name,
 * without waiting for a first byte. */
void tcp_begin(struct conn *c, const struct name *name);

#endif
