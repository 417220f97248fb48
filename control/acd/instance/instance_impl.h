/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instance_impl.h - inside of control/acd/instance; nothing else includes it
 */
#ifndef CONTROL_ACD_INSTANCE_INSTANCE_IMPL_H
#define CONTROL_ACD_INSTANCE_INSTANCE_IMPL_H

#include <limits.h>
#include <sys/queue.h>
#include <time.h>

#include "control/acd/blueprint/blueprint.h"
#include "control/acd/runtime/cgroup.h"
#include "control/acd/instance/instance.h"
#include "control/acd/instance/limit/room.h"
#include "control/acd/instance/steps.h"
#include "control/acd/instance/limit/lifetime.h"
#include "control/acd/storage/mounts.h"
#include "control/acd/storage/treejob.h"
#include "control/shared/screen.h"

#define KILL_GRACE_MS 5000u /* TERM to KILL, by default */
#define KILL_LIMIT_MS 2000u /* KILL to the run's forced end */
#define RUN_WATCHES_MAX 32u

struct run {
	struct instance *in;
	LIST_ENTRY(run) link; /* in->execs; not the main run */
	struct channel *channel; /* NULL: over, or the link is lost */
	/* Called at its first output and when it has started: more than once.
	 * May be NULL. */
	void (*begun)(struct instance *in, const struct err *err);
	LIST_HEAD(run_watches, run_watch) watches;
	unsigned n_watches;
	unsigned walking; /* depth of calls to watchers */
	struct link_exit end; /* if doomed or over: how it ended */
	uint64_t output; /* bytes the process has written */
	uint64_t credited; /* of these, given back as credit */
	uint64_t kill_at; /* when KILL follows TERM; 0: no TERM was sent */
	struct loop_timer *timer; /* time limit, then TERM, then KILL */
	uint64_t due_ms; /* when it goes off; 0: not set */
	uint64_t left_ms; /* what was left of it when it was frozen */
	uint64_t limit_ms; /* of its time; 0: none */
	struct loop_timer *redraw; /* it has one row less until then */
	uint32_t pid; /* in the sandbox; 0: not started */
	enum run_cause cause;
	uint16_t rows, cols; /* of the terminal, as its client wants it */
	bool is_main, tty, use_stdin;
	bool doomed; /* run_finish() waits for the watchers' calls */
	bool over; /* it ended before its sandbox counted as started */
	bool killed; /* KILL was sent */
	bool held; /* the sandbox is frozen; the timer waits */
	bool redrawing;
	bool unnoticed; /* acd's own exec: no sign of life */
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
	CLEAN_EXPIRED, /* home and log: its ttl is over */
	CLEAN_HOME, /* home and log */
	CLEAN_ALL, /* all files and the record */
};

/* A run that was asked for. @fn is NULL once it was called, or if no run
 * was. */
struct run_asked {
	struct run_options options;
	instance_fn fn;
	void *arg;
};

/* Whether its sandbox is frozen or hibernates, or is to (instance/pause.c). */
struct instance_freeze {
	bool frozen; /* as the runtime last said */
	bool wanted;
	bool busy; /* the runtime has been asked */
	bool held; /* it is a hold, not a pause of the user's */
	bool memory; /* of the hold: its memory is written */
	bool asleep; /* it is a hibernation */
	bool kept; /* its files are being copied, so it is not woken */
	bool used; /* and is to be woken afterwards */
	instance_fn fn; /* of the caller that waits; NULL: none */
	void *arg;
	struct err why; /* of a freeze that failed and is being undone */
	struct err broken; /* why it did not go on from hibernation */
};

/* Whether nothing in it moves (instance/limit/drowse.c). */
struct instance_drowse {
	struct drowse_look *asked; /* the runtime has been, or NULL */
	uint64_t used_ms; /* it was in use until then, without a sign of life */
	uint64_t
		still_ms; /* since when it was still, as of the first look; 0: no
			    * look yet */
	uint64_t look_ms; /* when that was */
	uint64_t cpu_ns, bytes; /* used until then */
	bool never; /* this sandbox cannot hibernate */
};

/* How much it may write (instance/limit/disk_limit.c). */
struct instance_disk {
	bool is_wanted;
	uint64_t wanted; /* replaces rec.disk, if is_wanted */
	struct treejob *job; /* a child puts it into effect */
	struct loop_timer *timer; /* checks whether it is reached */
};

