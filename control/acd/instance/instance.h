/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instance.h - the life of an instance: record, sandbox, session, main run
 *
 *	created ─run→ starting ─ready→ running ─exit/stop→ stopping → stopped
 *	                 │             paused ┘                       │ ttl
 *	                 └──────── cannot start / lost ─→ failed ─→ expired
 *
 * A sandbox exists only from starting to stopping; workspace, home and log
 * outlive it. No call blocks. A call that takes a callback and returns 0 calls
 * it exactly once, from the loop; if it returns a negative errno, never. Unless
 * said otherwise, the callback's @err is NULL on success.
 */
#ifndef CONTROL_ACD_INSTANCE_INSTANCE_H
#define CONTROL_ACD_INSTANCE_INSTANCE_H

#include <jansson.h>

#include "control/acd/blueprint/build.h"
#include "control/acd/guest/logring.h"
#include "control/acd/guest/session.h"
#include "control/acd/instance/run_options.h"
#include "control/acd/storage/snapshot.h"
#include "control/acd/storage/store.h"
#include "control/acd/storage/treejob.h"
#include "control/shared/screen.h"
#include "control/runtime.h"

struct blueprint;
struct instances;
struct instance;

typedef void (*instance_fn)(void *arg, const struct err *err);

/* Loads all records; returns NULL with @err on failure. Runs that the store
 * believes alive are marked as lost. All arguments are borrowed. */
struct instances *instances_new(struct loop *loop, struct store *store,
				struct runtime *rt, struct builds *builds,
				struct err *err);
/* Replaces AC_STATE_INSTANCES, where the directories of instances are, for
 * tests; borrowed. */
void instances_set_dir(struct instances *is, const char *dir);
/* Called when the server @host has sent the value of @credential back to @name;
 * @host NULL: when its login is over. */
typedef void (*instance_revoked_fn)(void *arg, const char *name,
				    const char *credential, const char *host);
/* Tells the run of @name; @arg: the instances. */
void instances_revoked(void *arg, const char *name, const char *credential,
		       const char *host);
/* Gives a sandbox its policy. Without it no run starts. */
struct instance_egress_ops {
	/* Makes the policy of @r, an instance of @bp, take effect: before its
	 * run starts, and when it changes. Calls @fn once, after this has
	 * returned 0; with -ECANCELED if the policy was taken away
	 * before it took effect. */
	int (*bind)(void *arg, const struct instance_record *r,
		    const struct blueprint *bp, instance_fn fn, void *fn_arg,
		    struct err *err);
	/* Takes the policy away: the instance reaches nothing. Succeeds if it
	 * has none. */
	void (*unbind)(void *arg, const char *name);
	/* During @fn of a bind: returns warnings about the instance's own
	 * targets, one a line, borrowed; NULL: none. May be NULL. */
	const char *(*warnings)(void *arg);
	/* Returns what the sandbox of a bound instance gets besides, borrowed
	 * until the loop goes on; NULL: nothing. May be NULL. */
	const struct instance_grant *(*grant)(void *arg, const char *name);
	/* grants_save(), grants_load(). NULL: no run goes on from a memory. */
	json_t *(*grant_save)(void *arg, const char *name);
	int (*grant_load)(void *arg, const struct instance_record *r,
			  const json_t *v, struct err *err);
	/* Sets whom to tell that a credential was revoked. Returns 0 or
	 * -ENOMEM. May be NULL. */
	int (*on_revoked)(void *arg, instance_revoked_fn fn, void *fn_arg);
};
struct instance_grant {
	const char *ca; /* PEM, besides the machine's; NULL: none */
	const void *vault; /* vault/grant.h */
	size_t vault_len; /* 0: none */
	const char *const *env; /* NULL-terminated, secret; NULL: none */
	/* "credential=surrogate", the same, and parts of logins */
	const char *const *surrogates;
	const char *warnings; /* for the user, one a line; NULL: none */
};
/* @ops and @arg are borrowed. Returns 0 or -ENOMEM. */
int instances_set_egress(struct instances *is,
			 const struct instance_egress_ops *ops, void *arg,
			 struct err *err);
