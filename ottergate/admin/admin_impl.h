/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admin_impl.h - shared by admin/socket.c and admin/answers.c
 */
#ifndef OTTERGATE_ADMIN_ADMIN_IMPL_H
#define OTTERGATE_ADMIN_ADMIN_IMPL_H

#include "ottergate/admin.h"
#include "ottergate/run/gate_impl.h"
#include "lib/jsonw.h"

/* Those that follow by reason, as acd does, are not limited by this. */
#define ADMIN_FOLLOWERS_MAX 8u /* leaves connections for requests */
#define ADMIN_ANSWER_MAX (128u * 1024 * 1024) /* 200,000 connections */
/* bytes that a follower may lag behind */
#define ADMIN_FOLLOW_MAX (1024u * 1024)
#define ADMIN_NEEDLE_MAX (32u + JSONW_ESCAPE_MAX * AUDIT_AGENT_MAX)

enum admin_state {
	ADMIN_READ, /* its request is not complete */
	ADMIN_WAIT, /* its change waits for the end of a running job */
	ADMIN_ASKED, /* asked for a reload, which has not begun */
	ADMIN_RELOADING, /* answered when the running reload has ended */
	ADMIN_BINDING, /* answered when its bind has ended */
	ADMIN_FOLLOWING, /* gets lines until it leaves */
	ADMIN_FLUSH, /* answered; closed when all is sent */
};

struct admin_conn {
	struct admin_server *server;
	struct admin_conn *next, **link;
	struct loop_io *io;
	struct loop_timer *timer; /* ends the connection */
	struct audit_follow *follow;
	struct buf in, out;
	enum admin_state state;
	int fd;
	bool broken; /* the answer did not fit, or memory ran out */
	bool secret; /* input and output are wiped */
	size_t needle_len;
	/* The text that lines for a follower have in them: ,"agent":"ID" or
	 * ,"reason":"CODE". */
	char needle[ADMIN_NEEDLE_MAX];
};

struct admin_server {
	struct gate *gate;
	struct loop_io *io;
	struct admin_conn *conns;
	size_t n_conns;
	int fd;
};

/* ---- admin/socket.c ---- */

/* Queues a frame with a copy of @payload. On failure sets @c->broken; after
 * that does nothing. */
void admin_conn_frame(struct admin_conn *c, enum admin_kind kind,
		      struct slice payload);
/* Queues a copy of a text of any length as DATA frames. Fails likewise. */
void admin_conn_text(struct admin_conn *c, struct slice text);
/* Watches the events that the state of @c needs. */
void admin_conn_wait(struct admin_conn *c);
/* Wipes and frees the bytes of @b, which is then empty and can be used
 * again. */
void admin_buf_wipe(struct buf *b);

/* ---- admin/answers.c ---- */

/* Handles one request, whose views are valid during the call. Returns 0 when
 * the whole answer is queued or a state was set that another event ends. Else
 * returns a negative errno, for which the caller sends the message in @err, or
 * the errno's text if @err has none. */
typedef int (*admin_answer_fn)(struct admin_conn *c,
			       const struct admin_request *rq, struct err *err);
extern const admin_answer_fn admin_answers[ADMIN_VERB_LAST + 1];
/* Queues the outcome of a load: {"ok":…,"generation":…,"error":…,"lint":[…]};
 * for a bind of @id (else NULL) also "inspects". @err without a code means
 * success. */
void admin_conn_lint(struct admin_conn *c, const struct lint *lint,
		     const char *id, const struct err *err);
/* Writes to the audit that @id was bound or unbound. */
void admin_note_change(struct gate *g, const char *id, bool bound);

#endif
