/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_calls.c - run, exec, attach: requests that become streams
 *
 * The stream is made, and watches the run, before its connection has
 * changed over: a short command may be over by then.
 */
#include <string.h>

#include "control/acd/api/instance_calls.h"
#include "control/acd/api/stream.h"
#include "control/shared/json.h"
#include "control/shared/names.h"

#define ARGS_MAX 4000u /* entries of cmd and of env */
#define REPLAY_BLOCK 16384u
#define REPLAY_LINES_BYTES 16384u /* of what has no screen */

struct run_call {
	struct acd *acd;
	struct instance *in; /* stays while the run is pending */
	struct http_req *req; /* NULL: the client of a detached run left */
	bool upgrade, detached;
};

/* ---- the request's body ---- */

struct run_body {
	struct run_request rq;
	struct strv argv, env;
};

static void run_body_done(struct run_body *b)
{
	strv_done(&b->argv);
	strv_done(&b->env);
}

static int run_body_flags(json_t *body, struct run_request *rq, struct err *err)
{
	uint64_t rows = 0, cols = 0;
	int ret = jsonx_bool(body, "shell", false, &rq->shell, err);

	if (ret == 0)
		ret = jsonx_bool(body, "tty", false, &rq->tty, err);
	if (ret == 0)
		ret = jsonx_bool(body, "stdin", false, &rq->use_stdin, err);
	if (ret == 0)
		ret = jsonx_bool(body, "detached", false, &rq->detached, err);
	if (ret == 0)
		ret = jsonx_u64(body, "rows", 0, UINT16_MAX, 0, &rows, err);
	if (ret == 0)
		ret = jsonx_u64(body, "cols", 0, UINT16_MAX, 0, &cols, err);
	if (ret == 0)
		ret = jsonx_u64(body, "timeout_ms", 0, API_TIMEOUT_MAX_MS, 0,
				&rq->timeout_ms, err);
	if (ret < 0)
		return ret;
	rq->rows = (uint16_t)rows;
	rq->cols = (uint16_t)cols;
	return 0;
}

static int run_body_parse(json_t *body, struct run_body *b, struct err *err)
{
	static const char *const keys[] = {
		"cmd",  "shell", "env",      "cwd",        "tty", "stdin",
		"rows", "cols",  "detached", "timeout_ms", NULL,
	};
	size_t i;
	int ret = jsonx_known(body, keys, err);

	if (ret == 0)
		ret = run_body_flags(body, &b->rq, err);
	if (ret == 0)
		ret = jsonx_str(body, "cwd", NULL, &b->rq.cwd, err);
	if (ret == 0 && b->rq.cwd && *b->rq.cwd &&
	    (*b->rq.cwd != '/' || strlen(b->rq.cwd) > LINK_TEXT_MAX))
		ret = err_set(err, -EINVAL, "'cwd' must be an absolute path");
	if (ret == 0)
		ret = jsonx_strv(body, "cmd", ARGS_MAX, &b->argv, err);
	if (ret == 0)
		ret = jsonx_strv(body, "env", ARGS_MAX, &b->env, err);
	for (i = 0; i < b->env.n && ret == 0; i++)
		ret = name_check_env(b->env.v[i], err);
	if (ret == 0 && b->argv.n > 0 && !b->argv.v[0][0])
		ret = err_set(err, -EINVAL, "the command is empty");
	b->rq.argv = (const char *const *)b->argv.v;
	b->rq.env = (const char *const *)b->env.v;
	return ret;
}

/* ---- answers ---- */

static void reply_no_image(struct http_req *req, const char *image,
			   const struct err *err)
{
	json_t *e = json_pack("{s:s, s:o, s:o}", "code", "image_missing",
			      "message", jsonx_text(err->msg), "image",
			      jsonx_text(image));

	http_reply_json(req, 409, json_pack("{s:o}", "error", e));
}

static void reply_run_error(struct http_req *req, const struct instance *in,
			    const struct err *err)
{
	struct err shown = *err;

	switch (err->code) {
	case INSTANCE_NO_IMAGE:
		reply_no_image(req, instance_image(in), err);
		return;
	case INSTANCE_NO_WORKSPACE:
		shown.code = -EBUSY;
		http_reply_error(req, &shown, "workspace_needed");
		return;
	case -EALREADY:
		http_reply_error(req, err, "already_running");
		return;
	case INSTANCE_IS_PAUSED:
		api_reply_paused(req, err);
		return;
	case -ECANCELED:
		shown.code = -EBUSY;
		http_reply_error(req, &shown, "stopped");
		return;
	default:
		http_reply_error(req, err, NULL);
	}
}

static void stream_upgraded(void *arg, int fd, struct slice early)
{
	stream_connect(arg, fd, early);
}

