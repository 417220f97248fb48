/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instance_impl.h - inside of instance*.c and run.c; nobody else includes it
 */
#ifndef CONTROL_ACD_INSTANCE_IMPL_H
#define CONTROL_ACD_INSTANCE_IMPL_H

#include <limits.h>
#include <sys/queue.h>
#include <time.h>

#include "control/acd/blueprint.h"
#include "control/acd/instance.h"
#include "control/acd/mounts.h"
#include "control/acd/treejob.h"

#define READY_LIMIT_MS 15000u /* from a sandbox's start to its READY */
#define KILL_GRACE_MS 5000u /* TERM to KILL, when nobody said otherwise */
#define KILL_LIMIT_MS 2000u /* KILL to the sandbox's forced end */
#define RUN_WATCHES_MAX 32u

/* A struct run_request that outlives its call. */
struct run_wish {
	struct strv argv, env;
	char *cwd;
	bool shell, tty, use_stdin, detached;
	uint16_t rows, cols;
	uint64_t timeout_ms;
};

void run_wish_done(struct run_wish *w); /* accepts zeroed */
int run_wish_copy(struct run_wish *w, const struct run_request *rq);

/* Who made an end of a run, if not its process. */
enum run_cause {
	RUN_SELF,
	RUN_STOPPED, /* instance_stop() */
	RUN_TIMEOUT,
	RUN_ABANDONED, /* its client has gone */
};

struct run {
	struct instance *in;
	LIST_ENTRY(run) link; /* in->execs; not the main run */
	struct channel *channel; /* NULL: over, or the link is lost */
	bool is_main, tty, use_stdin;
	LIST_HEAD(run_watches, run_watch) watches;
	unsigned n_watches;
	unsigned walking; /* watchers are being called */
	bool doomed; /* to be finished when the walk is over, */
	struct link_exit end; /* so */
	uint64_t output; /* bytes the process has written */
	uint64_t credited; /* of these, given back as credit */
	uint32_t pid; /* in the sandbox; 0: not started */
	enum run_cause cause;
	uint64_t kill_at; /* when TERM turns into KILL; 0: not yet asked */
	bool killed; /* KILL was sent, its effect is waited for */
	struct loop_timer *timer; /* wall clock limit, then TERM, then KILL */
};

struct instance_waiter {
	STAILQ_ENTRY(instance_waiter) link;
	instance_fn fn;
	void *arg;
	struct err err; /* code 0: success */
};
STAILQ_HEAD(instance_waiters, instance_waiter);

enum instance_clean {
	CLEAN_NOT,
	CLEAN_HOME, /* and the log */
	CLEAN_ALL, /* and the rest, and the record */
};

struct instance {
	struct instances *is;
	TAILQ_ENTRY(instance) link; /* is->all, in order of name */
	struct instance_record rec;
	struct blueprint bp; /* as of the last run */
	char *image; /* as of the last look at the blueprint */

	/* The run that is starting or on, and the one that waits for it to
	 * stop. The functions are NULL when nobody is to be told. */
	struct run_wish wish, next;
	instance_fn run_fn, next_fn;
	void *run_arg, *next_arg;

	struct session *session;
	struct run *main;
	LIST_HEAD(run_list, run) execs;
	struct loop_timer *ready_timer;
	bool runtime_busy; /* a start, an end or a removal is under way */
	struct mounts_paths *paths; /* while its policy is being bound */
	struct wishes *wishes; /* a change of these is under way */
	char *warnings; /* of its policy, for the run that starts; NULL */
	bool end_wanted; /* of a start that is under way */
	struct err why; /* of a failed start or a lost link */
	struct link_exit exit; /* of the main process */
	enum instance_state final; /* after stopping: stopped or failed */

	struct instance_waiters waiters; /* for the end of all that follows */
	enum instance_clean clean; /* once nothing runs */
	struct treejob *tree; /* its files are being removed */

	struct logring *ring;
	LIST_HEAD(instance_logs, instance_log) logs;
};

struct instances {
	struct loop *loop;
	struct store *store;
	struct runtime *rt;
	struct builds *builds;
	const char *dir;
	const struct instance_egress_ops *egress;
	void *egress_arg;
	TAILQ_HEAD(instance_list, instance) all;
	LIST_HEAD(instance_events, instance_event) events;
	unsigned walking; /* events are being called */
	struct instance_waiters later; /* to be called from the loop */
	struct loop_timer *later_timer;
};

