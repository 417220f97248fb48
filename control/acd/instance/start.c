/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start.c - from instance_run() to the main process
 *
 * Theory of operation: what can be refused is refused before anything is
 * changed. From the moment the record says "starting", whatever goes wrong
 * takes the one way out, instance_start_failed(). Steps that wait:
 *
 *	disk limit held → policy bound → runtime start (port pinned) → link →
 *	HELLO/PREPARE, ASSIGN, EXEC → READY → first sign of life
 *
 * instance_stop() in between sets end_wanted; while in->waits names somebody
 * nothing can be undone, so the end waits for that answer (phase.c).
 */
#include "control/acd/instance/instance_impl.h"

#include <string.h>
#include <sys/stat.h>

#include "control/acd/credential/guest_grant.h"
#include "control/acd/instance/env.h"
#include "control/acd/daemon/machine.h"
#include "control/acd/storage/mounts.h"
#include "control/acd/guest/prepare.h"
#include "control/shared/json.h"
#include "control/shared/paths.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/str.h"

/* ---- the sandbox's environment ---- */

/* What the agent is held to inside, 0: nothing there. */
static uint32_t agent_nproc(const struct instance *in)
{
	const char *isolation = in->rec.isolation;
	bool shared = isolation && strcmp(isolation, "crun") == 0;
	uint64_t n = machine_tasks(in->rec.pids, shared).inside;

	return n < UINT32_MAX ? (uint32_t)n : 0;
}

int instance_assign(struct instance *in)
{
	const struct instance_grant grant = instance_grant(in);
	struct strv env = { 0 };
	int ret = instance_env(&in->rec, &in->bp.env, grant.env, &env);
	struct link_assign assign = {
		.name = in->rec.name,
		.nproc = agent_nproc(in),
		.vault = grant.vault,
		.vault_len = grant.vault_len,
		.ca = grant.ca,
	};

	assign.env = (const char *const *)env.v;
	if (ret == 0)
		ret = session_assign(in->session, &assign);
	secret_strv_done(&env);
	return ret;
}

/* ---- the session ---- */

static void start_refused(struct instance *in, int code, const char *what)
{
	err_set(&in->why, code, "%s: %s", what, err_text(code));
	instance_start_failed(in);
}

static void sandbox_hello(void *arg)
{
	struct instance *in = arg;
	struct session *s = in->session;
	int ret;

	/* All in one piece: what is to run waits in the link, and nothing of
	 * it begins before all that PREPARE and ASSIGN ask for is done. */
	session_hold_back(s, true);
	if (prepare_guest(s, in->rec.isolation,
			  instance_grant(in).ca ? LINK_PREPARE_OWN_CA : 0,
			  &in->why) < 0) {
		instance_start_failed(in);
		return;
	}
	ret = instance_assign(in);
	if (ret < 0) {
		start_refused(in, ret, "cannot pass the environment");
		return;
	}
	if (run_start(in, &in->wish, true, &in->main, &in->why) < 0) {
		instance_start_failed(in);
		return;
	}
	session_hold_back(s, false);
}

static void sandbox_ready(void *arg)
{
	struct instance *in = arg;

	in->warm = false;
	loop_timer_free(in->ready_timer);
	in->ready_timer = NULL;
	/* Recorded while the process starts, not before. */
	in->rec.started_at = time(NULL);
	in->rec.runs++;
	instance_set_state(in, INSTANCE_RUNNING);
	if (in->main)
		run_limit_begin(in->main);
	instance_settled(in);
	instance_life_start(in);
	if (instance_save(in, &in->why) < 0)
		instance_start_failed(in);
}

static void sandbox_log(void *arg, uint8_t level, const char *text)
{
	struct instance *in = arg;

	if (level > LOG_LVL_WARN) {
		log_info("%s: init-guard: %s", in->rec.name, text);
		return;
	}
	log_warn("%s: init-guard: %s", in->rec.name, text);
	if (str_starts(text, LINK_VAULT LINK_VAULT_OVER))
		instance_egress_vault_over(in);
}

static void sandbox_audit(void *arg, const char *json)
{
	instance_log_audit(arg, json);
}

static void sandbox_closed(void *arg, const struct err *err)
{
	struct instance *in = arg;

	if (in->warm)
		instance_warm_lost(in);
	else
		instance_link_lost(in, err);
}

