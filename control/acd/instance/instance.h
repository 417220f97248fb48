/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instance.h - the life of an instance: record, sandbox, session, main run
 *
 *	created ─run→ starting ─ready→ running ─exit/stop→ stopping → stopped
 *	                 │             paused ┘                       │ ttl
 *	                 └──────── cannot start / lost ─→ failed ─→ expired
 *
 * A sandbox (container) exists only from starting to stopping; workspace,
 * home and log outlive it. All calls return at once; outcomes by callback,
 * exactly once, from the loop. A call that takes a callback and returns a
 * negative errno will not call it.
 */
#ifndef CONTROL_ACD_INSTANCE_INSTANCE_H
#define CONTROL_ACD_INSTANCE_INSTANCE_H

#include <jansson.h>

#include "control/acd/blueprint/build.h"
#include "control/acd/guest/logring.h"
#include "control/acd/guest/session.h"
#include "control/acd/storage/store.h"
#include "control/shared/screen.h"
#include "control/runtime.h"

struct blueprint;
struct instances;
struct instance;

typedef void (*instance_fn)(void *arg, const struct err *err);

struct instances *instances_new(struct loop *loop, struct store *store,
				struct runtime *rt, struct builds *builds,
				struct err *err);
/* Where the directories of instances are: AC_STATE_INSTANCES but for tests;
 * borrowed. */
void instances_set_dir(struct instances *is, const char *dir);
/* The server @host has sent the value of @credential back to @name. */
typedef void (*instance_revoked_fn)(void *arg, const char *name,
				    const char *credential, const char *host);
/* Who gives a sandbox its policy. Without it no run starts. */
struct instance_egress_ops {
	/* Makes the policy of @r, of the blueprint @bp, the one that holds:
	 * before its run starts, and when it changes. @fn once, never before
	 * this has returned. */
	int (*bind)(void *arg, const struct instance_record *r,
		    const struct blueprint *bp, instance_fn fn, void *fn_arg,
		    struct err *err);
	/* It reaches nothing any more. Not bound is fine. */
	void (*unbind)(void *arg, const char *name);
	/* While @fn of a bind is called: what is to be said of the instance's
	 * own targets, a line each; NULL: nothing. The op may be NULL. */
	const char *(*warnings)(void *arg);
	/* Of one that is bound: what its guest is told beside; NULL: nothing.
	 * Valid until the loop goes on. The op may be NULL. */
	const struct instance_grant *(*grant)(void *arg, const char *name);
	/* Whom to tell that a credential was revoked. -ENOMEM. May be NULL. */
	int (*on_revoked)(void *arg, instance_revoked_fn fn, void *fn_arg);
};
struct instance_grant {
	const char *ca; /* PEM, besides the machine's own; NULL: none */
	const void *vault; /* vault/grant.h */
	size_t vault_len; /* 0: none */
	const char *const *env; /* NULL-terminated; NULL: none. Secrets. */
	const char *warnings; /* for the user of each run, a line each; NULL */
};
int instances_set_egress(struct instances *is,
			 const struct instance_egress_ops *ops, void *arg,
			 struct err *err);
/* A sandbox that was started ahead; all of it is the receiver's. */
struct instance_gift {
	char *address; /* reserved until a record has it (store.h) */
	char *id; /* the runtime's */
	struct session *session; /* waits for session_assign(); its owner is
				  * to be set at once */
};
/* Who has such. Without it each run starts its own. */
struct instance_pool_ops {
	/* One for the run of @r, of the blueprint @bp as it is now; its
	 * directories become workspace and home in @dir, which is there and
	 * has neither, or empty ones. False: none, and @dir may have lost the
	 * empty ones. */
	bool (*claim)(void *arg, const struct instance_record *r,
		      const struct blueprint *bp, const char *dir,
		      struct instance_gift *ret);
	/* One that was claimed was lost before it was ready. */
	void (*lost)(void *arg, const struct instance_record *r);
	/* The sandbox @id is one of these. */
	bool (*has)(void *arg, const char *id);
};
void instances_set_pool(struct instances *is,
			const struct instance_pool_ops *ops, void *arg);
/* A run is starting or ending, as far as its sandbox is concerned. */
bool instances_busy(const struct instances *is);
/* Whoever still watches a run hears that it is lost; the sandboxes stay. No
 * callback of the runtime may come afterwards. */
void instances_free(struct instances *is);
/* After each start of the engine: what the runtime still has of instances
 * that are not live is removed. Those the store believed alive when acd
 * started are not: instances_new() took them down as lost. */