/* A sandbox of the pool; the receiver owns all of it. */
struct instance_gift {
	char *address; /* reserved until a record has it (store.h) */
	char *id; /* the runtime's */
	struct session *session; /* waits for session_assign(); the receiver
				  * sets its owner at once */
};
/* Hands out such sandboxes. Without it each run starts its own. */
struct instance_pool_ops {
	/* Fills *ret with a sandbox for a run of @r, an instance of @bp. Its
	 * directories become workspace and home in @dir, which exists and has
	 * neither or empty ones. Returns false if none fits; empty ones in @dir
	 * may be gone then. */
	bool (*claim)(void *arg, const struct instance_record *r,
		      const struct blueprint *bp, const char *dir,
		      struct instance_gift *ret);
	/* Called when a claimed sandbox was lost before READY. */
	void (*lost)(void *arg, const struct instance_record *r);
	/* Returns true if the sandbox @id is one of these. */
	bool (*has)(void *arg, const char *id);
};
/* @ops and @arg are borrowed. */
void instances_set_pool(struct instances *is,
			const struct instance_pool_ops *ops, void *arg);
struct ports;
/* Opens published ports by @ports (net/ports.h; borrowed, may be NULL), and
 * takes their connections. Without it no run that publishes one starts. */
void instances_set_ports(struct instances *is, struct ports *ports);
/* Returns true while a sandbox of an instance is being started or removed. */
bool instances_busy(const struct instances *is);
/* Frees all; NULL is fine. Watchers of runs are told that these are lost; the
 * sandboxes stay. No callback of the runtime may come afterwards. */
void instances_free(struct instances *is);
/* To be called after each start of the engine: removes sandboxes that no live
 * instance and no pool has. @fn gets the first failure. Returns 0, -ENOMEM, or
 * a failure of the runtime's list(). */
int instances_reconcile(struct instances *is, instance_fn fn, void *arg);
/* Stops all live instances: TERM, KILL after @grace_ms. @fn gets the first
 * failure when the last has stopped. Without memory it is called at once,
 * before this returns. */
void instances_stop_all(struct instances *is, uint64_t grace_ms, instance_fn fn,
			void *arg);
unsigned instances_live(const struct instances *is); /* starting … stopping */

/* Callbacks of a watcher of one process. */
struct run_watch_ops {
	void (*started)(void *arg, uint32_t pid);
	/* @data is a view; give each byte back by run_watch_credit(). */
	void (*output)(void *arg, enum link_type stream, struct slice data);
	void (*stdin_credit)(void *arg); /* run_stdin_room() has grown */
	void (*resumed)(void *arg); /* after a pause; frees nothing; or NULL */
	void (*notice)(void *arg, uint8_t level, const char *text);
	void (*exited)(void *arg, const struct link_exit *x); /* the last */
};

struct run; /* one process in a sandbox: the main one or an exec */
struct run_watch;

/* Returns NULL if there is none. Valid until the loop goes on. */
struct instance *instance_find(struct instances *is, const char *name);
/* Calls @fn for each, in order of name; it must not add or remove one. */
void instances_each(struct instances *is,
		    void (*fn)(void *arg, struct instance *in), void *arg);
/* Borrowed; changes with the instance. */
const struct instance_record *instance_record(const struct instance *in);
/* Reads the blueprint of @r, with the project's own over it (project_use.h), with
 * what its model_url changes and with its volumes. Returns 0, and the caller
 * releases @ret; or fails like project_use_load(), egress_load(),
 * blueprint_use_model() or volume_use_add(). */
int instance_blueprint(const struct instance_record *r, struct blueprint *ret,
		       struct err *err);
bool instance_is_live(const struct instance *in); /* starting … stopping */
/* Running, paused or hibernated. */
bool instance_is_up(const struct instance *in);
/* Returns true if its files are being removed, or will be when it has stopped.
 * Until then no run starts; instance_stop() waits for it. The instance may be
 * gone afterwards. */
bool instance_is_leaving(const struct instance *in);
/* Returns INSTANCE of the API; a new reference, NULL without memory. */
json_t *instance_json(struct instance *in);
/* Makes an instance of the record @r, which is copied; the store chooses the
 * address. Returns 0; -EEXIST if the name is taken; another negative errno. */
