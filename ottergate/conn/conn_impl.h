/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn_impl.h - what the files of the connection share among themselves
 */
#ifndef OTTERGATE_CONN_CONN_IMPL_H
#define OTTERGATE_CONN_CONN_IMPL_H

#include "lib/buf.h"
#include "ottergate/conn/conn.h"

struct sockaddr_in;

/* --- conn.c --- */

/* Takes @fd, whatever happens. NULL: no memory. No agent yet. */
struct conn *conn_new(struct worker *w, int fd, const struct sockaddr_in *peer);
/* It belongs to @a from now on, and has its first turn soon: conn_begin(). */
void conn_own(struct conn *c, struct agent *a, const struct listener *l);
/* Other handlers; the old ones' c->proto is freed. */
void conn_become(struct conn *c, const struct conn_ops *ops);
/* The end without grace: both peers get a reset. */
void conn_reset(struct conn *c);
struct addr conn_source(const struct conn *c);
/* Bytes of c->in. */
struct slice conn_pending(const struct conn *c);
/* Appends an object that `connections` shows. */
int conn_json(const struct conn *c, struct buf *out);

/* --- conn/accept.c --- */

/* The first turn. */
void conn_begin(struct conn *c);

/* --- conn/verdict.c --- */

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
void conn_count_denial(struct conn *c);
/* Milliseconds until the policy expires, or until that is to be judged
 * again, since clocks are set; 0: it has; UINT64_MAX: never. */
uint64_t conn_expires_in(const struct conn *c);
/* A limit ends an allowed connection. */
void conn_limit(struct conn *c, enum reason why);
void conn_audit_close(const struct conn *c);
/* Nobody's connection, of which no struct conn is made. */
void conn_audit_stranger(struct worker *w, const struct addr *source,
			 uint16_t source_port, enum reason why);

/* --- conn/meant.c --- */

/* Who asked to connect, before the first decision or refusal: c->program. */
void conn_find_program(struct conn *c);
/*
 * @rec is of a refusal of a connection that has named neither host nor address:
 * the name that the address it was made to stands for, in c->name too; and
 * where no bytes could have made it allowed, the policy's reason and rule in
 * place of what the bytes lacked.
 */
void conn_meant(struct conn *c, struct audit_record *rec);
/* The client has left before it said anything: a refusal, if it could have
 * said nothing that is allowed. */
void conn_left(struct conn *c);

/* --- tcp.c --- */

/* @name was dialled by its synthetic address: no first byte is waited for. */
void tcp_begin(struct conn *c, const struct name *name);

#endif
