/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_calls.c - routes for the gateway: reload, linter, metrics
 */
#include "control/acd/api/gate_calls.h"

#include <string.h>

#include "control/acd/acd.h"
#include "control/acd/api/api.h"
#include "control/acd/egress/addresses.h"
#include "control/acd/api/instance_calls.h"
#include "control/acd/api/http/text.h"
#include "control/acd/egress/gate.h"
#include "control/acd/egress/gate_job.h"
#include "control/acd/instance/instance.h"
#include "control/acd/egress/lint_items.h"
#include "control/shared/json.h"

#define NAME_SHOWN_MAX 512u
#define START_WAIT_MS 10000u
#define START_POLL_MS 50u

struct gate_request {
	struct acd *acd;
	struct http_req *req; /* NULL: the client left */
	struct loop_timer *timer; /* polls a gateway that starts */
	uint64_t since_ms;
	unsigned restarts; /* restarts when the wait began */
	unsigned addresses_no; /* version of what a reload copies */
};

static void request_abort(void *arg)
{
	struct gate_request *g = arg;

	g->req = NULL;
}

/* Returns NULL after an answer. */
static struct gate_request *request_new(struct acd *acd, struct http_req *req)
{
	struct gate_request *g = calloc(1, sizeof(*g));
	struct err err = { 0 };

	if (!g) {
		err_nomem(&err);
		http_reply_error(req, &err, NULL);
		return NULL;
	}
	*g = (struct gate_request){ .acd = acd, .req = req };
	http_on_abort(req, request_abort, g);
	return g;
}

static void request_free(struct gate_request *g)
{
	loop_timer_free(g->timer);
	free(g);
}

static void request_fail(struct gate_request *g, const struct err *err)
{
	if (g->req)
		http_reply_error(g->req, err, NULL);
	request_free(g);
}

/* ---- reload ---- */

/* Translates the gateway's answer to a load into that of this API. */
static json_t *reload_answer(const char *text, size_t len)
{
	SCOPED_JSON v = json_loadb(text, len, 0, NULL);

	if (!json_is_array(json_object_get(v, "lint")))
		return NULL;
	return json_pack("{s:b, s:o}", "ok",
			 json_is_true(json_object_get(v, "ok")), "items",
			 lint_items(text, len));
}

/* Notes for the doctor what a start of the gateway would meet. */
static void reload_note(struct gate *gate, const json_t *answer)
{
	const char *why = jsonx_text_at(
		lint_error(json_object_get(answer, "items")), "text");

	if (json_is_true(json_object_get(answer, "ok")))
		gate_policy_note(gate, NULL);
	else
		gate_policy_note(gate,
				 *why ? why : "`ac policy lint` tells why");
}

static void on_reloaded(void *arg, const char *text, size_t len,
			const struct err *err)
{
	struct gate_request *g = arg;
	json_t *v = NULL;
	struct err failed = { 0 };

	/* For a refused policy (-EINVAL) the text is the linter's output. */
	if (!err || err->code == -EINVAL)
		v = reload_answer(text, len);
	if (!v && err)
		failed = *err;
	else if (!v)
		err_set(&failed, -EPROTO, "the gateway gave no result");
	if (failed.code < 0) {
		request_fail(g, &failed);
		return;
	}
	reload_note(g->acd->gate, v);
	if (json_is_true(json_object_get(v, "ok")))
		gate_files_loaded(g->addresses_no);
	if (g->req)
		http_reply_json(g->req, 200, v);
	else
		json_decref(v);
	request_free(g);
}

static void reload_ask(struct gate_request *g)
{
	const struct slice none = { 0 };
	struct err err = { 0 };
	int rc = gate_call(gate_client(g->acd->gate), ADMIN_RELOAD, none, none,
			   on_reloaded, g);

	if (rc < 0) {
		err_set(&err, rc, "the gateway: %s", err_text(rc));
		request_fail(g, &err);
	}
}

/* The gateway could not start with these files. */
static void reload_down(struct gate_request *g)
{
	struct err down = { 0 };

	gate_down(g->acd->gate, &down);
	if (g->req)
		http_reply_json(g->req, 200,
				json_pack("{s:b, s:[{s:s, s:s, s:o}]}", "ok", 0,
					  "items", "level", "error", "code",
					  "gateway-down", "text",
					  jsonx_text(down.msg)));
	request_free(g);
}

/* The gateway was down: its next start is the reload. */
static void on_wait(void *arg)
{
	struct gate_request *g = arg;
	struct supervise_status st = gate_status(g->acd->gate);
	struct err err = { 0 };

	if (!g->req) {
		request_free(g);
	} else if (st.state == SUPERVISE_UP) {
		reload_ask(g);
	} else if (st.state == SUPERVISE_BACKOFF &&
		   st.restarts != g->restarts) {
		reload_down(g);
	} else if (clock_ms() - g->since_ms > START_WAIT_MS) {
		err_set(&err, -EAGAIN,
			"the gateway was down, and its start with these files "
			"takes more than %u s; `ac status` tells how it goes",
			START_WAIT_MS / 1000);
		request_fail(g, &err);
	} else {
		/* A start with older files may have been under way. */
		gate_retry(g->acd->gate);
		loop_timer_set(g->timer, START_POLL_MS);
	}
}

static int reload_wait(struct gate_request *g, struct err *err)
{
	g->timer = loop_timer_new(g->acd->loop, on_wait, g);
	if (!g->timer)
		return err_nomem(err);
	g->since_ms = clock_ms();
	g->restarts = gate_status(g->acd->gate).restarts;
	gate_retry(g->acd->gate);
	loop_timer_set(g->timer, START_POLL_MS);
	return 0;
}