int instances_reconcile(struct instances *is, instance_fn fn, void *arg);
/* Clean shutdown: stops all; @fn when the last is gone. */
void instances_stop_all(struct instances *is, uint64_t grace_ms, instance_fn fn,
			void *arg);
unsigned instances_live(const struct instances *is); /* starting … stopping */

/* A main run's or an exec's wishes; strings borrowed. */
struct run_request {
	const char *const *argv; /* empty: the blueprint's command */
	const char *const *env; /* "NAME=value", on top of the instance's */
	const char *cwd; /* NULL: the instance's */
	bool shell; /* argv empty: the blueprint's shell instead */
	bool files; /* the sandbox's file server, nothing of the above */
	bool tty, use_stdin;
	bool detached; /* goes on when its client leaves */
	bool unnoticed; /* acd's own exec: no sign of life of the instance */
	uint16_t rows, cols;
	uint64_t timeout_ms; /* 0: the instance's, for a main run */
};

/* A watcher of one process: the client stream implements it. */
struct run_watch_ops {
	void (*started)(void *arg, uint32_t pid);
	void (*output)(void *arg, enum link_type stream, struct slice data);
	void (*stdin_credit)(void *arg);
	void (*resumed)(void *arg); /* may free nothing; NULL: no interest */
	void (*notice)(void *arg, uint8_t level, const char *text);
	void (*exited)(void *arg, const struct link_exit *x); /* the last */
};

struct run; /* one process in a sandbox: the main one or an exec */
struct run_watch;

struct instance *instance_find(struct instances *is, const char *name);
/* In order of name; @fn must not change the set. */
void instances_each(struct instances *is,
		    void (*fn)(void *arg, struct instance *in), void *arg);
const struct instance_record *instance_record(const struct instance *in);
bool instance_is_live(const struct instance *in); /* starting … stopping */
bool instance_is_up(const struct instance *in); /* running or paused */
/* Its files are being removed: nothing can be done with it until that is
 * over (instance_stop() waits for it), perhaps it is gone then. */
bool instance_is_leaving(const struct instance *in);
/* INSTANCE of the API; a new reference, NULL without memory. */
json_t *instance_json(struct instance *in);
/* Stores a new record (copied; the address is chosen here). -EEXIST. */
int instance_create(struct instances *is, const struct instance_record *r,
		    struct instance **ret, struct err *err);
/* Replaces the wishes (limits, environment, workspace, …) for the next run
 * by those of @r, a changed copy of the record; -EBUSY when one is starting
 * or on. */
int instance_update(struct instance *in, const struct instance_record *r,
		    struct err *err);
/* Keeps the wishes of @r (copied) for instance_undo(), instead of those that
 * were kept before, until a run begins. -ENOMEM: those are still kept. */
int instance_remember(struct instance *in, const struct instance_record *r);
/* Puts what was remembered back; nothing is success. As instance_update(). */
int instance_undo(struct instance *in, struct err *err);
/* It was made for the run that is to come: when that is refused, it goes. */
void instance_set_new(struct instance *in);
/* Was it, has no start been tried since, has nobody wished anything else for
 * it, and put no file into its workspace? */
bool instance_is_new(const struct instance *in);
/* The disk limit of its next run, in bytes, 0 for none; that of the record is
 * what holds now. */
uint64_t instance_disk_wanted(const struct instance *in);

/* Replaces what it wishes to reach by @json (egress.h; NULL: none), at once also for a
 * run that is on: then @fn comes when the new policy holds, and with an error
 * when the old one stays. -EBUSY: starting, stopping, being cleaned, or
 * another change is under way. */
int instance_set_wishes(struct instance *in, const char *json, instance_fn fn,
			void *arg, struct err *err);

/* Hears of each change of a state, then @limit is NULL; and of each limit
 * that was reached: "timeout", "output", "memory", "disk", "ttl" or "idle",
 * with a text for people. */
struct instance_event;
typedef void (*instance_event_fn)(void *arg, struct instance *in,
				  const char *limit, const char *text);
struct instance_event *instance_event_add(struct instances *is,
					  instance_event_fn fn, void *arg);
void instance_event_free(struct instance_event *e); /* NULL is fine */

/* Errors of instance_run(), also by its callback, that a client can mend. */
#define INSTANCE_NO_IMAGE (-ENOPKG)
#define INSTANCE_NO_WORKSPACE (-EDESTADDRREQ)

