/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.c - run, exec, attach: requests that become streams
 *
 * The stream is made, and watches the run, before its connection is upgraded: a
 * short command may have ended by then.
 */
#include <string.h>

#include "control/acd/api/instance_calls.h"
#include "control/acd/api/http/stream.h"
#include "control/acd/api/run/edge_may.h"
#include "control/shared/json.h"
#include "control/shared/names.h"

#define REPLAY_BLOCK 16384u
#define REPLAY_LINES_BYTES 16384u /* replayed of output without a terminal */

struct run_call {
	struct acd *acd;
	struct instance *in; /* stays while the run is pending */
	struct http_req *req; /* NULL: the client of a detached run left */
	bool upgrade, detached;
};

/* ---- the request's body ---- */

static void take_flags(const json_t *body, struct run_options *o)
{
	o->shell = api_flag(body, "shell");
	o->resume = api_flag(body, "resume");
	o->tty = api_flag(body, "tty");
	o->use_stdin = api_flag(body, "stdin");
	o->detached = api_flag(body, "detached");
	o->rows = (uint16_t)api_number(body, "rows", 0);
	o->cols = (uint16_t)api_number(body, "cols", 0);
	o->timeout_ms = api_number(body, "timeout_ms", 0);
}

/* "" is the instance's own. */
static int parse_cwd(json_t *body, struct run_options *o, struct err *err)
{
	const char *cwd = NULL;
	int rc = jsonx_str(body, "cwd", NULL, &cwd, err);

	if (rc < 0 || !cwd || !*cwd)
		return rc;
	if (*cwd != '/' || strlen(cwd) > LINK_TEXT_MAX)
		return jsonx_refuse(err, "cwd", "must be an absolute path");
	o->cwd = strdup(cwd);
	return o->cwd ? 0 : err_nomem(err);
}

static int parse_prompt(json_t *body, struct run_options *o, struct err *err)
{
	const char *prompt = NULL;
	int rc = jsonx_str(body, "prompt", NULL, &prompt, err);

	if (rc < 0 || !prompt)
		return rc;
	if (!*prompt || strlen(prompt) > AC_PROMPT_MAX)
		return jsonx_refuse(err, "prompt", "must have 1 to %u bytes",
				    AC_PROMPT_MAX);
	if (o->tty || o->use_stdin || o->shell || o->resume)
		return err_set(
			err, -EINVAL,
			"a prompt excludes tty, stdin, shell and resume");
	o->prompt = strdup(prompt);
	return o->prompt ? 0 : err_nomem(err);
}

int api_run_options(json_t *body, struct run_options *o, struct err *err)
{
	size_t i;
	int rc = parse_cwd(body, o, err);

	take_flags(body, o);
	if (rc == 0)
		rc = jsonx_strv(body, "cmd", SPEC_ARGS_MAX, &o->argv, err);
	if (rc == 0)
		rc = parse_prompt(body, o, err);
	if (rc == 0 && o->resume && o->shell)
		rc = err_set(err, -EINVAL, "resume excludes shell");
	if (rc == 0)
		rc = jsonx_strv(body, "env", SPEC_ARGS_MAX, &o->env, err);
	for (i = 0; rc == 0 && i < o->env.n; i++)
		rc = name_check_env(o->env.v[i], err);
	if (rc == 0 && o->argv.n > 0 && !o->argv.v[0][0])
		rc = err_set(err, -EINVAL, "the command is empty");
	return rc;
}

int api_run_is_seen(struct http_req *req, const struct run_options *o,
		    struct err *err)
{
	if (o->detached || http_wants_upgrade(req))
		return 0;
	return err_set(err, -EINVAL,
		       "a run without 'Upgrade: ac-link/1' must be detached");
}

/* ---- answers ---- */

static int put_text(json_t *obj, const char *key, const char *text)
{
	return text ? json_object_set_new(obj, key, jsonx_text(text)) : 0;
}

void api_run_refuse(struct http_req *req, const struct api_refused *what,
		    const struct err *err)
{
	json_t *more = json_object();
	struct err shown = *err;
	const char *code = NULL;

	put_text(more, "instance", what->instance);
	put_text(more, "blueprint", what->blueprint);
	put_text(more, "credential", what->credential);
	switch (err->code) {
	case INSTANCE_NO_IMAGE:
		put_text(more, "image", what->image);
		shown.code = -EBUSY;
		code = "image_missing";
		break;
	case INSTANCE_NO_WORKSPACE:
		shown.code = -EBUSY;
		code = "workspace_needed";
		break;
	case INSTANCE_NO_MOUNTS:
		shown.code = -EBUSY;
		code = "mounts_needed";
		break;
	case -EALREADY:
		put_text(more, "state", what->state);
		code = "already_running";
		break;
	case INSTANCE_IS_PAUSED:
		put_text(more, "state", what->state);
		shown.code = -EBUSY;
		code = "paused";
		break;
	case -ECANCELED:
		shown.code = -EBUSY;
		code = "stopped";
		break;
	default:
		break;
	}
	http_reply_refusal(req, &shown, code, more);
}