static void reload(struct gate_request *g)
{
	bool up = gate_status(g->acd->gate).state == SUPERVISE_UP;
	struct err err = { 0 };
	int rc;

	g->addresses_no = gate_files_addresses_no();
	rc = gate_files_copy(&err);
	if (rc == 0 && !up)
		rc = reload_wait(g, &err);
	if (rc < 0)
		request_fail(g, &err);
	else if (up)
		reload_ask(g);
}

void api_policy_reload(void *ctx, struct http_req *req)
{
	struct gate_request *g = request_new(ctx, req);

	if (g)
		reload(g);
}

/* Sets the addresses of the machine. They are in effect when this is
 * answered. */
void api_machine_addresses(void *ctx, struct http_req *req)
{
	const struct acd *acd = ctx;
	SCOPED_STR text = NULL;
	struct gate_request *g;
	struct err err = { 0 };
	int rc = addresses_text(json_object_get(http_body(req), "addresses"),
				&text, &err);

	if (rc == 0 && (acd->phase != ACD_READY || !acd->gate)) {
		err_set(&err, -EAGAIN, "ac-host is starting or stopping");
		http_reply_error(req, &err, "starting");
		return;
	}
	if (rc == 0)
		rc = gate_files_addresses(text, acd->owner, acd->owner_group,
					  &err);
	if (rc < 0) {
		http_reply_error(req, &err, NULL);
		return;
	}
	if (rc == 0) {
		http_reply_json(req, 200,
				json_pack("{s:b, s:[]}", "ok", 1, "items"));
		return;
	}
	g = request_new(ctx, req);
	if (g)
		reload(g);
}

/* ---- linter ---- */

static void on_linted(void *arg, int code, const char *out, const char *err_out,
		      const struct err *err)
{
	struct gate_request *g = arg;

	(void)err_out;
	if (err) {
		request_fail(g, err);
		return;
	}
	if (g->req)
		http_reply_json(g->req, 200,
				json_pack("{s:b, s:o}", "ok", code == 0,
					  "items",
					  lint_items(out, strlen(out))));
	request_free(g);
}

/* Checks the user's @text in place of the stored file, or that file. */
static int lint_start(struct gate_request *g, const char *text,
		      const char *name, struct err *err)
{
	const char *const argv[] = { "--check", "--json", GATE_DIR_PRESETS,
				     text ? gate_job_file : GATE_DIR_POLICY,
				     NULL };
	const struct gate_job_spec spec = {
		.argv = argv,
		.file = text ? "policy.yaml" : NULL,
		.text = slice_str(text ? text : ""),
		.shown = name,
	};
	int rc = gate_files_copy(err);

	return rc < 0 ? rc :
			gate_job_run(g->acd->loop, g->acd->children, &spec,
				     on_linted, g, err);
}

void api_policy_lint(void *ctx, struct http_req *req)
{
	struct gate_request *g = request_new(ctx, req);
	const char *text = api_text(http_body(req), "text");
	const char *name = api_text(http_body(req), "name");
	struct err err = { 0 };

	if (!g)
		return;
	if (name && strlen(name) > NAME_SHOWN_MAX)
		name = NULL;
	if (lint_start(g, text, name, &err) < 0)
		request_fail(g, &err);
}

/* ---- metrics ---- */

static void metrics_reply(struct gate_request *g, bool up, const char *text,
			  size_t len)
{
	struct buf b;

	buf_init(&b, len + 4096);
	if (buf_printf(&b,
		       "# HELP ac_gate_up Whether the gateway answers.\n"
		       "# TYPE ac_gate_up gauge\n"
		       "ac_gate_up %d\n"
		       "# HELP ac_gate_restarts_total Starts after the first.\n"
		       "# TYPE ac_gate_restarts_total counter\n"
		       "ac_gate_restarts_total %u\n"
		       "# HELP ac_instances_live Instances that run.\n"
		       "# TYPE ac_instances_live gauge\n"
		       "ac_instances_live %u\n",
		       up, gate_status(g->acd->gate).restarts,
		       instances_live(g->acd->instances)) == 0 &&
	    buf_append(&b, text, len) == 0 && g->req) {
		struct slice s = buf_slice(&b);

		api_reply_text(g->req, "text/plain; version=0.0.4",
			       (const char *)s.ptr, s.len);
		g->req = NULL;
	}
	buf_done(&b);
	request_fail(g,
		     &(struct err){ .code = -ENOMEM, .msg = "out of memory" });
}

static void on_metrics(void *arg, const char *text, size_t len,
		       const struct err *err)
{
	metrics_reply(arg, !err, err ? "" : text, err ? 0 : len);
}

void api_metrics(void *ctx, struct http_req *req)
{
	const struct slice none = { 0 };
	struct acd *acd = ctx;
	struct gate_request *g = request_new(acd, req);

	if (g && gate_call(gate_client(acd->gate), ADMIN_METRICS, none, none,
			   on_metrics, g) < 0)
		metrics_reply(g, false, "", 0);
}

void api_policy_warn(const struct acd *acd, json_t *list)
{
	char why[256];
	SCOPED_STR text = NULL;

	if (!acd->gate || !gate_is_up(acd->gate) ||
	    !gate_policy_problem(acd->gate, why, sizeof(why)))
		return;
	text = str_printf("%s; the policy before holds: see `ac policy lint`, "
			  "then `ac policy reload`",
			  why);
	if (text)
		json_array_append_new(list, jsonx_text(text));
}
