/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_calls.c - routes for the policy of an instance
 *
 * For a running instance the gateway is asked, which has the policy that is in
 * effect. For another one, its policy is made as for its next run, and the
 * gateway's own program is asked about that (gate_job.h).
 */
#include "control/acd/api/policy_calls.h"

#include <string.h>

#include "control/acd/api/instance_calls.h"
#include "control/acd/api/http/text.h"
#include "control/acd/blueprint/blueprint.h"
#include "control/acd/egress/gate.h"
#include "control/acd/egress/gate_job.h"
#include "control/acd/instance/grant/grants.h"
#include "control/acd/egress/lint_items.h"
#include "control/acd/instance/policy.h"
#include "control/acd/instance/project_use.h"
#include "control/shared/json.h"

#define TEXT_MAX (1u * 1024 * 1024)
#define SHOWN "the policy" /* its name in the program's messages */

void policy_call_free(struct policy_call *c)
{
	json_decref(c->answer);
	json_decref(c->body);
	json_decref(c->items);
	free(c->warning);
	free(c->name);
	free(c->url);
	free(c->json);
	free(c);
}

static void call_abort(void *arg)
{
	struct policy_call *c = arg;

	c->req = NULL;
}

struct policy_call *policy_call_new(struct acd *acd, struct http_req *req,
				    struct instance **ret_in)
{
	struct instance *in = api_instance_of(acd, req);
	struct policy_call *c = in ? calloc(1, sizeof(*c)) : NULL;
	struct err err = { 0 };

	if (!in)
		return NULL;
	if (c)
		c->name = strdup(instance_record(in)->name);
	if (!c || !c->name) {
		free(c);
		err_nomem(&err);
		http_reply_error(req, &err, NULL);
		return NULL;
	}
	c->acd = acd;
	c->req = req;
	http_on_abort(req, call_abort, c);
	*ret_in = in;
	return c;
}

void policy_call_fail(struct policy_call *c, const struct err *err)
{
	if (c->req)
		http_reply_error(c->req, err, c->url_bad ? "bad_url" : NULL);
	policy_call_free(c);
}

static bool gate_answers(const struct policy_call *c)
{
	return gate_status(c->acd->gate).state == SUPERVISE_UP;
}

/* A call of the gateway has failed: if the gateway is down, says why. */
static void call_fail_gate(struct policy_call *c, const struct err *err)
{
	struct err down = { 0 };

	if (gate_answers(c)) {
		c->url_bad = c->url && err->code == -EINVAL;
		policy_call_fail(c, err);
		return;
	}
	gate_down(c->acd->gate, &down);
	if (c->body)
		err_wrap(&down, "nothing was changed");
	if (c->req)
		http_reply_error(c->req, &down, "gateway_down");
	policy_call_free(c);
}

/* ---- asking ---- */

/* Returns a warning if the vault does not give its credentials, NULL if it does
 * or without memory; the caller frees it. The rules of a run stay as they were
 * bound, also when the vault is locked; but what is gone from the vault is gone
 * from the gateway (grants_each()). */
static char *lacks_text(const struct err *lacks, bool bound)
{
	if (lacks->code == 0 || (bound && !grants_is_gone(lacks->code)))
		return NULL;
	return bound ? str_printf("the gateway denies what shows a surrogate "
				  "that is gone: %s",
				  lacks->msg) :
		       str_printf("what its credentials open is not in this: "
				  "%s",
				  lacks->msg);
}

int policy_warning_add(json_t *answer, const char *warning)
{
	json_t *list = json_object_get(answer, "warnings");
	int rc = 0;

	if (!warning)
		return 0;
	if (!list) {
		list = json_array();
		rc = json_object_set_new(answer, "warnings", list);
	}
	if (rc == 0)
		rc = json_array_append_new(list, jsonx_text(warning));
	return rc < 0 ? -ENOMEM : 0;
}

int policy_call_text(struct policy_call *c, struct instance *in,
		     const char *json, struct buf *out, struct err *err)
{
	struct err lacks = { 0 };
	struct blueprint bp = { 0 };
	int rc = instance_blueprint(instance_record(in), &bp, err);

	buf_init(out, TEXT_MAX);
	if (rc == 0)
		rc = policy_text(c->acd->policies, instance_record(in), json,
				 &bp, out, &lacks, err);
	blueprint_done(&bp);
	free(c->warning);
	c->warning = lacks_text(&lacks, instance_is_up(in));
	return rc;
}

/* Runs a command of the gateway's program on the policy that @in would have
 * with the options @json. */
