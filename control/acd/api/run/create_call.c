/* SPDX-License-Identifier: Apache-2.0 */
/*
 * create_call.c - POST /v1/instances: a new instance, or new options for one
 *
 * The options of the request are put into a new record or into the existing one
 * (options.h). If the instance may not be run now, its record stays unchanged.
 * An instance that is being removed is waited for. A run with options is
 * another call (as_call.c).
 */
#include "control/acd/api/access/access.h"
#include "control/acd/api/instance_calls.h"
#include "control/acd/api/run/options.h"

#include <string.h>

#include "control/shared/json.h"
#include "control/shared/names.h"

struct create_call {
	struct acd *acd;
	struct http_req *req; /* NULL: the client left */
};

static void reply_instance(struct create_call *c, int status,
			   struct instance *in)
{
	json_t *j = instance_json(in), *said;

	said = api_options_warnings(c->acd, http_body(c->req),
				    instance_record(in));
	if (json_array_size(said) > 0)
		json_object_set(j, "warnings", said);
	json_decref(said);
	http_reply_json(c->req, status, j);
}

static void create_known(struct create_call *c, struct instance *in,
			 const char *blueprint)
{
	const struct instance_record *old = instance_record(in);
	struct instance_record r = { 0 }, def = { 0 };
	struct err err = { 0 }, busy = { 0 };
	int rc;

	if (strcmp(old->blueprint, blueprint) != 0) {
		err_set(&err, -EEXIST,
			"'%s' is bound to the blueprint '%s'; choose another "
			"name, or remove it with 'ac destroy %s'",
			old->name, old->blueprint, old->name);
		http_reply_error(c->req, &err, "name_collision");
		return;
	}
	rc = api_options_default(c->acd, old->name, blueprint, &def, &err);
	if (rc == 0)
		rc = access_may_set(c->req, http_body(c->req), old, &err);
	if (rc == 0 && instance_record_copy(&r, old) < 0)
		rc = err_nomem(&err);
	r.disk = instance_disk_wanted(in);
	if (rc == 0)
		rc = api_options_apply(c->acd, http_body(c->req), &def, &r,
				       &err);
	if (rc == 0 && instance_run_refusal(in, &busy) == 0)
		rc = instance_update(in, &r, &err);
	instance_record_done(&r);
	instance_record_done(&def);
	if (rc < 0)
		http_reply_error(c->req, &err,
				 rc == -ENOENT ? "unknown_blueprint" : NULL);
	else
		reply_instance(c, 200, in);
}

static void create_new(struct create_call *c, const char *name,
		       const char *blueprint)
{
	struct instance_record r = { 0 }, def = { 0 };
	struct instance *in = NULL;
	struct err err = { 0 };
	const char *code = NULL;
	int rc = api_options_default(c->acd, name, blueprint, &r, &err);

	if (rc == -ENOENT)
		code = "unknown_blueprint";
	if (rc == 0)
		rc = access_may_set(c->req, http_body(c->req), NULL, &err);
	if (rc == 0 && instance_record_copy(&def, &r) < 0)
		rc = err_nomem(&err);
	if (rc == 0)
		rc = api_options_apply(c->acd, http_body(c->req), &def, &r,
				       &err);
	if (rc == 0)
		rc = instance_create(c->acd->instances, &r, &in, &err);
	instance_record_done(&r);
	instance_record_done(&def);
	if (rc < 0)
		http_reply_error(c->req, &err, code);
	else
		reply_instance(c, 201, in);
}

static void create_go(struct create_call *c);

static void create_again(void *arg, const struct err *err)
{
	struct create_call *c = arg;

	if (!c->req)
		free(c);
	else if (!err)
		create_go(c);
	else {
		http_reply_error(c->req, err, NULL);
		free(c);
	}
}

static void create_abort(void *arg)
{
	struct create_call *c = arg;

	c->req = NULL;
}

/* Ends the call, or leaves it to create_again(). */
static void create_go(struct create_call *c)
{
	const char *name, *blueprint;
	struct err err = { 0 };
	struct instance *in;
	int rc;

	/* Checked by api_instance_create(). */
	name = json_string_value(json_object_get(http_body(c->req), "name"));
	blueprint = json_string_value(
		json_object_get(http_body(c->req), "blueprint"));
	in = instance_find(c->acd->instances, name);
	if (in && instance_is_leaving(in)) {
		http_on_abort(c->req, create_abort, c);
		rc = instance_stop(in, 0, create_again, c);
		if (rc == 0)
			return;
		err_set(&err, rc, "%s: %s", name, err_text(rc));
		http_reply_error(c->req, &err, NULL);
	} else if (in) {
		create_known(c, in, blueprint);
	} else {
		create_new(c, name, blueprint);
	}
	free(c);
}

void api_instance_create(void *ctx, struct http_req *req)
{
	const char *name = api_text(http_body(req), "name");
	const char *blueprint = api_text(http_body(req), "blueprint");
	struct create_call *c;
	struct err err = { 0 };
	int rc = name_check_instance(name ? name : "", &err);

	if (rc == 0)
		rc = name_check_blueprint(blueprint ? blueprint : "", &err);
	c = rc == 0 ? calloc(1, sizeof(*c)) : NULL;
	if (rc == 0 && !c)
		rc = err_nomem(&err);
	if (rc < 0 || !c) {
		http_reply_error(req, &err, NULL);
		return;
	}
	c->acd = ctx;
	c->req = req;
	create_go(c);
}
