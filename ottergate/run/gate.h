/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate.h - the running gateway: options, listeners, policy state, admin
 */
#ifndef OTTERGATE_RUN_GATE_H
#define OTTERGATE_RUN_GATE_H

#include "lib/err.h"
#include "lib/str.h"
#include "ottergate/policy/addr.h"

#define GATE_VERSION "0.1"
#define GATE_REFUSED "policy" /* the word of a failure for a refused policy */

struct gate_opts {
	struct strv policy; /* files and folders, in order */
	const char *agents; /* folder of <id>.yaml, NULL: none */
	const char *admin; /* socket path */
	const char *audit; /* file, NULL: none */
	const char *ready; /* written "1" when listening; NULL */
	struct addr self; /* address the listeners bind and DNS answers */
	uint16_t dns_port, transparent_port, proxy_port; /* 0: none */
	uint16_t fixed_listen, fixed_port; /* LISTEN_FIXED, 0: none */
	unsigned workers; /* 0: CPUs */
	bool keep_root; /* no isolation: tests without root, said so loudly */
	struct strv dns; /* upstream servers given on the command line */
	const char *roots; /* PEM, trusted besides the system's; NULL */
	const char *own; /* file of the machine's addresses (own.h); NULL */
	/* For tests: called by who reads policies, before it does. NULL */
	void (*on_load)(void *arg);
	void *on_load_arg;
};
/* Ends on SIGTERM or SIGINT with 0; SIGHUP reloads. */
int gate_run(const struct gate_opts *opts, struct err *err);

/* policy_state.c: which files are loaded, the table made of them. */
struct gate_state;
struct gate_files;
struct lint;
struct table;
struct policy;
int gate_state_load(const struct gate_opts *opts, struct gate_state **ret,
		    struct lint *lint, struct err *err);
void gate_state_free(struct gate_state *s); /* NULL is fine */
/* Everything anew; on failure the old state stays. An agent's file that is
 * bad denies that agent everything and is said so; it does not fail the
 * rest. What was bound and has no file is gone. */
int gate_state_reload(struct gate_state *s, struct lint *lint, struct err *err);
/* The two halves of a reload: reading may take seconds and touches nothing
 * but what it returns, so any thread may do it; taking is quick. */
int gate_files_read(const struct gate_opts *opts, struct gate_files **ret,
		    struct lint *lint, struct err *err);
int gate_state_take(struct gate_state *s, const struct gate_files *f,
		    struct err *err);
void gate_files_free(struct gate_files *f); /* NULL is fine */
/* Text is compiled and takes the place of what @id had. It must be the agent
 * @id and its address must be nobody else's. A sandbox that a limit had cut
 * off begins anew. */
int gate_state_bind(struct gate_state *s, const char *id, const char *text,
		    size_t len, struct lint *lint, struct err *err);
/* The second half of it, which is quick; @a is borrowed. */
struct agent_policy;
int gate_state_put(struct gate_state *s, const char *id, struct agent_policy *a,
		   struct err *err);
int gate_state_unbind(struct gate_state *s, const char *id, struct err *err);
/*
 * gate_secrets.c: what a sandbox was given beside its policy. It may come before
 * that, stays when it is bound anew and when files are read anew, and goes when
 * it is unbound. There is a new table then; the caller takes it to the workers
 * (gate_apply()), as after a bind.
 */
struct leaf_ca;
struct secret_set;
/* The real tokens of @id from now on; @set is borrowed, NULL: none. */
int gate_state_secrets(struct gate_state *s, const char *id,
		       struct secret_set *set, struct err *err);
/* The CA that @id has had before (leaf_ca_bundle()). -EINVAL. */
int gate_state_ca_put(struct gate_state *s, const char *id, struct slice bundle,
		      struct err *err);
/* The CA of @id, made for the inspect rules that it has now when there is none
 * yet; borrowed, lives as long as the agent is bound. -ENOENT: no such agent. */
int gate_state_ca(struct gate_state *s, const char *id, struct leaf_ca **ret,
		  struct err *err);
/* Says whether the policy of @id inspects anything. */
bool gate_state_inspects(struct gate_state *s, const char *id);
/*
 * `check`: the verdict for @url as JSON into @out. Returns 1: allowed, 0:
 * denied. Expiry counts, limits do not.
 */
struct buf;
int gate_check(const struct agent_policy *a, const char *url, struct buf *out,
	       struct err *err);
/*
 * The same, with the addresses that an allowed name has now: "addresses", each
 * with its verdict, and "lookup", the reason's code where there are none. If
 * all of them are denied, so is the request. Asks @servers (empty: those of the
 * machine) and waits: not for the gateway itself.
 */
int gate_check_places(const struct agent_policy *a, const char *url,
		      const struct strv *servers, struct buf *out,
		      struct err *err);
struct table *gate_state_table(struct gate_state *s); /* borrowed */
struct policy *gate_state_policy(struct gate_state *s); /* borrowed */

#endif