/* Joins @r to the request's connection. */
static int run_stream(struct acd *acd, struct http_req *req, struct run *r,
		      enum stream_role role)
{
	struct stream *st = stream_new(acd->loop, r, role);
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
		if (run_stream(c->acd, c->req, r,
			       c->detached ? STREAM_DETACHED : STREAM_OWNER) <
		    0)
			run_abandon(r);
	} else if (c->req) {
		http_reply_json(c->req, 200, instance_json(c->in));
	}
	free(c);
}

/* A run that nobody will see is not begun; a detached one is. */
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
	int ret = acd_may_run(acd, instance_record(in)->isolation, &err, &code);

	if (ret < 0) {
		err.code = -EAGAIN; /* 503 */
		http_reply_error(req, &err, code);
	}
	return ret;
}

static void run_ask(struct acd *acd, struct http_req *req, struct instance *in,
		    const struct run_request *rq)
{
	struct run_call *c = calloc(1, sizeof(*c));
	struct err err = { 0 };
	int ret;

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
		.detached = rq->detached,
	};
	http_on_abort(req, run_call_abort, c);
	ret = instance_run(in, rq, run_begun, c, &err);
	if (ret < 0) {
		reply_run_error(req, in, &err);
		free(c);
	}
}

void api_instance_run(void *ctx, struct http_req *req)
{
	struct instance *in = api_instance_of(ctx, req);
	struct run_body b = { 0 };
	struct err err = { 0 };
	int ret;

	if (!in || run_allowed(ctx, req, in) < 0)
		return;
	ret = run_body_parse(http_body(req), &b, &err);
	if (ret == 0 && !b.rq.detached && !http_wants_upgrade(req))
		ret = err_set(&err, -EINVAL,
			      "a run without 'Upgrade: ac-link/1' must be "
			      "detached");
	if (ret < 0)
		http_reply_error(req, &err, NULL);
	else
		run_ask(ctx, req, in, &b.rq);
	run_body_done(&b);
}

/* ---- exec ---- */

void api_instance_exec(void *ctx, struct http_req *req)
{
	struct instance *in = api_instance_of(ctx, req);
	struct run_body b = { 0 };
	struct err err = { 0 };
	struct run *r = NULL;
	int ret;

	if (!in)
		return;
	ret = run_body_parse(http_body(req), &b, &err);
	if (ret == 0 && !http_wants_upgrade(req))
		ret = err_set(&err, -EINVAL, "exec needs 'Upgrade: ac-link/1'");
	if (ret == 0)
		ret = instance_exec(in, &b.rq, &r, &err);
	if (ret == -ENOTCONN)
		api_reply_not_running(req, instance_record(in)->name);
	else if (ret < 0)
		reply_run_error(req, in, &err);
	else if (run_stream(ctx, req, r,
			    b.rq.detached ? STREAM_DETACHED : STREAM_OWNER) < 0)
		run_abandon(r);
	run_body_done(&b);
}

/* ---- attach ---- */

static void no_wake(void *arg)
{
	(void)arg; /* the log is closed before it could call */
}

/* The last @back bytes. When the screen was not empty before them they begin
 * where a terminal can begin. */
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

/* What is on the terminal already, or what was written last; without it there
 * is less to see. */
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
	/* The screen that the output is for, and then what it may have
	 * changed on the way. */
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
	static const char *const keys[] = { "rows", "cols", NULL };
	struct instance *in = api_instance_of(ctx, req);
	json_t *body = http_body(req);
	uint64_t rows = 0, cols = 0;
	struct err err = { 0 };
	struct run *r;
	int ret;

	if (!in)
		return;
	ret = jsonx_known(body, keys, &err);
	if (ret == 0)
		ret = jsonx_u64(body, "rows", 0, UINT16_MAX, 0, &rows, &err);
	if (ret == 0)
		ret = jsonx_u64(body, "cols", 0, UINT16_MAX, 0, &cols, &err);
	if (ret == 0 && !http_wants_upgrade(req))
		ret = err_set(&err, -EINVAL,
			      "attach needs 'Upgrade: ac-link/1'");
	r = instance_main(in);
	if (ret < 0) {
		http_reply_error(req, &err, NULL);
	} else if (instance_record(in)->state == INSTANCE_PAUSED) {
		instance_paused_error(in, &err);
		reply_run_error(req, in, &err);
	} else if (!r || instance_record(in)->state != INSTANCE_RUNNING) {
		api_reply_not_running(req, instance_record(in)->name);
	} else {
		if (rows > 0 && cols > 0)
			run_resize(r, (uint16_t)rows, (uint16_t)cols);
		attach_run(ctx, req, in, r);
	}
}