/* The blueprint's files in its home (instance/home_files.c). */
struct instance_home {
	struct treejob *job; /* a child writes them */
	struct home_report *report; /* shared with the child */
	char *warnings; /* for the run that starts, or NULL */
};

/* What it may reach (instance/policy_bind.c). */
struct instance_policy {
	struct egress_change *change; /* one that is under way, or NULL */
	char *warnings; /* for the run that starts, or NULL */
	json_t *revoked; /* credentials revoked in its last run, or NULL */
	bool vault_over; /* the end of its vaultd was reported in this run */
};

struct instance {
	struct instances *is;
	TAILQ_ENTRY(instance) link; /* is->all, in order of name */
	struct instance_record rec;
	struct blueprint bp; /* as of the last run */
	char *image; /* as of the last look at the blueprint */

	enum instance_phase phase;
	struct instance_steps steps;
	struct run_asked asked; /* the run that is starting or running */
	struct run_asked next; /* waits for that to stop; fn NULL: none */
	enum instance_state final; /* its state after stopping */
	enum instance_clean clean; /* to be done when nothing runs */
	bool discard; /* so is the removal of its layer */
	struct err why; /* of a failed start or a lost link */
	struct link_exit exit; /* of the main process */
	struct instance_waiters waiters; /* for the end of run and cleaning */

	/* Passed from one step of a start to a later one. */
	struct mounts_paths *paths; /* NULL: not mounted, or used */
	int link_fd; /* -1: not started, or used */

	struct session *session;
	struct loop_timer *ready_timer;
	bool resumed; /* it went on from a memory: its variables are of another
		       * instance */
	struct run *main;
	LIST_HEAD(run_list, run) execs;
	TAILQ_HEAD(command_list, command) commands; /* command/command.h */
	struct instance_freeze freeze;
	struct instance_drowse drowse;
	struct instance_disk disk;
	struct instance_home home;
	struct instance_policy policy;

	struct publishing *publishing; /* a change under way, or NULL */
	unsigned port_conns; /* to its published ports (port_conn.c) */
	struct life life;
	uint64_t ttl_next_ms; /* no try to expire it before */
	unsigned ttl_tries; /* tries to expire it; 0: not reported */
	struct cgroup_writers
		written; /* at the last look of instance/limit/room.c */
	struct treejob *tree; /* its files are being removed */
	LIST_HEAD(file_tasks, file_task) tasks; /* snapshot/task.h */

	struct logring *ring;
	LIST_HEAD(instance_logs, instance_log) logs;
};

struct instances {
	struct loop *loop;
	struct store *store;
	struct runtime *rt;
	struct builds *builds;
	const struct step *steps; /* instance_steps; tests use others */
	const char *dir;
	const struct instance_egress_ops *egress;
	void *egress_arg;
	const struct instance_pool_ops *pool;
	void *pool_arg;
	struct ports *ports; /* NULL: none can be published */
	LIST_HEAD(port_conn_list, port_conn) port_conns;
	size_t command_bytes; /* of output that commands may keep */
	TAILQ_HEAD(instance_list, instance) all;
	LIST_HEAD(instance_events, instance_event) events;
	LIST_HEAD(transaction_list, transaction) transactions;
	unsigned walking; /* depth of calls to events */
	struct instance_waiters later; /* to be called from the loop */
	struct loop_timer *later_timer;
	struct loop_timer *life_timer;
	uint64_t look_at_ms; /* when it goes off; 0: not set */
	/* Of instances that have gone; they end from the loop. */
	LIST_HEAD(file_tasks_left, file_task) tasks_left;
	LIST_HEAD(memory_drops, memory_drop) drops; /* snapshot/memory.c */
	struct loop_timer *given_timer; /* drops what no run has used */
	struct treejob *sweep; /* snapshot_sweep(), at the start of acd */
	struct loop_timer *room_timer; /* instance/limit/room.c */
	struct room room;
};

/* Returns true if @step was begun and has not been undone. */
static inline bool step_is_begun(const struct instance *in, enum step_id step)
{
	return (in->steps.begun & 1u << step) != 0;
}

/* ---- instance/state.c ---- */

/* Calls all waiters of is->later; @arg: the instances. */
void instances_call_later(void *arg);
void instance_waiters_free(struct instance_waiters *list);
/* Calls @fn from the loop; @err is copied, NULL for success. Returns 0 or
 * -ENOMEM. */