static int program_run(struct policy_call *c, struct instance *in,
		       const char *json, const char *const *argv,
		       gate_job_fn fn, struct err *err)
{
	SCOPED_STR file = str_printf("%s.yaml", c->name);
	struct gate_job_spec spec = { .argv = argv,
				      .file = file,
				      .shown = SHOWN };
	struct buf text;
	int rc = policy_call_text(c, in, json, &text, err);

	if (rc == 0) {
		spec.text = buf_slice(&text);
		if (!file)
			rc = err_nomem(err);
	}
	if (rc == 0)
		rc = gate_files_copy(err);
	if (rc == 0)
		rc = gate_job_run(c->acd->loop, c->acd->children, &spec, fn, c,
				  err);
	buf_done(&text);
	return rc;
}

/* Puts @item into @err: in the user's terms if it is about this policy, with
 * what to do if it is about the shared files. */
static void complain(struct policy_call *c, const json_t *item, struct err *err)
{
	const char *file = jsonx_text_at(item, "file");
	char words[sizeof(err->msg)];

	lint_explain(item, SHOWN, c->name, words, sizeof(words));
	if (str_starts(file, GATE_DIR_POLICY "/"))
		err_set(err, -EINVAL,
			"%s%s%.120s; mend it and run `ac policy reload`",
			gate_answers(c) ? "" : "the gateway is down: ",
			c->body ? "nothing was changed: " : "", words);
	else
		err_set(err, -EINVAL, "%s", words);
	c->no_preset = lint_is_of(item, SHOWN) &&
		       strcmp(jsonx_text_at(item, "code"), LINT_NO_PRESET) == 0;
}

#define PROGRAM_USAGE 2 /* ottergate(8) */

/* The program has ended without an error in its output. */
static void complain_of_end(int code, struct err *err)
{
	err_set(err, -EPROTO, "the gateway's program ended with %d", code);
}

void policy_call_complaint(struct policy_call *c, int code, const char *out,
			   struct err *err)
{
	SCOPED_JSON items = lint_items(out, strlen(out));
	const json_t *item = lint_error(items);

	if (!item) {
		complain_of_end(code, err);
		return;
	}
	complain(c, item, err);
	c->url_bad = c->url && code == PROGRAM_USAGE;
}

/* ---- the answers ---- */

static void on_gate(void *arg, const char *text, size_t len,
		    const struct err *err)
{
	struct policy_call *c = arg;

	if (err)
		call_fail_gate(c, err);
	else
		c->question->reply(c, text, len);
}

static void on_program(void *arg, int code, const char *out,
		       const char *err_out, const struct err *err)
{
	struct policy_call *c = arg;
	struct err failed = { 0 };

	(void)err_out;
	if (err)
		failed = *err;
	else if (code != 0 && code != c->question->also)
		policy_call_complaint(c, code, out, &failed);
	/* If only a preset does not exist any more, the rest is shown. */
	if (c->answer && c->no_preset) {
		json_object_set_new(c->answer, "problem",
				    jsonx_text(failed.msg));
		c->question->reply(c, "", 0);
	} else if (failed.code < 0) {
		policy_call_fail(c, &failed);
	} else {
		c->question->reply(c, out, strlen(out));
	}
}

int policy_call_program(struct policy_call *c, struct instance *in,
			const struct policy_question *q, const char *word,
			gate_job_fn fn, struct err *err)
{
	const char *const argv[] = {
		q->word,
		"--policy",
		GATE_DIR_PRESETS,
		"--policy",
		GATE_DIR_POLICY,
		"--agents",
		gate_job_dir,
		"--as",
		c->name,
		"--json",
		"--own",
		GATE_OWN,
		"--resolve", /* of a check */
		"--",
		*word ? word : c->name,
		NULL,
	};

	return program_run(c, in, instance_record(in)->egress_json, argv, fn,
			   err);
}

void policy_call_ask(struct policy_call *c, struct instance *in,
		     const struct policy_question *q, const char *word)
{
	struct err err = { 0 };
	int rc;

	c->question = q;
	if (instance_is_up(in))
		rc = gate_call(gate_client(c->acd->gate), q->verb,
			       slice_str(c->name), slice_str(word), on_gate, c);
	else
		rc = policy_call_program(c, in, q, word, on_program, &err);
	if (rc < 0 && err.code == 0) {
		err_set(&err, rc, "the gateway: %s", err_text(rc));
		call_fail_gate(c, &err);
	} else if (rc < 0) {
		policy_call_fail(c, &err);
	}
}

/* ---- GET …/policy ---- */

static void show_reply(struct policy_call *c, const char *text, size_t len)
{
	json_t *rules = json_loadb(text, len, 0, NULL);

	json_object_set_new(c->answer, "rules", rules ? rules : json_null());
	if (c->req)
		http_reply_json(c->req, 200, json_incref(c->answer));
	policy_call_free(c);
}