int instance_create(struct instances *is, const struct instance_record *r,
		    struct instance **ret, struct err *err);
/* Replaces the options (limits, environment, workspace, …) of the next run by
 * those of @r, a changed copy of the record. Returns 0; -EBUSY if the instance
 * is starting, up or being cleaned, or a run waits for it to stop; another
 * negative errno. */
int instance_update(struct instance *in, const struct instance_record *r,
		    struct err *err);
/* Returns the disk limit of its next run in bytes, 0 for none. The record has
 * the one that holds now. */
uint64_t instance_disk_wanted(const struct instance *in);

/* Replaces its own egress options by @json (egress.h; NULL: none). If it is up,
 * @fn is called when the new policy is in effect, or with an error if the old
 * one stays. Fails with -EBUSY if it is starting or being cleaned, or if
 * another change is under way. */
int instance_set_egress(struct instance *in, const char *json, instance_fn fn,
			void *arg, struct err *err);

/* Replaces its published ports by the @n of @v (control/shared/publish.h), now and
 * for later runs. If it is up, those that stay are not touched, and @fn is called
 * when the new ones are open, or with why they are not; then the old ones stay.
 * Fails with -EBUSY if it is starting or being cleaned, or if another change is
 * under way; or as ports_open(). */
struct publish;
int instance_publish(struct instance *in, const struct publish *v, size_t n,
		     instance_fn fn, void *arg, struct err *err);

struct instance_event;
/* Called on every change of a state (@limit is NULL), and whenever a limit is
 * reached: @limit is "timeout", "output", "memory", "disk", "ttl" or "idle"
 * ("credential": one was revoked, or vaultd ended), @text is for people. */
typedef void (*instance_event_fn)(void *arg, struct instance *in,
				  const char *limit, const char *text);
/* Returns NULL without memory. The caller frees it, in @fn or later. */
struct instance_event *instance_event_add(struct instances *is,
					  instance_event_fn fn, void *arg);
void instance_event_free(struct instance_event *e); /* NULL is fine */

/* Failures of instance_run(), at once or by its callback, that a client can
 * mend. */
#define INSTANCE_NO_IMAGE (-ENOPKG)
#define INSTANCE_NO_WORKSPACE (-EDESTADDRREQ)
#define INSTANCE_NO_MOUNTS (-ENODEV)

/* Starts a sandbox and in it the main process; if the instance is stopping,
 * waits for that. Takes ownership of what @o has, on failure too. Returns 0 or
 * what can be refused at once: a failure of instance_run_refusal(),
 * INSTANCE_NO_*, others. Calls @fn when the main process has begun, or with why
 * not; a watcher that @fn adds to instance_main() misses nothing. */
int instance_run(struct instance *in, struct run_options *o, instance_fn fn,
		 void *arg, struct err *err);
/* Returns 0 if instance_run() may be called now, else what it would fail with:
 * -EALREADY (running, or a run waits), -EBUSY (its files are being removed),
 * INSTANCE_IS_PAUSED. */
int instance_run_refusal(const struct instance *in, struct err *err);
/* Cancels the run that was asked for with @arg, whose callback has not come and
 * will not: it does not begin, or is stopped. */
void instance_run_cancel(struct instance *in, const void *arg);
/* Returns the image that INSTANCE_NO_IMAGE is about, borrowed; NULL while
 * unknown. */
const char *instance_image(const struct instance *in);
struct run *instance_main(struct instance *in); /* NULL: not running */
#define INSTANCE_IS_PAUSED (-EHOSTDOWN)
/* Returns INSTANCE_IS_PAUSED, with what to do in @err. */
int instance_paused_error(const struct instance *in, struct err *err);
/* Starts another process. *ret is valid until its watchers' exited() or
 * run_abandon(). Returns 0; -ENOTCONN if it is not running, INSTANCE_IS_PAUSED;
 * -EMFILE for too many processes, -EMSGSIZE for too long options, -ENOBUFS if
 * the sandbox does not answer, -ENOMEM. */
int instance_exec(struct instance *in, const struct run_options *o,
		  struct run **ret, struct err *err);
