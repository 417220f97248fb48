/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_policy.c - routes about what an instance may reach
 *
 * Of one that runs the gateway is asked, since what is bound there is what
 * holds. For one that does not run its policy is made as the next run would
 * make it, and the gateway's own program is asked about that (gate_job.h).
 */
#include <string.h>

#include "control/acd/api_instances.h"
#include "control/acd/api_text.h"
#include "control/acd/blueprint.h"
#include "control/acd/gate.h"
#include "control/acd/gate_job.h"
#include "control/acd/policy.h"
#include "control/shared/json.h"

#define TEXT_MAX (1u * 1024 * 1024)

/* A request about an instance, while somebody else is asked. */
struct policy_call {
	struct acd *acd;
	struct http_req *req; /* NULL: the client left */
	char *name;
	char *json; /* wishes to be stored */
	json_t *answer; /* of GET: what is known already */
};

static void call_free(struct policy_call *c)
{
	json_decref(c->answer);
	free(c->name);
	free(c->json);
	free(c);
}

static void call_abort(void *arg)
{
	struct policy_call *c = arg;

	c->req = NULL;
}

/* NULL: the request was answered. */
static struct policy_call *call_new(struct acd *acd, struct http_req *req,
				    const char *name)
{
	struct policy_call *c = calloc(1, sizeof(*c));
	struct err err = { 0 };

	if (c)
		c->name = strdup(name);
	if (!c || !c->name) {
		free(c);
		err_nomem(&err);
		http_reply_error(req, &err, NULL);
		return NULL;
	}
	c->acd = acd;
	c->req = req;
	http_on_abort(req, call_abort, c);
	return c;
}

static void call_fail(struct policy_call *c, const struct err *err)
{
	if (c->req)
		http_reply_error(c->req, err, NULL);
	call_free(c);
}

/* ---- asking ---- */

/* The instance's policy file in memory, with the wishes @json. */
static int text_of(struct acd *acd, struct instance *in, const char *json,
		   struct buf *out, struct err *err)
{
	struct blueprint bp = { 0 };
	int r = blueprint_load(instance_record(in)->blueprint, &bp, err);

	buf_init(out, TEXT_MAX);
	if (r == 0)
		r = policy_text(acd->policies, instance_record(in), json, &bp,
				out, err);
	blueprint_done(&bp);
	return r;
}

/* Runs `ottergate @verb @word` on the policy that @in would have. */
static int ask_program(struct policy_call *c, struct instance *in,
		       const char *json, const char *verb, const char *word,
		       gate_job_fn fn, struct err *err)
{
	const char *const argv[] = {
		verb,
		"--policy",
		GATE_DIR_PRESETS,
		"--policy",
		GATE_DIR_POLICY,
		"--agents",
		gate_job_dir,
		"--as",
		c->name,
		"--json",
		"--",
		word,
		NULL,
	};
	SCOPED_STR file = str_printf("%s.yaml", c->name);
	struct gate_job_spec spec = { .argv = argv,
				      .file = file,
				      .shown = "the policy" };
	struct buf text;
	int r = text_of(c->acd, in, json, &text, err);

	if (r == 0 && !file)
		r = err_nomem(err);
	if (r == 0)
		r = gate_files_copy(err);
	spec.text = buf_slice(&text);
	if (r == 0)
		r = gate_job_run(c->acd->loop, c->acd->children, &spec, fn, c,
				 err);
	buf_done(&text);
	return r;
}

static bool is_running(const struct instance *in)
{
	return instance_record(in)->state == INSTANCE_RUNNING;
}

/* The first line of what a program complained of. */
static void complaint(struct err *err, const char *text)
{
	size_t len = strcspn(text, "\n");

	if (str_starts(text, "error ottergate "))
		err_set(err, -EINVAL, "%.*s", (int)(len - 16), text + 16);
	else
		err_set(err, -EINVAL, "%.*s", (int)len, text);
}

/* ---- GET …/policy ---- */