int instances_later(struct instances *is, instance_fn fn, void *arg,
		    const struct err *err);
/* Takes such a call back that has not come yet. */
void instances_not_later(struct instances *is, instance_fn fn, void *arg);
int instance_wait(struct instance *in, instance_fn fn, void *arg);
/* Calls one that waits now, from the loop; no effect on one that does not. */
void instance_wait_end(struct instance *in, instance_fn fn, void *arg);
/* Calls all waiters of the instance, from the loop; @err is NULL for success,
 * and copied. */
void instance_wake(struct instance *in, const struct err *err);
/* Writes the record. On failure the one in memory stays as it is. */
int instance_save(struct instance *in, struct err *err);
/* Calls all events: the instance is new or has changed. */
void instance_tell_change(struct instance *in);
/* Sets the state and calls all events; does not write the record. */
void instance_set_state(struct instance *in, enum instance_state st);
void instance_set_reason(struct instance *in, const char *fmt, ...)
	ATTR_PRINTF(2, 3);
/* Reads the blueprint again into in->bp and in->image; both stay on failure. */
int instance_load_blueprint(struct instance *in, struct err *err);
/* Calls all events for a limit that was reached. */
void instance_tell_breach(struct instance *in, const char *limit,
			  const char *text);
/* Does the same, and writes a line to the log. */
void instance_breach(struct instance *in, const char *limit, const char *fmt,
		     ...) ATTR_PRINTF(3, 4);
/* Notes a sign of life. */
void instance_moved(struct instance *in);
/* Returns a new <dir>/<name>/<sub>, or <dir>/<name> for @sub ""; NULL without
 * memory. */
char *instance_path(const struct instance *in, const char *sub);

/* ---- instance/set.c ---- */

/* Returns an instance of @r (copied) that is not in the set; NULL without
 * memory. */
struct instance *instance_alloc(struct instances *is,
				const struct instance_record *r);
/* Frees an instance that is not in the set. */
void instance_free(struct instance *in);
/* Puts @in into the set, in order of name. */
void instance_insert(struct instances *is, struct instance *in);
/* Removes an instance, whose record is gone, from the set, wakes its waiters
 * and frees it. */
void instance_forget(struct instance *in);

/* ---- instance/transaction.c ---- */

/* Forgets the transactions under way without calling their functions. */
void transactions_free(struct instances *is);
/* The user has set the policy of @in: if no run begins, it stays. */
void transactions_policy_set(struct instance *in);

/* ---- instance/phase.c ---- */

/* Returns true while its files are being removed. */
static inline bool instance_files_go(const struct instance *in)
{
	return in->phase == PHASE_FILES;
}
/* Returns its phase as a word of the API, static. */
const char *instance_phase(const struct instance *in);
/* Returns true while its sandbox is being started or removed, or the runtime is
 * asked about it. */
bool instance_is_between(const struct instance *in);
/* Returns true while only the end of the main run is awaited. */
bool instance_main_is_awaited(const struct instance *in);
/* Begins the end of a run whose main process has ended as @x says, or was
 * killed and does not report it. Does nothing if the end has begun. */
void instance_main_over(struct instance *in, const struct link_exit *x);

/* ---- instance/steps.c ---- */

/* Begins the run @o and takes what @o has. On failure @fn is not called, and
 * what was begun is undone, if need be later from the loop. */
int instance_start_now(struct instance *in, struct run_options *o,
		       instance_fn fn, void *arg, struct err *err);
/* Begins the run that waits, if any, or with @err refuses it. */
void instance_start_next(struct instance *in, const struct err *err);

/* ---- instance/place.c ---- */

/* Steps: check what can be refused; make the directory; make directories and
 * mounts, before or after the disk limit is in effect. */
int instance_check(struct instance *in, struct err *err);
int instance_place_begin(struct instance *in, struct err *err);
int instance_mounts_begin(struct instance *in, struct err *err);
int instance_mounts_held_begin(struct instance *in, struct err *err);
int instance_mounts_undo(struct instance *in, struct err *err);

/* ---- instance/limit/disk_limit.c ---- */

/* Sets the disk limit of the next run. The record has it when it is in
 * effect. */
void instance_disk_want(struct instance *in, uint64_t bytes);
/* Returns 0 if its limit, if any, can be kept with its workspace; else
 * -ENOTSUP, and a new limit is dropped. */
