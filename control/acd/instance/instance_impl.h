/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instance_impl.h - inside of instance*.c and run.c; nobody else includes it
 */
#ifndef CONTROL_ACD_INSTANCE_INSTANCE_IMPL_H
#define CONTROL_ACD_INSTANCE_INSTANCE_IMPL_H

#include <limits.h>
#include <sys/queue.h>
#include <time.h>

#include "control/acd/blueprint/blueprint.h"
#include "control/acd/runtime/cgroup.h"
#include "control/acd/instance/instance.h"
#include "control/acd/instance/room.h"
#include "control/acd/instance/lifetime.h"
#include "control/acd/storage/mounts.h"
#include "control/acd/storage/treejob.h"
#include "control/shared/screen.h"

#define READY_LIMIT_MS 15000u /* from a sandbox's start to its READY */
#define KILL_GRACE_MS 5000u /* TERM to KILL, when nobody said otherwise */
#define KILL_LIMIT_MS 2000u /* KILL to the sandbox's forced end */
#define RUN_WATCHES_MAX 32u

/* A struct run_request that outlives its call. */
struct run_wish {
	struct strv argv, env;
	char *cwd;
	bool shell, files, tty, use_stdin, detached, unnoticed;
	uint16_t rows, cols;
	uint64_t timeout_ms;
};

/* run_wish.c */
void run_wish_done(struct run_wish *w); /* accepts zeroed */
int run_wish_copy(struct run_wish *w, const struct run_request *rq);

/* Who made an end of a run, if not its process. */
enum run_cause {
	RUN_SELF,
	RUN_STOPPED, /* instance_stop() */
	RUN_TIMEOUT,
	RUN_OUTPUT, /* it wrote more than it may */
	RUN_IDLE,
	RUN_TTL,
	RUN_ABANDONED, /* its client has gone */
};

struct run {
	struct instance *in;
	LIST_ENTRY(run) link; /* in->execs; not the main run */
	struct channel *channel; /* NULL: over, or the link is lost */
	LIST_HEAD(run_watches, run_watch) watches;
	unsigned n_watches;
	unsigned walking; /* watchers are being called */
	struct link_exit end; /* when it is doomed */
	uint64_t output; /* bytes the process has written */
	uint64_t credited; /* of these, given back as credit */
	uint64_t kill_at; /* when TERM turns into KILL; 0: not yet asked */
	struct loop_timer *timer; /* wall clock limit, then TERM, then KILL */
	uint64_t due_ms; /* when it goes off; 0: not set */
	uint64_t left_ms; /* that was left when it was frozen */
	uint64_t limit_ms; /* of its time; 0: none */
	struct loop_timer *redraw; /* it has one row less until then */
	uint32_t pid; /* in the sandbox; 0: not started */
	enum run_cause cause;
	uint16_t rows, cols; /* of the terminal, as it should be */
	bool is_main, tty, use_stdin;
	bool doomed; /* to be finished when the walk is over */
	bool killed; /* KILL was sent, its effect is waited for */
	bool held; /* the sandbox is frozen: the timer waits */
	bool redrawing;
	bool unnoticed; /* acd's own: no sign of life */
	struct screen screen; /* of a main run's terminal */
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
	CLEAN_EXPIRED, /* home and log, for its ttl is over */
	CLEAN_HOME, /* and the log */
	CLEAN_ALL, /* and the rest, and the record */
};

/* Whose answer an instance waits for. Nothing of it is undone meanwhile, and
 * what happens to it is looked at when the answer has come. */
enum instance_wait {
	WAIT_NONE,
	WAIT_DISK, /* a child that makes the disk limit hold */
	WAIT_POLICY, /* the gateway, that is to bind its policy */
	WAIT_SANDBOX, /* the runtime, that starts a sandbox */
	WAIT_REPLACED, /* the runtime, that removes one of the pool first */
	WAIT_END, /* the runtime, that is asked how a sandbox ended */
	WAIT_THAW, /* the runtime, before a sandbox is removed */
	WAIT_REMOVAL, /* the runtime, that removes a sandbox */
};

