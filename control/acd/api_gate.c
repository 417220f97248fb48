/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_gate.c - routes about the gateway: presets, reload, linter, metrics
 */
#include <string.h>

#include "control/acd/acd.h"
#include "control/acd/api.h"
#include "control/acd/api_text.h"
#include "control/acd/gate.h"
#include "control/acd/gate_job.h"
#include "control/acd/instance.h"
#include "control/acd/presets.h"
#include "control/shared/json.h"

#define NAME_SHOWN_MAX 512u

struct gate_request {
	struct acd *acd;
	struct http_req *req; /* NULL: the client left */
};

static void request_abort(void *arg)
{
	struct gate_request *g = arg;

	g->req = NULL;
}

/* NULL: the request was answered. */
static struct gate_request *request_new(struct acd *acd, struct http_req *req)
{
	struct gate_request *g = calloc(1, sizeof(*g));
	struct err err = { 0 };

	if (!g) {
		err_nomem(&err);
		http_reply_error(req, &err, NULL);
		return NULL;
	}
	*g = (struct gate_request){ acd, req };
	http_on_abort(req, request_abort, g);
	return g;
}

static void request_fail(struct gate_request *g, const struct err *err)
{
	if (g->req)
		http_reply_error(g->req, err, NULL);
	free(g);
}

/* ---- presets ---- */

void api_policy_presets(void *ctx, struct http_req *req)
{
	json_t *list = json_array();
	struct err err = { 0 };

	(void)ctx;
	if (list && presets_list(GATE_PRESETS, "ac", list) == 0 &&
	    presets_list(AC_STATE_POLICY, "you", list) == 0) {
		http_reply_json(req, 200, json_pack("{s:o}", "presets", list));
		return;
	}
	json_decref(list);
	err_nomem(&err);
	http_reply_error(req, &err, NULL);
}

/* ---- reload ---- */

/* What the gateway says of a load, under the names of this API. */
static json_t *reload_answer(const char *text, size_t len)
{
	SCOPED_JSON v = json_loadb(text, len, 0, NULL);
	json_t *items = json_object_get(v, "lint");

	if (!json_is_array(items))
		return NULL;
	return json_pack("{s:b, s:O}", "ok",
			 json_is_true(json_object_get(v, "ok")), "items",
			 items);
}

static void on_reloaded(void *arg, const char *text, size_t len,
			const struct err *err)
{
	struct gate_request *g = arg;
	json_t *v = NULL;
	struct err failed = { 0 };

	/* A policy that is refused is an answer, and its linter's. */
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
	if (g->req)
		http_reply_json(g->req, 200, v);
	else
		json_decref(v);
	free(g);
}

void api_policy_reload(void *ctx, struct http_req *req)
{
	static const char *const keys[] = { NULL };
	const struct slice none = { 0 };
	struct acd *acd = ctx;
	struct gate_request *g = request_new(acd, req);
	struct err err = { 0 };
	int r;

	if (!g)
		return;
	r = jsonx_known(http_body(req), keys, &err);
	if (r == 0)
		r = gate_files_copy(&err);
	if (r == 0 && gate_status(acd->gate).state != SUPERVISE_UP) {
		gate_retry(acd->gate);
		r = err_set(&err, -EAGAIN,
			    "the gateway was down and starts with these files "
			    "now; `ac status` tells how that goes");
	}
	if (r == 0) {
		r = gate_call(gate_client(acd->gate), ADMIN_RELOAD, none, none,
			      on_reloaded, g);
		if (r < 0)
			err_set(&err, r, "the gateway: %s", err_text(r));
	}
	if (r < 0)
		request_fail(g, &err);
}

/* ---- linter ---- */

/* A line of `ottergate --check`: "file:line:column: text [level: code]". */
static json_t *lint_item(const char *line, size_t len)
{
	static const char *const levels[] = { "error", "warning", "note" };
	const char *open = memrchr(line, '[', len);
	SCOPED_STR text = NULL;
	SCOPED_STR tag = NULL;

	if (!open || open == line || line[len - 1] != ']')
		return NULL;
	text = strndup(line, (size_t)(open - line - 1));
	tag = strndup(open + 1, len - (size_t)(open + 1 - line) - 1);
	for (size_t i = 0; text && tag && i < ARRAY_SIZE(levels); i++) {
		size_t skip = strlen(levels[i]);

		if (str_starts(tag, levels[i]) && str_starts(tag + skip, ": "))
			return json_pack("{s:s, s:o, s:o}", "level", levels[i],
					 "code", jsonx_text(tag + skip + 2),
					 "text", jsonx_text(text));
	}
	return NULL;
}

/* What the program printed, item by item; a fault of form has no code. */
static json_t *lint_items(const char *out, const char *err_out)
{
	static const char who[] = "error ottergate ";
	json_t *list = json_array();

	while (*out) {
		size_t len = strcspn(out, "\n");
		json_t *item = lint_item(out, len);

		if (item)
			json_array_append_new(list, item);
		out += len + (out[len] == '\n');
	}
	if (str_starts(err_out, who)) {
		SCOPED_STR text = strndup(err_out + strlen(who),
					  strcspn(err_out, "\n") - strlen(who));

		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:o}", "level",
						"error", "code", "form", "text",
						jsonx_text(text)));
	}
	return list;
}

static void on_linted(void *arg, int code, const char *out, const char *err_out,
		      const struct err *err)
{
	struct gate_request *g = arg;

	if (err) {
		request_fail(g, err);
		return;
	}
	if (g->req)
		http_reply_json(g->req, 200,
				json_pack("{s:b, s:o}", "ok", code == 0,
					  "items", lint_items(out, err_out)));
	free(g);
}

/* The user's file in place of the one that is there, or what is there. */
static int lint_start(struct gate_request *g, const char *text,
		      const char *name, struct err *err)
{
	const char *const argv[] = { "--check", GATE_DIR_PRESETS,
				     text ? gate_job_file : GATE_DIR_POLICY,
				     NULL };
	const struct gate_job_spec spec = {
		.argv = argv,
		.file = text ? "policy.yaml" : NULL,
		.text = slice_str(text ? text : ""),
		.shown = name,
	};
	int r = gate_files_copy(err);

	return r < 0 ? r :
		       gate_job_run(g->acd->loop, g->acd->children, &spec,
				    on_linted, g, err);
}

void api_policy_lint(void *ctx, struct http_req *req)
{
	static const char *const keys[] = { "text", "name", NULL };
	struct gate_request *g = request_new(ctx, req);
	const char *text = NULL, *name = NULL;
	json_t *body = http_body(req);
	struct err err = { 0 };
	int r;

	if (!g)
		return;
	r = jsonx_known(body, keys, &err);
	if (r == 0)
		r = jsonx_str(body, "text", NULL, &text, &err);
	if (r == 0)
		r = jsonx_str(body, "name", NULL, &name, &err);
	if (r == 0 && name && strlen(name) > NAME_SHOWN_MAX)
		name = NULL;
	if (r == 0)
		r = lint_start(g, text, name, &err);
	if (r < 0)
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