/* Stops the instance: TERM, then KILL after @grace_ms. Calls @fn when its
 * sandbox is removed and no removal of files is under way; succeeds if it does
 * not run. Returns 0 or -ENOMEM. */
int instance_stop(struct instance *in, uint64_t grace_ms, instance_fn fn,
		  void *arg);
/* Removes home (with its credentials) and log; keeps the workspace. Fails with
 * -EBUSY if it is starting or up, unless @force, which kills it; or if its
 * files are being removed. */
int instance_clean(struct instance *in, bool force, instance_fn fn, void *arg);
/* Removes its layer: what it has written in a copy of the user's directory.
 * Succeeds if there is none. Fails with -EBUSY while it runs. */
int instance_discard(struct instance *in, instance_fn fn, void *arg);
/* Starts a child that writes the changes of its layer to the pipe @out
 * (layer.h), which it has a copy of; *@ret is the child. Returns 0, and calls @fn
 * when it has ended; or a negative errno with @err, and there is no callback. */
int instance_layer_send(struct instance *in, int out, treejob_fn fn, void *arg,
			struct treejob **ret, struct err *err);
/* Cleans it, and removes the instance's own workspace and its record; a
 * workspace given by --workspace is never deleted. Cancels a snapshot that is
 * being made. Fails as instance_clean().
 * @in is freed before @fn is called with success. */
int instance_destroy(struct instance *in, bool force, instance_fn fn,
		     void *arg);

/* What a snapshot, a restore or a fork is asked for. */
struct snapshot_ask {
	const char *tag; /* NULL: see each */
	bool memory; /* its processes, too, and not its files alone */
};
/* Makes a snapshot of its files (storage/snapshot.h), also while it runs: it is
 * frozen while they are copied. Without a tag it gets one by the time, and
 * expires; ret_tag gets the tag. Returns 0, and calls @fn when the snapshot is
 * complete, or with why there is none; -EINVAL or -EEXIST for a tag, -EBUSY (also
 * for too many tags), -ENOTSUP; -ENOTCONN with memory, if nothing runs. */
int instance_snapshot(struct instance *in, const struct snapshot_ask *ask,
		      instance_fn fn, void *arg,
		      char ret_tag[SNAPSHOT_TAG_MAX + 1], struct err *err);
/* Adds what the API shows of its snapshots to @all, in no order. Returns 0 or
 * -ENOMEM. */
int instance_snapshots(const struct instance *in, json_t *all);
/* Returns what the API shows of one; NULL if there is none, or no memory. */
json_t *instance_snapshot_json(const struct instance *in, const char *tag);
int instance_snapshot_remove(struct instance *in, const char *tag,
			     instance_fn fn, void *arg, struct err *err);
/* Puts the files of a snapshot (without a tag: the latest) in the place of its
 * own, which become the snapshot SNAPSHOT_BEFORE; workspace and mode are those of
 * then. With memory, a run may go on from that (run_options.h). Fails with -EBUSY
 * while it runs, -ENOENT without such a snapshot, or memory. */
int instance_restore(struct instance *in, const struct snapshot_ask *ask,
		     instance_fn fn, void *arg, struct err *err);
/* Makes @n instances (1 to INSTANCE_FORKS_MAX), each with the options of @in and
 * a copy of its files as they are now, or as they were in a snapshot with that
 * tag. They have never run; ports are published by none. With memory, a run of
 * each may go on from that. Returns 0, -EINVAL or
 * -EEXIST for a name, or as above. After a failure none is left, unless @fn gets
 * one that says so. */
#define INSTANCE_FORKS_MAX 64u
int instance_fork(struct instance *in, const struct snapshot_ask *ask,
		  const char *const *names, size_t n, instance_fn fn, void *arg,
		  struct err *err);
/* Cancels the snapshot, the restore or the fork that was asked for with @arg: its
 * function gets -ECANCELED, and nothing of it is left. Has no effect once a
 * restore puts files in place. */
void instance_task_cancel(struct instance *in, const void *arg);
/* Freezes all its processes, or resumes them; succeeds if that is so already.
 * Fails with -ENOTCONN if it is not running, -EBUSY if it is ending or another
 * pause is under way, -ENOTSUP if the runtime cannot. */
