/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn_impl.h - what the files of the connection share among themselves
 */
#ifndef OTTERGATE_CONN_IMPL_H
#define OTTERGATE_CONN_IMPL_H

#include "lib/buf.h"
#include "ottergate/conn.h"

struct sockaddr_in;

/* --- conn.c --- */

/* Takes @fd, whatever happens. NULL: no memory. No agent yet. */
struct conn *conn_new(struct worker *w, int fd, const struct sockaddr_in *peer);
/* Other handlers; the old ones' c->proto is freed. */
void conn_become(struct conn *c, const struct conn_ops *ops);
/* The end without grace: both peers get a reset. */
void conn_reset(struct conn *c);
struct addr conn_source(const struct conn *c);
/* Bytes of c->in. */
struct slice conn_pending(const struct conn *c);
/* Appends an object that `connections` shows. */
int conn_json(const struct conn *c, struct buf *out);

/* --- conn_decide.c --- */

/* The worker has another table: closes @c, or moves it to the new policy.
 * False: it was closed. */
bool conn_recheck(struct conn *c);
/* conn_refuse() of one that a limit lets not even begin: floods are audited
 * once a second. */
void conn_turn_away(struct conn *c, enum reason why);
/* What the records of all events of @c have in common. */
struct audit_record conn_record(const struct conn *c, enum audit_event e,
				enum reason why);
/* Does anybody read this event? */
bool conn_wants(const struct conn *c, enum audit_event e);
bool conn_is_limit(enum reason why);
void conn_count_denial(struct conn *c);
/* Milliseconds until the policy expires, UINT64_MAX: never. */
uint64_t conn_expires_in(const struct conn *c);
/* A limit ends an allowed connection. */
void conn_limit(struct conn *c, enum reason why);
void conn_audit_close(const struct conn *c);
/* Nobody's connection, of which no struct conn is made. */
void conn_audit_stranger(struct worker *w, const struct addr *source,
			 uint16_t source_port, enum reason why);

/* --- tcp.c --- */

/* @name was dialled by its synthetic address: no first byte is waited for. */
void tcp_begin(struct conn *c, const struct name *name);

#endif