static void show_reply(struct policy_call *c, const char *text, size_t len)
{
	json_t *rules = json_loadb(text, len, 0, NULL);

	json_object_set_new(c->answer, "rules", rules ? rules : json_null());
	if (c->req)
		http_reply_json(c->req, 200, json_incref(c->answer));
	call_free(c);
}

static void on_shown(void *arg, const char *text, size_t len,
		     const struct err *err)
{
	if (err)
		call_fail(arg, err);
	else
		show_reply(arg, text, len);
}

static void on_show_job(void *arg, int code, const char *out,
			const char *err_out, const struct err *err)
{
	struct err failed = { 0 };

	if (err)
		failed = *err;
	else if (code != 0)
		complaint(&failed, err_out);
	if (failed.code < 0)
		call_fail(arg, &failed);
	else
		show_reply(arg, out, strlen(out));
}

/* {"name", "bound", "egress", "effective", "yaml"} */
static json_t *show_known(struct acd *acd, struct instance *in, struct err *err)
{
	const struct instance_record *rec = instance_record(in);
	struct blueprint bp = { 0 };
	struct egress own = { 0 };
	json_t *all = NULL, *effective;
	struct buf text;
	struct slice s;

	if (blueprint_load(rec->blueprint, &bp, err) < 0)
		return NULL;
	buf_init(&text, TEXT_MAX);
	effective = policy_effective(acd->policies, rec->egress_json, &bp, err);
	if (effective && egress_load(rec->egress_json, &own, err) == 0 &&
	    policy_text(acd->policies, rec, rec->egress_json, &bp, &text,
			err) == 0) {
		s = buf_slice(&text);
		all = json_pack("{s:o, s:b, s:o, s:O, s:s#}", "name",
				jsonx_text(rec->name), "bound", is_running(in),
				"egress", egress_json(&own), "effective",
				effective, "yaml", s.ptr, s.len);
		if (!all)
			err_nomem(err);
	}
	json_decref(effective);
	egress_done(&own);
	buf_done(&text);
	blueprint_done(&bp);
	return all;
}

void api_policy_get(void *ctx, struct http_req *req)
{
	struct acd *acd = ctx;
	struct instance *in = api_instance_of(acd, req);
	const struct slice none = { 0 };
	struct policy_call *c;
	struct err err = { 0 };
	int r;

	c = in ? call_new(acd, req, instance_record(in)->name) : NULL;
	if (!c)
		return;
	c->answer = show_known(acd, in, &err);
	if (!c->answer) {
		call_fail(c, &err);
		return;
	}
	if (is_running(in))
		r = gate_call(gate_client(acd->gate), ADMIN_SHOW,
			      slice_str(c->name), none, on_shown, c);
	else
		r = ask_program(c, in, instance_record(in)->egress_json, "show",
				c->name, on_show_job, &err);
	if (r < 0 && err.code == 0)
		err_set(&err, r, "the gateway: %s", err_text(r));
	if (r < 0)
		call_fail(c, &err);
}

/* ---- GET …/policy/check ---- */

static void check_reply(struct policy_call *c, const char *text, size_t len)
{
	json_t *v = json_loadb(text, len, 0, NULL);
	struct err err = { 0 };

	if (!v) {
		err_set(&err, -EPROTO, "the gateway gave no verdict");
		call_fail(c, &err);
		return;
	}
	if (c->req)
		http_reply_json(c->req, 200, v);
	else
		json_decref(v);
	call_free(c);
}

static void on_checked(void *arg, const char *text, size_t len,
		       const struct err *err)
{
	if (err)
		call_fail(arg, err);
	else
		check_reply(arg, text, len);
}

static void on_check_job(void *arg, int code, const char *out,
			 const char *err_out, const struct err *err)
{
	struct err failed = { 0 };

	if (err)
		failed = *err;
	else if (code != 0 && code != 3) /* 3: denied */
		complaint(&failed, err_out);
	if (failed.code < 0)
		call_fail(arg, &failed);
	else
		check_reply(arg, out, strlen(out));
}