const struct session_ops instance_session_ops = {
	.hello = sandbox_hello,
	.ready = sandbox_ready,
	.log = sandbox_log,
	.audit = sandbox_audit,
	.closed = sandbox_closed,
};

static void ready_too_late(void *arg)
{
	struct instance *in = arg;

	err_set(&in->why, -ETIMEDOUT,
		"the sandbox was not ready after %u seconds",
		READY_LIMIT_MS / 1000);
	instance_start_failed(in);
}

static int session_begin(struct instance *in, int link_fd)
{
	in->ready_timer = loop_timer_new(in->is->loop, ready_too_late, in);
	in->session =
		session_new(in->is->loop, link_fd, &instance_session_ops, in);
	if (!in->session || !in->ready_timer)
		return -ENOMEM;
	loop_timer_set(in->ready_timer, READY_LIMIT_MS);
	return 0;
}

static void sandbox_started(void *arg, int link_fd, const char *id,
			    const struct err *err)
{
	struct instance *in = arg;
	SCOPED_FD fd = err ? -1 : link_fd;

	in->waits = WAIT_NONE;
	if (err) {
		if (!in->end_wanted)
			in->why = *err;
		instance_start_failed(in);
		return;
	}
	in->rec.container_id = strdup(id);
	if (in->end_wanted)
		instance_start_failed(in);
	else if (!in->rec.container_id || session_begin(in, fd_take(&fd)) < 0)
		start_refused(in, -ENOMEM, "cannot open the guest link");
}

/* ---- what has to be there before ---- */

/* One directory of the user's, 0700. What stands there must be one. */
static int dir_make(const struct instance *in, const char *sub, struct err *err)
{
	SCOPED_STR path = instance_path(in, sub);
	int r;

	if (!path)
		return err_nomem(err);
	r = file_mkdir_for(path, in->rec.host_uid, in->rec.host_gid);
	if (r < 0)
		return err_set(err, r, "cannot make the directory %s: %s", path,
			       err_text(r));
	return 0;
}

static int dirs_make(const struct instance *in, struct err *err)
{
	static const char *const sub[] = { "", "home", "log", "workspace" };
	size_t i, n = ARRAY_SIZE(sub) - (in->rec.workspace ? 1 : 0);
	int ret = 0;

	for (i = 0; i < n && ret == 0; i++)
		ret = dir_make(in, sub[i], err);
	return ret;
}

/* Refuses what the client can mend, before anything is changed. */
static int start_check(struct instance *in, struct err *err)
{
	int ret = instance_load_blueprint(in, err);

	if (ret < 0)
		return ret;
	if (!build_is_ready(in->is->builds, in->image))
		return err_set(err, INSTANCE_NO_IMAGE,
			       "the image '%s' has not been built yet; "
			       "'ac build %s' builds it",
			       in->image, in->rec.blueprint);
	if (in->rec.workspace && !mounts_has_external(in->rec.name))
		return err_set(err, INSTANCE_NO_WORKSPACE,
			       "the workspace %s was not passed on to ac-host",
			       in->rec.workspace);
	return instance_disk_check(in, err);
}

/* The record of what is going to run. */
static int record_wish(struct instance *in, const struct run_wish *w,
		       struct err *err)
{
	SCOPED_JSON cmd = jsonx_from_strv(run_argv(in, w));
	char *text;

	text = cmd ? json_dumps(cmd, JSON_COMPACT) : NULL;
	if (!text)
		return err_nomem(err);
	free(in->rec.cmd_json);
	free(in->rec.reason);
	in->rec.cmd_json = text;
	in->rec.reason = NULL;
	in->rec.tty = w->tty;
	in->rec.detached = w->detached;
	in->rec.exit_code = -1;
	in->rec.started_at = in->rec.finished_at = 0;
	in->is_new = false; /* there is a reason and a log to keep */
	return 0;
}