int instance_disk_check(struct instance *in, struct err *err);
/* Steps: accept a limit that needs no work; put another one into effect, by a
 * child. instance_disk_cancel() stops that child, and its step fails. */
int instance_disk_begin(struct instance *in, struct err *err);
int instance_disk_hold(struct instance *in, struct err *err);
void instance_disk_cancel(struct instance *in, enum run_cause cause,
			  uint64_t grace_ms);
/* Returns true if its own files are in its disk.img. */
bool instance_disk_is_file(const struct instance *in);
/* Starts in->tree, which removes what in->clean and in->discard say. */
int instance_disk_remove(struct instance *in, treejob_fn fn, struct err *err);
/* Tells the run's watchers what its disk limit does not count. */
void instance_disk_notice(struct instance *in);
/* Returns what disk_use_json() does. */
json_t *instance_disk_json(const struct instance *in);
void instance_disk_free(struct instance *in);

/* ---- instance/home_files.c ---- */

/* Step: copy the blueprint's skills and write its files into the home, each by a
 * child. Undone, the skills are removed. */
int instance_home_begin(struct instance *in, struct err *err);
int instance_home_undo(struct instance *in, struct err *err);
/* Returns the directory of the skills in ac-host, written to @ret; NULL: there
 * are none. */
const char *instance_skills(const struct instance *in, char ret[PATH_MAX]);
/* Tells the run's watchers what was not as it should be. */
void instance_home_notice(struct instance *in);
void instance_home_free(struct instance *in);

/* ---- instance/sandbox.c ---- */

/* Steps: start and remove the sandbox, by the runtime. */
int instance_sandbox_begin(struct instance *in, struct err *err);
int instance_sandbox_undo(struct instance *in, struct err *err);
/* Asks the runtime how its sandbox ended; @lost: it is about to end. Calls @fn
 * with @in. Returns a negative errno if the runtime cannot be asked. */
int instance_ask_end(struct instance *in, bool lost, runtime_end_fn fn);
/* Returns @end, or on @err NULL, with a line in the log. */
const struct runtime_end *instance_end_known(const struct instance *in,
					     const struct runtime_end *end,
					     const struct err *err);
/* Adds what @end knows to in->why. */
void instance_add_last_words(struct instance *in,
			     const struct runtime_end *end);

/* ---- instance/greeting.c ---- */

/* Steps: claim a sandbox of the pool, with its directories and mounts; open the
 * guest link and start the main run, and close it. */
int instance_pool_begin(struct instance *in, struct err *err);
int instance_guest_begin(struct instance *in, struct err *err);
int instance_guest_undo(struct instance *in, struct err *err);

/* ---- instance/policy_bind.c ---- */

/* Steps: bind the policy, and unbind it. */
int instance_egress_begin(struct instance *in, struct err *err);
int instance_egress_undo(struct instance *in, struct err *err);
/* Returns what its sandbox is given besides; zeroed: nothing. */
struct instance_grant instance_grant(const struct instance *in);
/* Tells the run's watchers if it reaches every host, and which targets it will
 * not reach. */
void instance_egress_notice(struct instance *in);
void instance_egress_free(struct instance *in);
/* Reports that its vaultd has ended, once a run. */
void instance_egress_vault_over(struct instance *in);

/* ---- instance/port/published.c ---- */

/* Steps: open the published ports, and close them; twice does no harm. */
int instance_ports_begin(struct instance *in, struct err *err);
int instance_ports_undo(struct instance *in, struct err *err);
/* Tells the run's watchers which ports are open. */
void instance_ports_notice(struct instance *in);
/* Forgets a change without a call. */
void instance_ports_free(struct instance *in);

/* ---- instance/end.c ---- */

/* Calls the callback of instance_run(), once: its run has begun, or @err says
 * why not. */
void instance_began(struct instance *in, const struct err *err);
/* Records that the start has failed, or was canceled, for in->why, and calls
 * the callback of instance_run(). */
void instance_start_failed(struct instance *in);
/* Steps, in an end: ask the runtime how the sandbox ended; report the end of
 * the run. And the hurry of the last step: ends the run for @cause. */
int instance_end_ask(struct instance *in, struct err *err);
int instance_run_conclude(struct instance *in, struct err *err);
void instance_end_hurry(struct instance *in, enum run_cause cause,
			uint64_t grace_ms);