static void reply_run_error(struct http_req *req, const struct instance *in,
			    const struct err *err)
{
	const struct instance_record *r = instance_record(in);
	const struct api_refused what = {
		.instance = r->name,
		.blueprint = r->blueprint,
		.image = instance_image(in),
		.state = instance_state_name(r->state),
	};

	api_run_refuse(req, &what, err);
}

static void stream_upgraded(void *arg, int fd, struct slice early)
{
	stream_connect(arg, fd, early);
}

int api_run_stream(struct acd *acd, struct http_req *req, struct run *r,
		   bool detached)
{
	struct stream *st = stream_new(
		acd->loop, r, detached ? STREAM_DETACHED : STREAM_OWNER);
	struct err err = { 0 };

	if (!st) {
		err_set(&err, errno == EMFILE ? -EBUSY : -errno,
			"too many clients follow this run");
		http_reply_error(req, &err, NULL);
		return err.code;
	}
	http_upgrade(req, stream_upgraded, st);
	return 0;
}

/* ---- run ---- */

static void run_begun(void *arg, const struct err *err)
{
	struct run_call *c = arg;
	struct run *r = instance_main(c->in);

	if (err) {
		if (c->req)
			reply_run_error(c->req, c->in, err);
	} else if (c->req && c->upgrade) {
		if (api_run_stream(c->acd, c->req, r, c->detached) < 0)
			run_abandon(r);
	} else if (c->req) {
		http_reply_json(c->req, 200, instance_json(c->in));
	}
	free(c);
}

/* A run without a client is canceled, unless it is detached. */
static void run_call_abort(void *arg)
{
	struct run_call *c = arg;

	c->req = NULL;
	if (c->detached)
		return;
	instance_run_cancel(c->in, c);
	free(c);
}

static int run_allowed(struct acd *acd, struct http_req *req,
		       const struct instance *in)
{
	struct err err = { 0 };
	const char *code = NULL;
	int rc = acd_may_run(acd, instance_record(in)->isolation, &err, &code);

	if (rc == 0) {
		rc = edge_may(acd, instance_record(in), &err);
		code = err.word;
	}
	if (rc < 0) {
		err.code = -EAGAIN; /* 503 */
		http_reply_error(req, &err, code);
	}
	return rc;
}

static void run_ask(struct acd *acd, struct http_req *req, struct instance *in,
		    struct run_options *o)
{
	struct run_call *c = calloc(1, sizeof(*c));
	struct err err = { 0 };
	int rc;

	if (!c) {
		err_nomem(&err);
		http_reply_error(req, &err, NULL);
		return;
	}
	*c = (struct run_call){
		.acd = acd,
		.in = in,
		.req = req,
		.upgrade = http_wants_upgrade(req),
		.detached = o->detached,
	};
	http_on_abort(req, run_call_abort, c);
	rc = instance_run(in, o, run_begun, c, &err);
	if (rc < 0) {
		reply_run_error(req, in, &err);
		free(c);
	}
}

void api_instance_run(void *ctx, struct http_req *req)
{
	struct instance *in = api_instance_of(ctx, req);
	struct run_options o = { 0 };
	struct err err = { 0 };
	int rc;

	if (!in || run_allowed(ctx, req, in) < 0)
		return;
	rc = api_run_options(http_body(req), &o, &err);
	if (rc == 0)
		rc = api_run_is_seen(req, &o, &err);
	if (rc < 0)
		http_reply_error(req, &err, NULL);
	else
		run_ask(ctx, req, in, &o);
	run_options_done(&o);
}

/* ---- exec ---- */

/* Makes of @o a connection to @port, which a program has no part in. */
static int exec_connect(const json_t *body, struct run_options *o,
			struct err *err)
{
	char port[8];

	if (json_object_size(body) != 1)
		return jsonx_refuse(err, "connect",
				    "excludes all other members");
	snprintf(port, sizeof(port), "%u",
		 (unsigned)api_number(body, "connect", 0));
	o->connect = o->use_stdin = true;
	o->cwd = strdup("/");
	return o->cwd && strv_push(&o->argv, port) == 0 ? 0 : err_nomem(err);
}