void api_policy_check(void *ctx, struct http_req *req)
{
	struct acd *acd = ctx;
	struct instance *in = api_instance_of(acd, req);
	const char *url = http_query(req, "url");
	struct policy_call *c;
	struct err err = { 0 };
	int r;

	if (!in)
		return;
	if (!url || !*url) {
		err_set(&err, -EINVAL, "'url' is missing");
		http_reply_error(req, &err, NULL);
		return;
	}
	c = call_new(acd, req, instance_record(in)->name);
	if (!c)
		return;
	if (is_running(in))
		r = gate_call(gate_client(acd->gate), ADMIN_CHECK,
			      slice_str(c->name), slice_str(url), on_checked,
			      c);
	else
		r = ask_program(c, in, instance_record(in)->egress_json,
				"check", url, on_check_job, &err);
	if (r < 0 && err.code == 0)
		err_set(&err, r, "the gateway: %s", err_text(r));
	if (r < 0)
		call_fail(c, &err);
}

/* ---- POST …/policy ---- */

static void on_stored(void *arg, const struct err *err)
{
	struct policy_call *c = arg;
	struct instance *in = instance_find(c->acd->instances, c->name);

	if (err) {
		call_fail(c, err);
		return;
	}
	if (c->req && in)
		http_reply_json(c->req, 200, instance_json(in));
	call_free(c);
}

static void store_now(struct policy_call *c)
{
	struct instance *in = instance_find(c->acd->instances, c->name);
	struct err err = { 0 };
	int r = in ? instance_set_wishes(in, c->json, on_stored, c, &err) :
		     err_set(&err, -ENOENT, "there is no instance '%s'",
			     c->name);

	if (r < 0)
		call_fail(c, &err);
}

/* The gateway's program has nothing against it. */
static void on_judged(void *arg, int code, const char *out, const char *err_out,
		      const struct err *err)
{
	struct policy_call *c = arg;
	struct err failed = { 0 };

	(void)out;
	if (err)
		failed = *err;
	else if (code != 0)
		complaint(&failed, err_out);
	if (failed.code < 0)
		call_fail(c, &failed);
	else
		store_now(c);
}

void api_policy_set(void *ctx, struct http_req *req)
{
	static const char *const keys[] = { "egress", "egress_reset", "allow",
					    "deny", NULL };
	struct acd *acd = ctx;
	struct instance *in = api_instance_of(acd, req);
	struct policy_call *c;
	struct err err = { 0 };
	int r;

	c = in ? call_new(acd, req, instance_record(in)->name) : NULL;
	if (!c)
		return;
	r = jsonx_known(http_body(req), keys, &err);
	if (r == 0)
		r = api_egress_apply(http_body(req),
				     instance_record(in)->egress_json, &c->json,
				     &err);
	/* One that runs has the gateway itself as its judge. */
	if (r == 0 && is_running(in)) {
		store_now(c);
		return;
	}
	if (r == 0)
		r = ask_program(c, in, c->json, "show", c->name, on_judged,
				&err);
	if (r < 0)
		call_fail(c, &err);
}

/* ---- GET …/policy/learn ---- */

static void on_learned(void *arg, int code, const char *out,
		       const char *err_out, const struct err *err)
{
	struct policy_call *c = arg;
	struct err failed = { 0 };

	if (err)
		failed = *err;
	else if (code != 0)
		complaint(&failed, err_out);
	if (failed.code < 0) {
		call_fail(c, &failed);
		return;
	}
	if (c->req)
		api_reply_text(c->req, "application/yaml", out, strlen(out));
	call_free(c);
}

void api_policy_learn(void *ctx, struct http_req *req)
{
	struct acd *acd = ctx;
	struct instance *in = api_instance_of(acd, req);
	struct policy_call *c;
	struct err err = { 0 };

	c = in ? call_new(acd, req, instance_record(in)->name) : NULL;
	if (!c)
		return;
	if (gate_job_run(
		    acd->loop, acd->children,
		    &(struct gate_job_spec){
			    .argv = (const char *const[]){ "observe", "--agent",
							   c->name, "--",
							   AC_GATE
							   "/audit/audit.jsonl",
							   NULL },
		    },
		    on_learned, c, &err) < 0)
		call_fail(c, &err);
}
