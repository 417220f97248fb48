/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admin_impl.h - inside of admin/server.c and admin/answers.c
 */
#ifndef OTTERGATE_ADMIN_ADMIN_IMPL_H
#define OTTERGATE_ADMIN_ADMIN_IMPL_H

#include "ottergate/admin.h"
#include "ottergate/run/gate_impl.h"
#include "lib/jsonw.h"

#define ADMIN_FOLLOWERS_MAX 8u /* the others are for those that ask */
#define ADMIN_ANSWER_MAX (128u * 1024 * 1024) /* 200,000 connections */
#define ADMIN_FOLLOW_MAX (1024u * 1024) /* a follower may lag by so much */
#define ADMIN_NEEDLE_MAX (32u + JSONW_ESCAPE_MAX * AUDIT_AGENT_MAX)

enum admin_state {
	ADMIN_READ,
	ADMIN_WAIT,
	ADMIN_ASKED,
	ADMIN_RELOADING,
	ADMIN_BINDING,
	ADMIN_FOLLOWING,
	ADMIN_FLUSH,
};

struct admin_conn {
	struct admin_server *server;
	struct admin_conn *next, **link;
	struct loop_io *io;
	struct loop_timer *timer; /* the end, when it fires */
	struct audit_follow *follow;
	struct buf in, out;
	enum admin_state state;
	int fd;
	bool broken; /* the answer did not fit, or there was no memory */
	bool secret; /* what came, or what goes, is wiped behind us */
	size_t needle_len;
	char needle[ADMIN_NEEDLE_MAX]; /* ,"agent":"ID" of a follower */
};

struct admin_server {
	struct gate *gate;
	struct loop_io *io;
	struct admin_conn *conns;
	size_t n_conns;
	int fd;
};

/* ---- admin/server.c ---- */

void admin_conn_frame(struct admin_conn *c, enum admin_kind kind,
		      struct slice payload);
/* A text of any length, in pieces. */
void admin_conn_text(struct admin_conn *c, struct slice text);
/* Which events it waits for, by its state. */
void admin_conn_wait(struct admin_conn *c);
/* Frees the bytes, which are wiped first. */
void admin_buf_wipe(struct buf *b);

/* ---- admin/answers.c ---- */

typedef int (*admin_answer_fn)(struct admin_conn *c,
			       const struct admin_request *rq, struct err *err);
extern const admin_answer_fn admin_answers[ADMIN_VERB_LAST + 1];
/* The outcome of a load: {"ok":…,"generation":…,"error":…,"lint":[…]}; of a
 * bind of @id (else NULL) also "inspects". */
void admin_conn_lint(struct admin_conn *c, const struct lint *lint,
		     const char *id, const struct err *err);
/* Into the audit: @id was bound or unbound. */
void admin_note_change(struct gate *g, const char *id, bool bound);

#endif