/* ---- instance/clean.c ---- */

/* Called when nothing runs: does what in->clean says, then wakes the
 * waiters. */
void instance_clean_now(struct instance *in);
/* Called when acd starts: marks what the store believes alive as lost. */
void instances_lost(struct instances *is);

/* ---- instance/snapshot/task.c ---- */

/* Returns true while its files are read or replaced: no run may start, and they
 * must not be removed. A sandbox that runs is held instead. */
bool instance_files_busy(const struct instance *in);
/* Tells the tasks of an instance that it goes. */
void instance_tasks_forget(struct instance *in);
/* Frees those that are left, without calling their functions. */
void instances_tasks_free(struct instances *is);

/* ---- instance/snapshot/cancel.c ---- */

/* Cancels all tasks of @in, which end soon, from the loop. Returns false, and
 * cancels none, if one cannot be: a restore that puts files in place, a removal. */
bool instance_tasks_cancel(struct instance *in);
/* Returns true if all tasks of @in were canceled. */
bool instance_tasks_canceled(const struct instance *in);

/* ---- instance/snapshot/restore.c ---- */

/* Finishes a restore that was cut short, when acd starts. */
void instance_restore_recover(struct instance *in);
/* Returns -EBUSY with @err if there is one that could not be finished. */
int instance_restore_refusal(const struct instance *in, struct err *err);

/* ---- instance/snapshot/recover.c ---- */

/* Called when acd starts and all records are loaded: finishes restores and forks
 * that were cut short, and removes what other copies have left. */
void instances_snapshots_begin(struct instances *is);

/* ---- instance/pause.c ---- */

/* Resumes the sandbox before an end; time passes again even if that fails. */
void instance_thaw(struct instance *in);
/* Freezes a running sandbox while its files are read; the state does not change.
 * Calls @fn as instance_pause() does. Fails like that, and with -EBUSY if it is
 * held already. */
int instance_hold(struct instance *in, instance_fn fn, void *arg,
		  struct err *err);
/* Does so while its memory is written to instance_memory_new(), too. Fails with
 * -ENOTSUP as well. */
int instance_hold_memory(struct instance *in, instance_fn fn, void *arg,
			 struct err *err);
/* Ends either. */
int instance_hold_end(struct instance *in, instance_fn fn, void *arg,
		      struct err *err);
/* Returns true while the sandbox is frozen for that: not if its end, or a
 * limit, has let it go on. */
bool instance_is_held(const struct instance *in);
/* Returns 0 if it can be paused, resumed or hibernated now; a negative errno
 * with @err as instance_pause() says. */
int instance_pause_refusal(const struct instance *in, struct err *err);
/* Asks for one of these: calls @fn when it is so. Returns 0 or -ENOMEM. */
int instance_freeze_ask(struct instance *in, bool paused, instance_fn fn,
			void *arg, struct err *err);
/* Lets it go on without an answer. */
void instance_freeze_end(struct instance *in);
/* Step: resume the sandbox, and wait for the runtime's answer. */
int instance_freeze_undo(struct instance *in, struct err *err);

/* ---- instance/limit/drowse.c ---- */

/* Returns the milliseconds until it is to be looked at whether it may
 * hibernate, 0: now; LIFE_NEVER: not at all. @now_ms: CLOCK_MONOTONIC. */
uint64_t instance_drowse_left(const struct instance *in, uint64_t now_ms);
/* Looks: asks the runtime what it uses, and later lets it hibernate. */
void instance_drowse_look(struct instance *in);
/* Forgets a question to the runtime: @in is freed. */
void instance_drowse_free(struct instance *in);

/* ---- instance/hibernate.c ---- */

/* Asks the runtime to write the sandbox to the disk. Returns what its
 * hibernate() does, or -ENOMEM or a negative errno if there is no place. */
int instance_hibernate_ask(struct instance *in, runtime_done_fn fn, void *arg);
/* The runtime has answered a wake() with @link_fd, taken over. */
void instance_hibernate_answered(struct instance *in, int link_fd);
/* Something was sent to the sandbox of @arg, an instance: if it hibernates, it
 * goes on. */
void instance_used(void *arg);
/* @on: if it hibernates, what is sent does not wake it until a call with false,
 * which does so then. Returns false if it does not hibernate. */