struct instance {
	struct instances *is;
	TAILQ_ENTRY(instance) link; /* is->all, in order of name */
	struct instance_record rec;
	struct instance_record *before; /* the last wishes; NULL: nothing */
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
	struct mounts_paths *paths; /* while its policy is being bound */
	struct wishes *wishes; /* a change of these is under way */
	char *warnings; /* of its policy, for the run that starts; NULL */
	json_t *revoked; /* credentials of its last run; NULL: none */
	bool vault_over; /* its vaultd has ended in this run, and it is told */
	struct life life;
	uint64_t ttl_next_ms; /* the next one is not before */
	unsigned ttl_tries; /* to do what follows from its ttl; 0: not told */
	enum instance_state final; /* after stopping: stopped or failed */
	enum instance_clean clean; /* once nothing runs */
	enum instance_wait waits; /* who has to answer before it goes on */
	bool end_wanted; /* of a start that is under way */
	bool warm; /* its sandbox was started ahead, and is not ready yet */
	bool disk_wished; /* see disk_wish */
	bool is_new; /* see instance_set_new() */
	bool frozen; /* as the runtime last said */
	bool freeze_wanted, freeze_busy; /* busy: the runtime is asked */

	instance_fn freeze_fn; /* who asked; NULL: nobody */
	void *freeze_arg;
	struct err freeze_why; /* it failed, and is being taken back */

	struct err why; /* of a failed start or a lost link */
	struct link_exit exit; /* of the main process */