int instance_start_bound(struct instance *in, const struct mounts_paths *m,
			 struct err *err)
{
	struct runtime *rt = in->is->rt;
	SCOPED_STR image = str_printf("ac/%s:latest", in->image);
	const struct runtime_spec spec = {
		.name = in->rec.name,
		.image = image,
		.isolation = in->rec.isolation,
		.address = in->rec.address,
		.workspace = m->workspace,
		.workspace_ro = in->rec.workspace && in->rec.workspace_ro,
		.home = m->home,
		.cpu_milli = in->rec.cpu_milli,
		.memory = in->rec.memory,
		.pids = in->rec.pids,
		.gpus = in->rec.gpus,
		.runtime = in->rec.runtime,
		.root_rw = in->bp.root_rw,
		.tmp_noexec = in->bp.tmp_noexec,
		.covered = in->bp.blocked_paths.n > 0,
	};
	int ret;

	if (in->warm) {
		instance_warm_go(in);
		return 0;
	}
	if (!image)
		return err_nomem(err);
	ret = rt->ops->start(rt, &spec, sandbox_started, in);
	if (ret < 0)
		return err_set(err, ret, "cannot start a sandbox: %s",
			       err_text(ret));
	in->waits = WAIT_SANDBOX;
	return 0;
}

static void start_undone(struct instance *in, const struct err *err)
{
	struct err ignored = { 0 };

	instance_set_reason(in, "%s", err->msg);
	in->rec.finished_at = time(NULL);
	instance_set_state(in, INSTANCE_FAILED);
	/* The caller hears of @err; a store that fails is a part of it. */
	instance_save(in, &ignored);
}

int instance_files(struct instance *in, struct mounts_paths *ret,
		   struct err *err)
{
	const struct mounts_spec mounts = {
		.name = in->rec.name,
		.host_uid = in->rec.host_uid,
		.host_gid = in->rec.host_gid,
		.external = in->rec.workspace,
		.workspace_ro = in->rec.workspace_ro,
		.disk = instance_disk_is_file(in),
		.blocked = &in->bp.blocked_paths,
	};
	int r = dirs_make(in, err);

	if (r == 0)
		r = mounts_prepare(&mounts, ret, err);
	/* What it could write once keeps what it has written there, also when
	 * it can do no more than read it now. */
	if (r == 0 && ret->workspace_ino != 0 && !in->rec.workspace_ro) {
		in->rec.workspace_dev = (int64_t)ret->workspace_dev;
		in->rec.workspace_ino = (int64_t)ret->workspace_ino;
	}
	return r;
}

int instance_start_held(struct instance *in, struct err *err)
{
	struct mounts_paths paths;
	int r = instance_files(in, &paths, err);

	return r == 0 ? instance_egress_begin(in, &paths, err) : r;
}

/* Everything up to the point where only callbacks can fail. */
static int start_begin(struct instance *in, struct err *err)
{
	struct mounts_paths paths = { .home = "" };
	bool held = instance_disk_is_settled(in);
	int ret = dir_make(in, "", err);

	if (held)
		instance_disk_holds(in);
	if (ret == 0 && !held)
		ret = dirs_make(in, err);
	else if (ret == 0 && !instance_warm_claim(in))
		ret = instance_files(in, &paths, err);
	if (ret == 0 && in->warm)
		ret = dir_make(in, "log", err);
	if (ret < 0 && !in->warm)
		return ret;
	if (ret == 0)
		ret = instance_log_start(in, err);
	if (ret == 0)
		ret = record_wish(in, &in->wish, err);
	if (ret == 0) {
		instance_set_state(in, INSTANCE_STARTING);
		ret = instance_save(in, err);
		if (ret == 0)
			ret = held ? instance_egress_begin(in, &paths, err) :
				     instance_disk_begin(in, err);
		if (ret < 0)
			start_undone(in, err);
	}
	if (ret < 0) {
		instance_log_drop(in, true);
		if (in->warm)
			instance_teardown_left(in);
		else
			mounts_release(in->rec.name);
	}
	return ret;
}

/* ---- who asks for it ---- */

/* Without a client there is nobody to give input or to read output: only a
 * terminal that is kept open makes sense for a shell. */
static void wish_complete(struct run_wish *w)
{
	if (w->detached && w->argv.n == 0)
		w->tty = true;
	/* Somebody may attach, and type. */
	if (w->detached && w->tty)
		w->use_stdin = true;
}