int instance_pause(struct instance *in, bool paused, instance_fn fn, void *arg,
		   struct err *err);
/*
 * Writes the memory of its sandbox to the disk and ends its processes, which go
 * on where they were with the next exec, input or signal, or with
 * instance_pause(in, false). Calls @fn when it is done, or has failed; then it
 * runs on, or has ended if the writing broke off. Returns like
 * instance_pause(): -ENOTSUP also for a sandbox that is not of runsc alone,
 * -EBUSY also if it is paused.
 */
int instance_hibernate(struct instance *in, instance_fn fn, void *arg,
		       struct err *err);
/* Makes its ttl and its idle time begin again. Returns 0, -EBUSY if its files
 * are being removed, or a failure of the store. */
int instance_touch(struct instance *in, struct err *err);
/* Asks for runtime_ops.stats. Returns 0, -ENOTCONN if it is not running,
 * -ENOTSUP, or a failure of the runtime. */
int instance_stats(struct instance *in, runtime_stats_fn fn, void *arg);

struct instance_log; /* a reader of the terminal log */
#define INSTANCE_LOG_ALL UINT64_MAX
/* Opens a reader at the last @bytes bytes, or if that is 0, at the last @lines
 * lines (INSTANCE_LOG_ALL: the oldest byte). The caller owns *ret. Returns 0;
 * -EBUSY if the log is being removed; -ENOMEM, a failure of logring_open(). A
 * log that does not exist is empty. @wake is called when there may be more or
 * the run has ended, never from inside a call here. */
int instance_log_open(struct instance *in, uint64_t lines, uint64_t bytes,
		      void (*wake)(void *arg), void *arg,
		      struct instance_log **ret, struct err *err);
/* Reads on. Returns the number of bytes, 0 only at the end, or a negative
 * errno. *ret_skipped (may be NULL): bytes before these that the ring has lost.
 * A log that was removed or replaced stays readable to its end. */
ssize_t instance_log_read(struct instance_log *l, void *data, size_t len,
			  uint64_t *ret_skipped);
bool instance_log_live(const struct instance_log *l); /* more may come */
void instance_log_close(struct instance_log *l); /* NULL is fine */

/*
 * Adds a watcher; output waits for the slowest. Returns NULL with errno on
 * failure: EMFILE if there are too many, ENOMEM. Its owner frees it, in any
 * callback or later; after exited() the run is gone and the watcher has no
 * effect.
 */
struct run_watch *run_watch_add(struct run *r, const struct run_watch_ops *ops,
				void *arg);
/* Tells that the watcher is done with @bytes more of the output. */
void run_watch_credit(struct run_watch *w, uint32_t bytes);
void run_watch_free(struct run_watch *w); /* NULL is fine */
struct instance *run_instance(const struct run *r);
bool run_is_tty(const struct run *r);
/* For a terminal that is to show what the main run's shows now: returns how
 * many of the last bytes of output to show, and in @ret_modes the sequence of
 * modes (NUL-terminated) to send before and after them. */
uint64_t run_screen(const struct run *r, char ret_modes[SCREEN_MODES_MAX]);
/* Returns how many bytes run_stdin() accepts now. */
size_t run_stdin_room(const struct run *r);
/* As channel_stdin() and so on (guest/session.h); -EPIPE if the run is over. */
int run_stdin(struct run *r, const void *data, size_t len);
int run_stdin_eof(struct run *r);
int run_signal(struct run *r, uint32_t signo);
int run_resize(struct run *r, uint16_t rows, uint16_t cols);
/* Makes a full-screen program redraw its terminal. */
void run_redraw(struct run *r);
/* Calls notice() of all watchers; @level is one of enum log_level. */
void run_notice(struct run *r, uint8_t level, const char *text);
/* Ends an exec, or stops the instance of a main run: the client that owned it
 * has gone. */
void run_abandon(struct run *r);
/* Lets the run go on without its client, which has left on purpose. Stdin that
 * is no terminal ends. */
void run_detach(struct run *r);

#endif
