/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_impl.h - shared by the parts of the running gateway
 *
 * Everything but gate_places.c is used by the control thread only.
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
	struct loop_timer *trim; /* see memory.h */
	struct audit *audit;
	struct gate_state *state;
	struct workers *workers;
	struct ssl_ctx_st *tls; /* for upstreams of inspection, or NULL */
	struct gate_reload *reload;
	struct admin_server *admin;
	struct strv dns; /* of the policy at the workers' start */
	uint64_t started_ms, reloads, reload_failures;
	bool last_reload_ok;
};

/* Passes the state's table to the workers and the policy's audit settings to
 * the audit; waits until no worker uses the old table. Then releases the
 * caller's reference to @old, the table before. */
void gate_apply(struct gate *g, struct table *old);
/* Returns a view of the counters; its pointers are borrowed. */
struct metrics_view gate_metrics(const struct gate *g);

/* --- gate_listen.c ------------------------------------------------------- */

struct gate_listeners {
	struct listener *v; /* v[worker * n + kind] */
	size_t n; /* of one worker */
	unsigned workers;
};
/* Opens the listening sockets of all workers and sets *@ret, for
 * gate_listeners_done(). Returns 0. Fails with a negative errno and @err; *@ret
 * is unchanged and no socket is open then. */
int gate_listen(const struct gate_opts *opts, struct gate_listeners *ret,
		struct err *err);
/* Frees the table. @close_all also closes the sockets, if no worker owns
 * them. */
void gate_listeners_done(struct gate_listeners *l, bool close_all);

/* --- gate_reload.c ------------------------------------------------------- */

/* Returns a new one, owned by the caller, or NULL with @err. */
struct gate_reload *gate_reload_new(struct gate *g, struct err *err);
/* Waits for the thread of a running job, drops its result and frees @r. NULL is
 * fine. */
void gate_reload_free(struct gate_reload *r);
/* Starts a reload; if a job is running, at the end of that. Cannot fail itself;
 * admin_server_reload_ended() is called with the result. */
void gate_reload_ask(struct gate_reload *r);
/* Starts to compile @text as the policy of @id and to bind it; both are copied,
 * and no job may be running. admin_server_bind_ended() is called at the end.
 * Returns 0, or -ENOMEM if nothing was started. */
int gate_reload_bind(struct gate_reload *r, const char *id, struct slice text);
/* Returns true if a job is running or a reload is queued. The state must not be
 * changed then. */
bool gate_reload_busy(const struct gate_reload *r);
/* Writes the end of a load and its findings to the log and the audit. @err has
 * a code if the load failed. */
void gate_reload_say(struct gate *g, const struct lint *lint,
		     const struct err *err);

/* --- gate_places.c ------------------------------------------------------- */

/*
 * Judges the current addresses of the allowed @t and appends the answer of
 * gate_check_places() to @out. If none of them may be dialled, @v becomes a
 * denial. Asks @servers and waits, in the caller's thread. All arguments are
 * borrowed. Returns 0, -ENOMEM, or -ENOBUFS if the answer does not fit into
 * @out.
 */
int gate_places(const struct agent_policy *a, const struct check_target *t,
		const struct strv *servers, struct verdict *v, struct buf *out);

/* --- admin/socket.c ------------------------------------------------------ */

/* Serves @fd, a listening socket, which it owns from now on; on failure it is
 * closed. Returns the server, owned by the caller, or NULL with @err. */
struct admin_server *admin_server_new(struct gate *g, int fd, struct err *err);
/* Closes all connections and the socket. NULL is fine. */
void admin_server_free(struct admin_server *s);
/* Called when a reload begins and ends: requests made before its begin are
 * answered at its end. */
void admin_server_reload_begins(struct admin_server *s);
void admin_server_reload_ended(struct admin_server *s, const struct lint *lint,
			       const struct err *err);
/* Called when a bind of @id has ended, to answer its request. */
void admin_server_bind_ended(struct admin_server *s, const char *id,
			     const struct lint *lint, const struct err *err);

#endif