bool instance_hibernate_keep(struct instance *in, bool on);
/* It is to end: what is being written to the disk is of no use, nor, if it is
 * killed (@now), what is read from there. */
void instance_hibernate_break(struct instance *in, bool now);
/* Returns true if its memory is on the disk, and nothing is under way. */
bool instance_hibernate_is_over(const struct instance *in);
/* Called when acd starts: moves away what an earlier one has left. */
void instances_hibernate_begin(struct instances *is);

/* ---- instance/limit/overdue.c ---- */

/* Called when all records are loaded. Returns 0 or -ENOMEM. */
int instances_life_begin(struct instances *is);
/* Begins its ttl and idle time again. */
void instance_life_start(struct instance *in);
/* Sets the timer for it, after a change of its limits or its state. */
void instance_life_arm(struct instance *in);
/* Returns seconds since the epoch, 0: never. */
int64_t instance_expires_at(const struct instance *in);

/* ---- instance/term_log.c ---- */

/* Step: begin an empty log for a new run. Readers of the old one keep that. */
int instance_log_start(struct instance *in, struct err *err);
void instance_log_write(struct instance *in, struct slice data);
/* Returns what to tell its user if bytes are missing from the log, owned by the
 * caller; NULL if none are, or without memory. */
char *instance_log_judge(const struct instance *in);
/* Appends a line of its vault's audit to log/vault (1 MiB, and log/vault.1
 * before it). @json is hostile: its members follow a "time" of acd's, which
 * replaces one of its own. What is no object with each key once (json.h)
 * becomes the member "text". */
void instance_log_audit(const struct instance *in, const char *json);
void instance_log_end(struct instance *in); /* nothing more will come */
/* Detaches the readers, which keep the old log; @wake: wakes them. */
void instance_log_drop(struct instance *in, bool wake);

/* ---- run.c ---- */

/* Opens a channel and starts a process in it. Returns 0 or a failure of
 * instance_exec(). The caller puts *ret into @in. */
int run_start(struct instance *in, const struct run_options *o, bool is_main,
	      struct run **ret, struct err *err);
/* Calls exited() of all watchers and frees the run; if watchers are being
 * called, then afterwards. */
void run_finish(struct run *r, const struct link_exit *x);
/* Sends TERM now (and HUP to a terminal), KILL after @grace_ms; KILL_LIMIT_MS
 * later the run is over even if the sandbox reports nothing. */
void run_terminate(struct run *r, enum run_cause cause, uint64_t grace_ms);
/* Starts its time limit: the sandbox is ready. */
void run_limit_begin(struct run *r);
/* Stops its timer while its sandbox is frozen (@held), or starts it again. */
void run_hold(struct run *r, bool held);
/* It has moved: notes a sign of life of its instance. */
void run_moved(const struct run *r);

/* Returns a main run that goes on in a sandbox, as @v says (snapshot/memory.c);
 * its channel is still to be set. Returns NULL without memory. */
struct run *run_resumed(struct instance *in, const json_t *v);
/* Frees a run that has not begun. */
void run_drop(struct run *r);
extern const struct channel_ops run_channel_ops;

/* ---- snapshot/memory.c ---- */

/* Returns where its memory is written to, or NULL without memory. */
char *instance_memory_new(const struct instance *in);
/* Removes what is there, later. */
void instance_memory_new_drop(const struct instance *in);
/* For a run that goes on from a memory: reads what it has to know into
 * in->asked.options. Fails with -EINVAL if the instance was given none, or
 * -EBADMSG. */
int instance_memory_load(struct instance *in, struct err *err);
/* Returns its directory, which the caller frees; NULL for another run. */
char *instance_memory_path(const struct instance *in);
/* Gives the run what the memory has of credentials. */
int instance_memory_grant(struct instance *in, struct err *err);
/* Drops the memory that the instance was given, if there is one: the run has
 * begun, or has failed. */
void instance_memory_over(struct instance *in);
/* Forgets what is being removed; it goes on. */
void instances_memory_free(struct instances *is);

/* ---- run_options.c ---- */

/* Returns what @o runs in @in, borrowed: its own argv, or the blueprint's. */
const struct strv *run_argv(const struct instance *in,
			    const struct run_options *o);
/* Returns the directory, borrowed: that of @o, the instance or the
 * blueprint. */
const char *run_cwd(const struct instance *in, const struct run_options *o);

#endif