static int exec_options(json_t *body, struct run_options *o, struct err *err)
{
	int rc;

	if (api_number(body, "connect", 0) > 0)
		return exec_connect(body, o, err);
	rc = api_run_options(body, o, err);
	if (rc == 0 && (o->prompt || o->resume))
		rc = err_set(err, -EINVAL,
			     "a prompt and resume are for the main run");
	return rc;
}

void api_instance_exec(void *ctx, struct http_req *req)
{
	struct instance *in = api_instance_of(ctx, req);
	struct run_options o = { 0 };
	struct err err = { 0 };
	struct run *r = NULL;
	int rc;

	if (!in)
		return;
	rc = exec_options(http_body(req), &o, &err);
	if (rc == 0 && !http_wants_upgrade(req))
		rc = err_set(&err, -EINVAL, "exec needs 'Upgrade: ac-link/1'");
	if (rc == 0)
		rc = instance_exec(in, &o, &r, &err);
	if (rc == -ENOTCONN)
		api_reply_not_running(req, instance_record(in)->name);
	else if (rc < 0)
		reply_run_error(req, in, &err);
	else if (api_run_stream(ctx, req, r, o.detached) < 0)
		run_abandon(r);
	run_options_done(&o);
}

/* ---- attach ---- */

static void no_wake(void *arg)
{
	(void)arg; /* the log is closed before it can call */
}

/* Replays the last @back bytes. If that is not the @whole output since the
 * screen was empty, begins where a terminal can begin. */
static void replay_output(struct stream *st, struct instance_log *log,
			  uint64_t back, bool whole)
{
	uint8_t data[REPLAY_BLOCK];
	size_t seam;
	ssize_t n;

	while (back > 0) {
		n = instance_log_read(log, data,
				      back < sizeof(data) ? back : sizeof(data),
				      NULL);
		if (n <= 0)
			return;
		back -= (uint64_t)n;
		seam = whole ? 0 : screen_seam(data, (size_t)n);
		whole = true;
		if (stream_replay(st, data + seam, (size_t)n - seam) < 0)
			return;
	}
}

/* Replays what is on the terminal, or the last output. Without memory or log,
 * less is shown. */
static void attach_replay(struct instance *in, struct run *r, struct stream *st)
{
	char modes[SCREEN_MODES_MAX] = "";
	bool tty = run_is_tty(r);
	uint64_t back = run_screen(r, modes);
	const uint64_t most = tty ? STREAM_REPLAY_MAX - 2 * sizeof(modes) :
				    REPLAY_LINES_BYTES;
	bool whole = back <= most;
	struct instance_log *log;
	struct err err = { 0 };

	if (!whole)
		back = most;
	if (instance_log_open(in, 0, back, no_wake, NULL, &log, &err) < 0)
		return;
	/* Modes that the output expects, and after it those that it may have
	 * changed. */
	stream_replay(st, modes, strlen(modes));
	replay_output(st, log, back, whole);
	stream_replay(st, modes, strlen(modes));
	instance_log_close(log);
}

static void attach_run(struct acd *acd, struct http_req *req,
		       struct instance *in, struct run *r)
{
	struct stream *st = stream_new(acd->loop, r, STREAM_GUEST);
	struct err err = { 0 };

	if (!st) {
		err_set(&err, errno == EMFILE ? -EBUSY : -errno,
			"too many clients follow this run");
		http_reply_error(req, &err, NULL);
		return;
	}
	attach_replay(in, r, st);
	if (run_is_tty(r))
		run_redraw(r);
	http_upgrade(req, stream_upgraded, st);
}

void api_instance_attach(void *ctx, struct http_req *req)
{
	struct instance *in = api_instance_of(ctx, req);
	uint64_t rows = api_number(http_body(req), "rows", 0);
	uint64_t cols = api_number(http_body(req), "cols", 0);
	struct err err = { 0 };
	struct run *r;
	int rc = 0;

	if (!in)
		return;
	if (!http_wants_upgrade(req))
		rc = err_set(&err, -EINVAL,
			     "attach needs 'Upgrade: ac-link/1'");
	r = instance_main(in);
	if (rc < 0) {
		http_reply_error(req, &err, NULL);
	} else if (instance_record(in)->state == INSTANCE_PAUSED) {
		instance_paused_error(in, &err);
		reply_run_error(req, in, &err);
	} else if (!r || !instance_is_up(in)) {
		api_reply_not_running(req, instance_record(in)->name);
	} else {
		if (rows > 0 && cols > 0)
			run_resize(r, (uint16_t)rows, (uint16_t)cols);
		attach_run(ctx, req, in, r);
	}
}