/* {"name", "bound", "egress", "effective", "yaml"} */
static json_t *show_known(struct acd *acd, struct instance *in, struct err *err)
{
	struct err lacks = { 0 };
	const struct instance_record *rec = instance_record(in);
	struct blueprint bp = { 0 };
	struct egress own = { 0 };
	json_t *all = NULL, *effective;
	struct buf text;
	struct slice s;

	if (instance_blueprint(rec, &bp, err) < 0)
		return NULL;
	buf_init(&text, TEXT_MAX);
	effective = policy_effective(acd->policies, rec->egress_json, &bp, err);
	if (effective && egress_load(rec->egress_json, &own, err) == 0 &&
	    policy_text(acd->policies, rec, rec->egress_json, &bp, &text,
			&lacks, err) == 0) {
		SCOPED_STR warning = lacks_text(&lacks, instance_is_up(in));

		s = buf_slice(&text);
		all = json_pack("{s:o, s:b, s:o, s:O, s:s#}", "name",
				jsonx_text(rec->name), "bound",
				instance_is_up(in), "egress", egress_json(&own),
				"effective", effective, "yaml", s.ptr, s.len);
		if (all)
			policy_warning_add(all, warning);
		else
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
	static const struct policy_question show = { .verb = ADMIN_SHOW,
						     .word = "show",
						     .reply = show_reply };
	struct instance *in;
	struct policy_call *c = policy_call_new(ctx, req, &in);
	struct err err = { 0 };

	if (!c)
		return;
	c->answer = show_known(c->acd, in, &err);
	if (c->answer)
		policy_call_ask(c, in, &show, "");
	else
		policy_call_fail(c, &err);
}

/* ---- POST …/policy ---- */

static void on_stored(void *arg, const struct err *err)
{
	struct policy_call *c = arg;
	struct instance *in = instance_find(c->acd->instances, c->name);
	json_t *v;

	if (err) {
		call_fail_gate(c, err);
		return;
	}
	if (c->req && in) {
		v = instance_json(in);
		json_object_set_new(v, "items",
				    c->items ? json_incref(c->items) :
					       json_array());
		http_reply_json(c->req, 200, v);
	}
	policy_call_free(c);
}

static void store_now(struct policy_call *c)
{
	struct instance *in = instance_find(c->acd->instances, c->name);
	struct err err = { 0 };
	int rc = in ? instance_set_egress(in, c->json, on_stored, c, &err) :
		      err_set(&err, -ENOENT, "there is no instance '%s'",
			      c->name);

	if (rc < 0)
		policy_call_fail(c, &err);
}

/* Ends with what the gateway's program has found. For a running instance the
 * gateway itself decides: a fault in the user's shared file does not matter to
 * it. */
static void on_judged(void *arg, int code, const char *out, const char *err_out,
		      const struct err *err)
{
	struct policy_call *c = arg;
	struct instance *in = instance_find(c->acd->instances, c->name);
	SCOPED_JSON items = lint_items(out, strlen(out));
	const json_t *why = lint_error(items);
	struct err failed = { 0 };

	(void)err_out;
	if (err)
		failed = *err;
	else if (code != 0 && !why)
		complain_of_end(code, &failed);
	else if (code != 0 &&
		 (!in || !instance_is_up(in) || lint_is_of(why, SHOWN)))
		complain(c, why, &failed);
	if (failed.code < 0) {
		policy_call_fail(c, &failed);
		return;
	}
	c->items = lint_items_about(items, SHOWN, c->name, c->body);
	store_now(c);
}

void api_policy_set(void *ctx, struct http_req *req)
{
	static const char *const argv[] = { "--check",        "--json",
					    GATE_DIR_PRESETS, GATE_DIR_POLICY,
					    gate_job_file,    NULL };
	struct instance *in;
	struct policy_call *c = policy_call_new(ctx, req, &in);
	struct err err = { 0 };
	int rc;

	if (!c)
		return;
	c->body = json_incref(http_body(req));
	rc = api_egress_apply(c->body, instance_record(in)->egress_json,
			      &c->json, &err);
	if (rc == 0 && instance_is_up(in) && !gate_answers(c)) {
		call_fail_gate(c, &err);
		return;
	}
	if (rc == 0)
		rc = program_run(c, in, c->json, argv, on_judged, &err);
	if (rc < 0)
		policy_call_fail(c, &err);
}

/* ---- GET …/policy/learn ---- */

static void learn_reply(struct policy_call *c, const char *text, size_t len)
{
	if (c->req)
		api_reply_text(c->req, "application/yaml", text, len);
	policy_call_free(c);
}

void api_policy_learn(void *ctx, struct http_req *req)
{
	static const struct policy_question learn = { .word = "observe",
						      .reply = learn_reply };
	struct instance *in;
	struct policy_call *c = policy_call_new(ctx, req, &in);
	const char *const argv[] = { learn.word,
				     "--agent",
				     c ? c->name : NULL,
				     "--",
				     AC_GATE "/audit/audit.jsonl",
				     NULL };
	const struct gate_job_spec spec = { .argv = argv };
	struct err err = { 0 };

	if (!c)
		return;
	c->question = &learn;
	if (gate_job_run(c->acd->loop, c->acd->children, &spec, on_program, c,
			 &err) < 0)
		policy_call_fail(c, &err);
}
