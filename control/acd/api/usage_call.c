/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage_call.c - GET /v1/usage: how much instances have used models
 *
 * The gateway's own program adds it up from the audit, which can be long.
 */
#include <inttypes.h>

#include "control/acd/acd.h"
#include "control/acd/api/api.h"
#include "control/acd/egress/gate.h"
#include "control/acd/egress/gate_job.h"
#include "control/acd/instance/instance.h"
#include "control/shared/json.h"
#include "control/shared/names.h"

struct usage_call {
	struct http_req *req; /* NULL: the client left */
	bool unknown; /* there is no such instance now */
	char name[AC_NAME_MAX + 1]; /* "": of all */
};

static void call_abort(void *arg)
{
	struct usage_call *c = arg;

	c->req = NULL;
}

/* An instance that is gone is known while the audit has lines of it. */
static int check_known(const struct usage_call *c, const json_t *v,
		       struct err *err)
{
	if (!c->unknown || json_array_size(json_object_get(v, "usage")))
		return 0;
	return err_set(err, -ENOENT,
		       "there is no instance '%s'; 'ac list' shows them",
		       c->name);
}

static void on_added(void *arg, int code, const char *out, const char *err_out,
		     const struct err *err)
{
	struct usage_call *c = arg;
	json_t *v = !err && code == 0 ? json_loads(out, 0, NULL) : NULL;
	struct err failed = { 0 };

	if (err)
		failed = *err;
	else if (!v)
		err_set(&failed, -EIO, "the audit: %.200s", err_out);
	else
		check_known(c, v, &failed);
	if (c->req && failed.code == 0)
		http_reply_json(c->req, 200, json_incref(v));
	else if (c->req)
		http_reply_error(c->req, &failed, NULL);
	json_decref(v);
	free(c);
}

static void ask(struct acd *acd, struct http_req *req, const char *name,
		uint64_t since)
{
	struct usage_call *c = calloc(1, sizeof(*c));
	char text[24];
	const char *const one[] = { "usage",
				    "--since",
				    text,
				    "--agent",
				    name,
				    "--",
				    AC_GATE "/audit/audit.jsonl",
				    NULL };
	const char *const all[] = {
		"usage", "--since", text, "--", AC_GATE "/audit/audit.jsonl",
		NULL
	};
	const struct gate_job_spec spec = { .argv = name ? one : all };
	struct err err = { 0 };
	int rc;

	snprintf(text, sizeof(text), "%" PRIu64, since);
	if (c) {
		c->req = req;
		c->unknown = name && !instance_find(acd->instances, name);
		snprintf(c->name, sizeof(c->name), "%s", name ? name : "");
	}
	rc = c ? gate_job_run(acd->loop, acd->children, &spec, on_added, c,
			      &err) :
		 err_nomem(&err);
	if (rc == 0) {
		http_on_abort(req, call_abort, c);
		return;
	}
	free(c);
	http_reply_error(req, &err, NULL);
}

void api_usage(void *ctx, struct http_req *req)
{
	const char *name = http_query(req, "name");
	struct err err = { 0 };

	if (name && name_check_instance(name, &err) < 0)
		http_reply_error(req, &err, NULL);
	else
		ask(ctx, req, name, http_query_u64(req, "since", 0));
}