/* ---- instance.c ---- */

/* Calls @fn from the loop; @err is copied, NULL for success. */
int instances_later(struct instances *is, instance_fn fn, void *arg,
		    const struct err *err);
int instance_wait(struct instance *in, instance_fn fn, void *arg);
/* Tells those who wait for the end; @err NULL for success. */
void instance_wake(struct instance *in, const struct err *err);
/* Writes the record; on failure @err says so and the instance goes on. */
int instance_save(struct instance *in, struct err *err);
/* Sets, tells everybody; does not write the record. */
void instance_set_state(struct instance *in, enum instance_state st);
void instance_set_reason(struct instance *in, const char *fmt, ...)
	ATTR_PRINTF(2, 3);
/* Reads the blueprint again: in->bp, in->image. */
int instance_load_blueprint(struct instance *in, struct err *err);
/* Forgets a dead instance whose record is gone. */
void instance_forget(struct instance *in);
/* <dir>/<name>/<sub>; NULL without memory. @sub "": the instance's own. */
char *instance_path(const struct instance *in, const char *sub);

/* ---- instance_start.c ---- */

/* Its policy holds. */
int instance_start_bound(struct instance *in, const struct mounts_paths *m,
			 struct err *err);
/* The run that waits, if any: begun, or refused with @err. */
void instance_start_next(struct instance *in, const struct err *err);
/* Tells who called instance_run(), if it still waits. */
void instance_began(struct instance *in, const struct err *err);

/* ---- instance_egress.c ---- */

/* Has the policy bound, then calls instance_start_bound(); takes @paths, a
 * copy. */
int instance_egress_begin(struct instance *in, const struct mounts_paths *paths,
			  struct err *err);
/* The sandbox is gone, or will not be. */
void instance_egress_end(struct instance *in);
/* Tells each run of an instance that reaches everything, and of targets that
 * will not be reached. */
void instance_egress_notice(struct instance *in);
void instance_egress_free(struct instance *in);

/* ---- instance_end.c ---- */

/* The sandbox could not start, or must not: in->why. */
void instance_start_failed(struct instance *in);
/* The link of a sandbox is gone; it may have been killed. */
void instance_link_lost(struct instance *in, const struct err *err);
/* The main process has reported its end. */
void instance_main_exited(struct instance *in, const struct link_exit *x);
/* It has not, although it was killed. */
void instance_force_end(struct instance *in);
/* Begins the end of what is live. */
void instance_end(struct instance *in, uint64_t grace_ms);
/* Removes the sandbox, then does what is to follow. */
void instance_teardown(struct instance *in);
/* The same for one that is not live, but whose removal had failed. */
void instance_teardown_left(struct instance *in);

/* ---- instance_clean.c ---- */

/* Nothing runs any more: does what in->clean says and wakes the waiters. */
void instance_clean_now(struct instance *in);
/* At the start of acd: what the store believes alive is lost. */
void instances_lost(struct instances *is);

/* ---- instance_log.c ---- */

/* A new run: empties the log; readers of the old one are cut off. */
int instance_log_start(struct instance *in, struct err *err);
void instance_log_write(struct instance *in, struct slice data);
/* Before the main run ends: says so if the log is not whole. */
void instance_log_judge(struct instance *in);
void instance_log_end(struct instance *in); /* nothing more will come */
/* The files are going: cuts the readers off; @wake: they hear of it. */
void instance_log_drop(struct instance *in, bool wake);

/* ---- run.c ---- */

/* Opens the channel and adds the run to @in. */
int run_start(struct instance *in, const struct run_wish *w, bool is_main,
	      struct run **ret, struct err *err);
/* Tells the watchers and frees the run. */
void run_finish(struct run *r, const struct link_exit *x);
/* TERM now (and HUP to a terminal), KILL after @grace_ms, and after
 * KILL_LIMIT_MS more without the sandbox's help. */
void run_terminate(struct run *r, enum run_cause cause, uint64_t grace_ms);
void run_notice(struct run *r, uint8_t level, const char *text);

#endif
