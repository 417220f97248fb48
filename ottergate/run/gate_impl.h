/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_impl.h - what the parts of the running gateway share
 *
 * All of it belongs to the control thread, but for gate_places.c.
 */
#ifndef OTTERGATE_RUN_GATE_IMPL_H
#define OTTERGATE_RUN_GATE_IMPL_H

#include "lib/loop.h"
#include "ottergate/run/gate.h"
#include "ottergate/admin/metrics.h"
#include "ottergate/policy/load.h"
#include "ottergate/conn/worker.h"

struct admin_server;
struct gate_reload;

struct gate {
	const struct gate_opts *opts;
	struct loop *loop;
	struct loop_timer *trim; /* memory.h */
	struct audit *audit;
	struct gate_state *state;
	struct workers *workers;
	struct ssl_ctx_st *tls; /* for upstreams of inspection, or NULL */
	struct gate_reload *reload;
	struct admin_server *admin;
	struct strv dns; /* of the policy that the workers began with */
	uint64_t started_ms, reloads, reload_failures;
	bool last_reload_ok;
};

/* Takes the state's table to the workers, and what the policy says of the
 * audit to it; @old was the table before. Its reference is taken. */
void gate_apply(struct gate *g, struct table *old);
struct metrics_view gate_metrics(const struct gate *g);

/* --- gate_listen.c ------------------------------------------------------- */

struct gate_listeners {
	struct listener *v; /* [worker * n + kind] */
	size_t n; /* of one worker */
	unsigned workers;
};
int gate_listen(const struct gate_opts *opts, struct gate_listeners *ret,
		struct err *err);
/* Frees the table; @close_all: nobody has taken the sockets. */
void gate_listeners_done(struct gate_listeners *l, bool close_all);

/* --- gate_reload.c ------------------------------------------------------- */

struct gate_reload *gate_reload_new(struct gate *g, struct err *err);
void gate_reload_free(struct gate_reload *r); /* waits; NULL is fine */
/* Starts one, or another after the one that is on. */
void gate_reload_ask(struct gate_reload *r);
/* Compiles @text, the policy of @id, and binds it; none may be on. The admin
 * server is told of the end. -ENOMEM: nothing has begun. */
int gate_reload_bind(struct gate_reload *r, const char *id, struct slice text);
/* Says whether one of these is on, or a reload is to come. Then nothing else may
 * change the state. */
bool gate_reload_busy(const struct gate_reload *r);
/* Into the log and the audit: a load has ended, with @err or well. */
void gate_reload_say(struct gate *g, const struct lint *lint,
		     const struct err *err);

/* --- gate_places.c ------------------------------------------------------- */

/* Judges the addresses that the allowed @t has now, and writes the answer of
 * gate_check_places() to @out. If none of them may be dialled, @v becomes a
 * denial. Asks @servers and waits, on whichever thread the caller has. All
 * arguments are borrowed. Fails with -ENOMEM, or with -ENOBUFS for an answer
 * that does not fit into @out. */
int gate_places(const struct agent_policy *a, const struct check_target *t,
		const struct strv *servers, struct verdict *v, struct buf *out);

/* --- admin/server.c ------------------------------------------------------ */

/* Takes @fd, which listens. */
struct admin_server *admin_server_new(struct gate *g, int fd, struct err *err);
void admin_server_free(struct admin_server *s); /* NULL is fine */
/* A reload begins; one has ended: who asked before its begin is answered. */
void admin_server_reload_begins(struct admin_server *s);
void admin_server_reload_ended(struct admin_server *s, const struct lint *lint,
			       const struct err *err);
/* The same of a bind of @id. */
void admin_server_bind_ended(struct admin_server *s, const char *id,
			     const struct lint *lint, const struct err *err);

#endif
