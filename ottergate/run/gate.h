/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate.h - the running gateway: options, listeners, policy state, admin
 */
#ifndef OTTERGATE_RUN_GATE_H
#define OTTERGATE_RUN_GATE_H

#include "lib/err.h"
#include "lib/str.h"
#include "ottergate/policy/net/addr.h"

#define GATE_VERSION "0.1"
#define GATE_REFUSED "policy" /* struct err's word for a refused policy */
#define GATE_FILES 65536u /* descriptors that have their room from the start */

struct gate_opts {
	struct strv policy; /* files and folders, in order */
	const char *agents; /* folder of <id>.yaml, NULL: none */
	const char *admin; /* socket path */
	const char *audit; /* file, NULL: none */
	const char *ready; /* file that gets "1" when listening; NULL: none */
	struct addr self; /* bound by the listeners and answered by DNS */
	uint16_t dns_port, transparent_port, proxy_port; /* 0: none */
	uint16_t fixed_listen, fixed_port; /* LISTEN_FIXED, port 0: none */
	unsigned workers; /* 0: one for each CPU */
	/* no isolation, for tests without root; logged as a warning */
	bool keep_root;
	struct strv dns; /* upstream servers given on the command line */
	const char *roots; /* PEM, trusted besides the system's; NULL */
	const char *own; /* file of the machine's addresses (own.h); NULL */
	const char *edge; /* folder of ac-edge's sockets; NULL: none */
	/* For tests: called before policies are read, in the thread that reads
	 * them. NULL: none. */
	void (*on_load)(void *arg);
	void *on_load_arg;
};
/* Runs the gateway until SIGTERM or SIGINT; SIGHUP reloads. Returns 0, or a
 * negative errno with @err. */
int gate_run(const struct gate_opts *opts, struct err *err);

/* policy_state.c: the loaded files and the table made of them. The int
 * functions return 0, or a negative errno with @err; the old state stays on
 * failure. @lint collects findings, for lint_done(); it may be NULL. */
struct gate_state;
struct gate_files;
struct lint;
struct table;
struct policy;
/* Reads the files of @opts (borrowed) into a new state, owned by the caller. */
int gate_state_load(const struct gate_opts *opts, struct gate_state **ret,
		    struct lint *lint, struct err *err);
/* Frees the state. NULL is fine. */
void gate_state_free(struct gate_state *s);
/* Reads all files again. A bad file of one agent is reported in @lint and
 * denies that agent everything, but is no failure. An agent that was bound and
 * has no file is removed. */
int gate_state_reload(struct gate_state *s, struct lint *lint, struct err *err);
/* The two halves of a reload. Reading may take seconds and changes nothing but
 * *@ret, so any thread may do it, but one at a time. Taking is quick; it takes
 * references, and the caller frees @f in either case. */
int gate_files_read(const struct gate_opts *opts, struct gate_files **ret,
		    struct lint *lint, struct err *err);
int gate_state_take(struct gate_state *s, const struct gate_files *f,
		    struct err *err);
/* Frees what was read. NULL is fine. */
void gate_files_free(struct gate_files *f);
/* Replaces the policy of @id by @a, of which the table takes a reference of its
 * own. Fails with -EINVAL if @a is of another agent and with -EEXIST if its
 * address is another agent's. Restores a sandbox that a limit had cut off. */
struct agent_policy;
int gate_state_put(struct gate_state *s, const char *id, struct agent_policy *a,
		   struct err *err);
/* Removes the agent, its credentials and its CA. Fails with -ENOENT if it has
 * none of them. */
int gate_state_unbind(struct gate_state *s, const char *id, struct err *err);
/*
 * gate_secrets.c: what a sandbox was given besides its policy. It may come
 * before the policy, stays across binds and reloads, and is removed by an
 * unbind. A change makes a new table, which the caller passes to the workers
 * (gate_apply()), as after a bind.
 */
struct leaf_ca;
struct secret_set;
/* Replaces the credentials of @id by @set, of which it takes a reference; NULL:
 * none. What was revoked stays revoked. */
int gate_state_secrets(struct gate_state *s, const char *id,
		       struct secret_set *set, struct err *err);
/* Restores an earlier CA of @id (leaf_ca_bundle()). Fails with -EINVAL if
 * @bundle is none. */
int gate_state_ca_put(struct gate_state *s, const char *id, struct slice bundle,
		      struct err *err);
/* Gets the CA of @id; makes one for its current inspect rules if it has none.
 * *@ret is borrowed and valid until gate_state_ca_put() or gate_state_unbind()
 * of @id. Fails with -ENOENT if no such agent is bound. */
int gate_state_ca(struct gate_state *s, const char *id, struct leaf_ca **ret,
		  struct err *err);
/* Returns true if the policy of @id inspects anything, and without memory;
 * false if @id is not bound. */
bool gate_state_inspects(struct gate_state *s, const char *id);
/* Appends the verdict for @url to @out as JSON, for `check`. An expired policy
 * denies; limits are ignored. Returns 1 if it is allowed, 0 if it is denied, or
 * a negative errno with @err. */
struct buf;
int gate_check(const struct agent_policy *a, const char *url, struct buf *out,
	       struct err *err);
/*
 * Like gate_check(), and adds the current addresses of an allowed name:
 * "addresses", each with its verdict, and "lookup", the reason's code if there
 * are none. If all of them are denied, so is the request. Asks @servers (empty:
 * those of the machine) and waits, so the gateway itself must not call it.
 */
int gate_check_places(const struct agent_policy *a, const char *url,
		      const struct strv *servers, struct buf *out,
		      struct err *err);
/* Return the current table and the shared policy, borrowed from @s and valid
 * until it changes. */
struct table *gate_state_table(struct gate_state *s);
struct policy *gate_state_policy(struct gate_state *s);

#endif
