/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_check_call.c - GET …/policy/check: judges one URL
 *
 * The name is judged as in api/policy_calls.c: by the gateway if the instance
 * runs, else by the gateway's program. The gateway resolves no name for a
 * check. So for a running instance the program judges the addresses of a name
 * that the gateway allows.
 */
#include <string.h>

#include "control/acd/api/instance_calls.h"
#include "control/acd/api/policy_calls.h"
#include "control/acd/blueprint/blueprint.h"
#include "control/acd/instance/policy.h"
#include "control/acd/instance/project_use.h"
#include "control/shared/json.h"

/* Returns true if the rule of the verdict @v belongs to a credential that the
 * vault does not give any more. */
static bool is_of_lacking(const struct policy_call *c, const json_t *v)
{
	const struct instance *in = instance_find(c->acd->instances, c->name);
	const char *rule = json_string_value(json_object_get(v, "rule"));
	struct blueprint bp = { 0 };
	bool lacks = rule && in &&
		     instance_blueprint(instance_record(in), &bp, NULL) == 0 &&
		     policy_lacks_rule(c->acd->policies, instance_record(in),
				       &bp, rule);

	blueprint_done(&bp);
	return lacks;
}

/* The gateway does not know what the vault lacks: sets c->warning. */
static void bound_lacks(struct policy_call *c, struct instance *in)
{
	struct err ignored = { 0 };
	struct buf text;

	c->bound = true;
	policy_call_text(c, in, instance_record(in)->egress_json, &text,
			 &ignored);
	buf_done(&text);
}

static void check_reply(struct policy_call *c, const char *text, size_t len);

static const struct policy_question check = { .verb = ADMIN_CHECK,
					      .word = "check",
					      .also = 3, /* denied */
					      .reply = check_reply };

static void check_end(struct policy_call *c)
{
	if (c->req)
		http_reply_json(c->req, 200, json_incref(c->answer));
	policy_call_free(c);
}

/* Ends with the gateway's verdict on the name, and says that the addresses were
 * not judged, because of @why. */
static void places_unknown(struct policy_call *c, const char *why)
{
	SCOPED_STR warning =
		str_printf("the addresses could not be judged: %s", why);
	struct err err = { 0 };

	if (warning &&
	    json_object_set_new(c->answer, "lookup",
				json_string("not-judged")) == 0 &&
	    policy_warning_add(c->answer, warning) == 0) {
		check_end(c);
		return;
	}
	err_nomem(&err);
	policy_call_fail(c, &err);
}

/* Puts the program's verdict on the addresses into the answer. */
static void on_places(void *arg, int code, const char *out, const char *err_out,
		      const struct err *err)
{
	static const char *const keys[] = { "allow", "reason", "text",
					    "addresses", "lookup" };
	struct policy_call *c = arg;
	SCOPED_JSON v = err ? NULL : json_loads(out, 0, NULL);
	struct err failed = { 0 };

	(void)err_out;
	if (err)
		failed = *err;
	else if (code != 0 && code != check.also)
		policy_call_complaint(c, code, out, &failed);
	else if (!v)
		err_set(&failed, -EPROTO, "the program gave no verdict");
	else if (!json_is_array(json_object_get(v, "addresses")))
		err_set(&failed, -EPROTO,
			"the policy files have changed since they were loaded, "
			"and deny the name");
	if (failed.code < 0) {
		places_unknown(c, failed.msg);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		json_object_set(c->answer, keys[i],
				json_object_get(v, keys[i]));
	check_end(c);
}

static void places_ask(struct policy_call *c)
{
	struct instance *in = instance_find(c->acd->instances, c->name);
	struct err err = { 0 };
	int rc = in ? policy_call_program(c, in, &check, c->url, on_places,
					  &err) :
		      err_set(&err, -ENOENT, "there is no instance '%s'",
			      c->name);

	if (rc < 0)
		places_unknown(c, err.msg);
}

static void check_reply(struct policy_call *c, const char *text, size_t len)
{
	json_t *v = json_loadb(text, len, 0, NULL);
	struct err err = { 0 };

	if (!v) {
		err_set(&err, -EPROTO, "the gateway gave no verdict");
		policy_call_fail(c, &err);
		return;
	}
	if (!c->bound || is_of_lacking(c, v))
		policy_warning_add(v, c->warning);
	c->answer = v;
	/* The gateway has judged the name; its program resolves it. */
	if (c->bound && json_is_true(json_object_get(v, "allow")))
		places_ask(c);
	else
		check_end(c);
}

void api_policy_check(void *ctx, struct http_req *req)
{
	const char *url = http_query(req, "url");
	struct instance *in;
	struct policy_call *c = policy_call_new(ctx, req, &in);
	struct err err = { 0 };

	if (!c)
		return;
	if (url && *url) {
		c->url = strdup(url);
		if (!c->url) {
			err_nomem(&err);
			policy_call_fail(c, &err);
			return;
		}
		if (instance_is_up(in))
			bound_lacks(c, in);
		policy_call_ask(c, in, &check, url);
		return;
	}
	err_set(&err, -EINVAL, "'url' is missing");
	c->url_bad = true;
	policy_call_fail(c, &err);
}