	struct instance_waiters waiters; /* for the end of all that follows */
	struct cgroup_writers written; /* at the last look of room */
	struct treejob *tree; /* its files are being removed */
	struct treejob *disk_job; /* its disk limit is being made to hold */
	struct loop_timer *disk_timer; /* looks whether it is reached */
	uint64_t disk_wish; /* to hold instead of rec.disk, if disk_wished */

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
	const struct instance_pool_ops *pool;
	void *pool_arg;
	TAILQ_HEAD(instance_list, instance) all;
	LIST_HEAD(instance_events, instance_event) events;
	unsigned walking; /* events are being called */
	struct instance_waiters later; /* to be called from the loop */
	struct loop_timer *later_timer;
	struct loop_timer *life_timer;
	uint64_t look_at_ms; /* when it goes off; 0: not set */
	struct loop_timer *room_timer; /* instance/room.c */
	struct room room;
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
/* Tells everybody that listens of a limit that was reached. */
void instance_tell_breach(struct instance *in, const char *limit,
			  const char *text);
/* Forgets a dead instance whose record is gone. */
void instance_forget(struct instance *in);
/* <dir>/<name>/<sub>; NULL without memory. @sub "": the instance's own. */
char *instance_path(const struct instance *in, const char *sub);

/* ---- instance/phase.c ---- */

/* How far it is, in a word of the API's `phase`, static. */
const char *instance_phase(const struct instance *in);

/* ---- instance/undo.c ---- */

/* A run has begun: its wishes stay. */
void instance_settled(struct instance *in);

/* ---- instance/start.c ---- */

/* Its policy holds. */
int instance_start_bound(struct instance *in, const struct mounts_paths *m,
			 struct err *err);
/* The run that waits, if any: begun, or refused with @err. */
void instance_start_next(struct instance *in, const struct err *err);
/* Tells who called instance_run(), if it still waits. */
void instance_began(struct instance *in, const struct err *err);

/* The link as its instance hears it. */
extern const struct session_ops instance_session_ops;
/* Answers HELLO. */
int instance_assign(struct instance *in);
/* Makes its directories and mounts; they may be there. */
int instance_files(struct instance *in, struct mounts_paths *ret,
		   struct err *err);

/* Its disk limit holds. */
int instance_start_held(struct instance *in, struct err *err);

/* ---- instance/disk_limit.c ---- */

/* @bytes are to hold from the next run on; the record has them when they do. */
void instance_disk_wish(struct instance *in, uint64_t bytes);
/* What instance_disk_wanted() says holds now. */
void instance_disk_holds(struct instance *in);
/* Can its limit, if any, be kept with the workspace it wants? If not, a wish
 * is forgotten. */
int instance_disk_check(struct instance *in, struct err *err);
/* Nothing has to be done for it before a run. */
bool instance_disk_is_settled(const struct instance *in);
/* Makes the disk limit hold, then calls instance_start_held(). */
int instance_disk_begin(struct instance *in, struct err *err);
/* Leaves that off, if it is under way; the start then fails. */
void instance_disk_cancel(struct instance *in);
/* Its own files are in its disk.img. */
bool instance_disk_is_file(const struct instance *in);
/* Removes home and log, or @all, by in->tree. */
int instance_disk_remove(struct instance *in, bool all, treejob_fn fn,
			 struct err *err);
/* Tells each run of an instance what its limit does not count. */
void instance_disk_notice(struct instance *in);
/* As disk_use_json(). */
json_t *instance_disk_json(const struct instance *in);
void instance_disk_free(struct instance *in);

/* ---- instance/warm.c ---- */

/* Gets a sandbox that was started ahead, with directories and mounts. */
bool instance_warm_claim(struct instance *in);
/* Its policy holds: tells it whose it is. */
void instance_warm_go(struct instance *in);
/* It is lost or too late before it was ready: another is started instead. */
void instance_warm_lost(struct instance *in);

/* ---- instance/policy_bind.c ---- */

/* Has the policy bound, then calls instance_start_bound(); takes @paths, a
 * copy. */
int instance_egress_begin(struct instance *in, const struct mounts_paths *paths,
			  struct err *err);
/* What its guest is told beside; all zero: nothing. */
struct instance_grant instance_grant(const struct instance *in);
/* The sandbox is gone, or will not be. */
void instance_egress_end(struct instance *in);
/* Tells each run of an instance that reaches everything, and of targets that
 * will not be reached. */
void instance_egress_notice(struct instance *in);
void instance_egress_free(struct instance *in);
/* Its vaultd has ended: told once a run. */
void instance_egress_vault_over(struct instance *in);
/* An instance_revoked_fn; @arg: the instances. */
void instance_egress_revoked(void *arg, const char *name,
			     const char *credential, const char *host);

/* ---- instance/end.c ---- */

/* The sandbox could not start, or must not: in->why. */
void instance_start_failed(struct instance *in);
/* The link of a sandbox is gone; it may have been killed. */
void instance_link_lost(struct instance *in, const struct err *err);
/* The main process has reported its end. */
void instance_main_exited(struct instance *in, const struct link_exit *x);
/* It has not, although it was killed. */
void instance_force_end(struct instance *in);
/* Begins the end of what is live, thawed if it was frozen. */
void instance_end(struct instance *in, enum run_cause cause, uint64_t grace_ms);
/* Removes the sandbox, then does what is to follow. */
void instance_teardown(struct instance *in);
/* The same for one that is not live, but whose removal had failed. */
void instance_teardown_left(struct instance *in);

/* ---- instance/clean.c ---- */

/* Nothing runs any more: does what in->clean says and wakes the waiters. */
void instance_clean_now(struct instance *in);
/* At the start of acd: what the store believes alive is lost. */
void instances_lost(struct instances *is);

/* ---- instance/pause.c ---- */

/* Lets it go on, whatever comes of it: it is about to end. */
void instance_thaw(struct instance *in);

/* ---- instance/overdue.c ---- */

/* When all records are there. -ENOMEM. */
int instances_life_begin(struct instances *is);
/* Its run has begun. */
void instance_life_start(struct instance *in);
/* Looks at it in time; after a change of its limits or of its state. */
void instance_life_arm(struct instance *in);
/* A sign of life. */
void instance_moved(struct instance *in);
/* A limit was reached: one line in the log, and one event. */
void instance_breach(struct instance *in, const char *limit, const char *fmt,
		     ...) ATTR_PRINTF(3, 4);
/* Seconds since the epoch; 0: never. */
int64_t instance_expires_at(const struct instance *in);

/* ---- instance/term_log.c ---- */

/* A new run: empties the log; readers of the old one are cut off. */
int instance_log_start(struct instance *in, struct err *err);
void instance_log_write(struct instance *in, struct slice data);
/* Before the main run ends: says so if the log is not whole. */
void instance_log_judge(struct instance *in);
/* A line of its vault's audit, into log/vault: 1 MiB, and log/vault.1 before
 * it. @json is the guest's word: its members come behind a "time" of acd's, in
 * place of one of its own; what is no object with each key once (json.h) comes
 * as the member "text". */
void instance_log_audit(const struct instance *in, const char *json);
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
/* The sandbox is ready: from now on its time passes. */
void run_limit_begin(struct run *r);
/* Its sandbox is frozen: its time stands still; or goes on. */
void run_hold(struct run *r, bool held);

/* ---- run_wish.c ---- */

const struct strv *run_argv(const struct instance *in,
			    const struct run_wish *w);
const char *run_cwd(const struct instance *in, const struct run_wish *w);

#endif