/* Takes @w. On failure the instance is as it was. */
static int start_now(struct instance *in, struct run_wish *w, instance_fn fn,
		     void *arg, struct err *err)
{
	int ret;

	run_wish_done(&in->wish);
	in->wish = *w;
	*w = (struct run_wish){ 0 };
	in->end_wanted = false;
	in->frozen = in->freeze_wanted = false;
	in->why = (struct err){ 0 };
	in->exit = (struct link_exit){ 0 };
	ret = start_check(in, err);
	if (ret == 0) {
		/* A refused one keeps nobody's time from passing. */
		instance_life_start(in);
		ret = start_begin(in, err);
	}
	if (ret == 0) {
		in->run_fn = fn;
		in->run_arg = arg;
	}
	return ret;
}

/* To run once what is there has been removed. */
static void start_later(struct instance *in, struct run_wish *w, instance_fn fn,
			void *arg)
{
	run_wish_done(&in->next);
	in->next = *w;
	*w = (struct run_wish){ 0 };
	in->next_fn = fn;
	in->next_arg = arg;
}

static int run_refusal(const struct instance *in, struct err *err)
{
	const char *name = in->rec.name;

	if (in->tree || in->clean != CLEAN_NOT)
		return err_set(err, -EBUSY,
			       "the files of '%s' are being removed; try "
			       "again in a moment",
			       name);
	if (in->rec.state == INSTANCE_PAUSED)
		return instance_paused_error(in, err);
	if (in->rec.state == INSTANCE_STARTING ||
	    in->rec.state == INSTANCE_RUNNING)
		return err_set(err, -EALREADY,
			       "'%s' runs already; 'ac attach %s' joins it, "
			       "'ac stop-instance %s' stops it",
			       name, name, name);
	if (in->next_fn)
		return err_set(err, -EALREADY,
			       "'%s' is stopping, and another run waits "
			       "for that",
			       name);
	return 0;
}

int instance_run(struct instance *in, const struct run_request *rq,
		 instance_fn fn, void *arg, struct err *err)
{
	struct run_wish w = { 0 };
	int ret = run_refusal(in, err);

	if (ret < 0)
		return ret;
	if (run_wish_copy(&w, rq) < 0)
		return err_nomem(err);
	wish_complete(&w);
	if (in->rec.state == INSTANCE_STOPPING) {
		start_later(in, &w, fn, arg);
		return 0;
	}
	if (in->rec.container_id) {
		/* Its removal failed; nothing can start beside it. */
		start_later(in, &w, fn, arg);
		instance_teardown_left(in);
		return 0;
	}
	return start_now(in, &w, fn, arg, err);
}

void instance_start_next(struct instance *in, const struct err *err)
{
	struct run_wish w = in->next;
	instance_fn fn = in->next_fn;
	struct err failed = { 0 };

	if (!fn)
		return;
	in->next = (struct run_wish){ 0 };
	in->next_fn = NULL;
	if (err)
		failed = *err;
	else if (start_now(in, &w, fn, in->next_arg, &failed) == 0)
		return;
	run_wish_done(&w);
	fn(in->next_arg, &failed);
}

void instance_run_cancel(struct instance *in, const void *arg)
{
	if (in->next_fn && in->next_arg == arg) {
		in->next_fn = NULL;
		run_wish_done(&in->next);
	}
	if (in->run_fn && in->run_arg == arg) {
		in->run_fn = NULL;
		instance_end(in, RUN_STOPPED, 0);
	}
}

/* A misspelt path would go unnoticed. */
static void blocked_notice(struct instance *in)
{
	SCOPED_STR list = mounts_uncovered(in->rec.name, &in->bp.blocked_paths);
	SCOPED_STR text = list ? str_printf("blocked_paths: not in the "
					    "workspace at the start, so not "
					    "hidden in this run: %s",
					    list) :
				 NULL;

	if (text)
		run_notice(in->main, LOG_LVL_INFO, text);
}

void instance_began(struct instance *in, const struct err *err)
{
	instance_fn fn = in->run_fn;

	in->run_fn = NULL;
	if (!fn) /* told already */
		return;
	fn(in->run_arg, err);
	/* It stays with the instance, so each run says it again. */
	if (!err && in->main && strcmp(in->rec.isolation, "crun") == 0)
		run_notice(in->main, LOG_LVL_INFO,
			   "isolation crun: the agent shares this machine's "
			   "kernel; '--isolation runsc' takes that back");
	if (!err && in->main) {
		instance_egress_notice(in);
		instance_disk_notice(in);
		blocked_notice(in);
	}
}