/* Starts sandbox and main process; one that is stopping is waited for.
 * -EALREADY running, INSTANCE_NO_*, others. @fn when the main process has
 * begun or that failed; from there the caller may watch instance_main() and
 * misses nothing. */
int instance_run(struct instance *in, const struct run_request *rq,
		 instance_fn fn, void *arg, struct err *err);
/* Who called instance_run() with @arg has gone before its callback, which
 * will not come: the run is not begun, or stopped. */
void instance_run_cancel(struct instance *in, const void *arg);
/* The image that INSTANCE_NO_IMAGE is about; NULL while unknown. */
const char *instance_image(const struct instance *in);
struct run *instance_main(struct instance *in); /* NULL: not running */
/* -ENOTCONN: not running; INSTANCE_IS_PAUSED. */
#define INSTANCE_IS_PAUSED (-EHOSTDOWN)
int instance_paused_error(const struct instance *in, struct err *err);
int instance_exec(struct instance *in, const struct run_request *rq,
		  struct run **ret, struct err *err);
/* Not running is success, by callback all the same. */
int instance_stop(struct instance *in, uint64_t grace_ms, instance_fn fn,
		  void *arg);
/* Live: -EBUSY unless @force, which kills. Removes home (credentials), log;
 * keeps the workspace. */
int instance_clean(struct instance *in, bool force, instance_fn fn, void *arg);
/* Clean, and the instance's own workspace and record. A workspace given by
 * --workspace is never deleted. @in is gone when @fn hears of success. */
int instance_destroy(struct instance *in, bool force, instance_fn fn,
		     void *arg);
/* Freezes what runs, or lets it go on; is so already is success. -ENOTCONN:
 * not running; -EBUSY: it ends, or another pause is under way; -ENOTSUP. */
int instance_pause(struct instance *in, bool paused, instance_fn fn, void *arg,
		   struct err *err);
/* Its ttl and its idle time count from now on. */
int instance_touch(struct instance *in, struct err *err);
/* -ENOTCONN: not running. By runtime_ops.stats. */
int instance_stats(struct instance *in, runtime_stats_fn fn, void *arg);

/*
 * A reader of the terminal log. @wake: there may be more, or the run ended;
 * never from inside a call here.
 */
struct instance_log;
#define INSTANCE_LOG_ALL UINT64_MAX
/* From the last @lines lines on (INSTANCE_LOG_ALL: from the ring's start),
 * or from the last @bytes bytes when that is not 0. */
int instance_log_open(struct instance *in, uint64_t lines, uint64_t bytes,
		      void (*wake)(void *arg), void *arg,
		      struct instance_log **ret, struct err *err);
/* 0 at the end alone, which a log that was removed or begun anew still has for
 * who reads it. @ret_skipped (may be NULL): bytes before these that the ring
 * has lost. */
ssize_t instance_log_read(struct instance_log *l, void *data, size_t len,
			  uint64_t *ret_skipped);
bool instance_log_live(const struct instance_log *l); /* more may come */
void instance_log_close(struct instance_log *l); /* NULL is fine */

/*
 * Several watchers may follow one run; output waits for the slowest. NULL
 * with errno: EMFILE too many, ENOMEM. Each is freed by its owner, in any
 * callback or later; after exited() the run is gone and the watch inert.
 */
struct run_watch *run_watch_add(struct run *r, const struct run_watch_ops *ops,
				void *arg);
void run_watch_credit(struct run_watch *w, uint32_t bytes);
void run_watch_free(struct run_watch *w); /* NULL is fine */
struct instance *run_instance(const struct run *r);
bool run_is_tty(const struct run *r);
/* What a terminal needs that shows what the main run's does now: from how far
 * before its end its output is to be shown, and before and after that the
 * terminal's modes (NUL-terminated). */
uint64_t run_screen(const struct run *r, char ret_modes[SCREEN_MODES_MAX]);
size_t run_stdin_room(const struct run *r);
int run_stdin(struct run *r, const void *data, size_t len);
int run_stdin_eof(struct run *r);
int run_signal(struct run *r, uint32_t signo);
int run_resize(struct run *r, uint16_t rows, uint16_t cols);
/* Has a full-screen program draw all anew. */
void run_redraw(struct run *r);
/* The client that owned an attached run has gone: ends exec or instance. */
void run_abandon(struct run *r);
/* It went on purpose: the run goes on without it. */
void run_detach(struct run *r);

#endif
