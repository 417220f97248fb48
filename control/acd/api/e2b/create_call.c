/* SPDX-License-Identifier: Apache-2.0 */
/*
 * create_call.c - POST /sandboxes: an instance that runs until its timeout
 *
 * Its main process does nothing: what a client wants, it starts by commands. The
 * run is the transaction of `ac run` (instance/transaction.h); what that would ask
 * its user for is refused here, with the command that provides it.
 */
#include <string.h>

#include "control/acd/api/e2b/ask.h"
#include "control/acd/api/e2b/box_calls.h"
#include "control/acd/api/e2b/routes.h"
#include "control/acd/api/e2b/say.h"
#include "control/acd/api/e2b/snapshot_calls.h"
#include "control/acd/api/run/edge_may.h"
#include "control/acd/api/run/options.h"
#include "control/acd/blueprint/blueprint.h"
#include "control/acd/blueprint/build.h"
#include "control/acd/instance/policy.h"
#include "control/acd/instance/transaction.h"
#include "control/shared/json.h"

struct create_call {
	struct acd *acd;
	struct http_req *req; /* NULL: the client left */
	struct transaction *t; /* NULL: the run was not asked for yet */
	struct build_wait *wait; /* of the image; NULL: not waited for */
	bool looked; /* the image was waited for */
	json_t *body;
	struct ask_box ask; /* in it */
	struct e2b_box box; /* what it is to be; owns its text and object */
};

static void call_free(struct create_call *c)
{
	json_decref(c->body);
	json_decref(c->ask.options);
	free(c->box.template);
	json_decref(c->box.metadata);
	free(c);
}

static void refuse(struct http_req *req, const char *blueprint, struct err *err)
{
	const struct err why = *err;

	switch (why.code) {
	case INSTANCE_NO_IMAGE:
		err_set(err, -EBUSY,
			"the image of the template '%s' is not built yet: `ac "
			"build %s`",
			blueprint, blueprint);
		break;
	case INSTANCE_NO_MOUNTS:
	case INSTANCE_NO_WORKSPACE:
		err_set(err, -ENOTSUP,
			"the template '%s' shows directories of the user's, "
			"which only `ac run` can send",
			blueprint);
		break;
	default:
		break;
	}
	say_refusal(req, err);
}

/* ---- the run ---- */

static void stopped(void *arg, const struct err *err)
{
	(void)arg;
	(void)err;
}

static void created(void *arg, struct instance *in, const struct err *err)
{
	struct create_call *c = arg;
	const struct e2b_box *b = NULL;
	struct err why = err ? *err : (struct err){ 0 };

	c->t = NULL;
	if (!err) {
		c->box.started_ms = e2b_now_ms();
		c->box.ends_ms =
			c->box.started_ms + (int64_t)c->ask.timeout_s * 1000;
		b = e2b_add(c->acd->e2b, &c->box, &why);
	}
	/* What is not in the table would never end. */
	if (!err && !b)
		(void)instance_destroy(in, true, stopped, NULL);
	if (c->req && b)
		http_reply_json(c->req, 201, say_made(c->acd->e2b, b));
	else if (c->req)
		refuse(c->req, c->ask.blueprint, &why);
	call_free(c);
}

static void create_abort(void *arg)
{
	struct create_call *c = arg;

	if (c->t)
		transaction_cancel(c->t);
	if (c->wait)
		build_leave(c->wait);
	call_free(c);
}

static int run_words(struct run_options *o, struct err *err)
{
	*o = (struct run_options){ .detached = true, .shell = true };
	return strv_push(&o->argv, "sleep") < 0 ||
			       strv_push(&o->argv, "infinity") < 0 ?
		       err_nomem(err) :
		       0;
}

/* As a run of `ac` may begin; a credential that is missing is no reason to ask. */
static int may_run(struct create_call *c, const struct instance_record *r,
		   struct run_options *o, struct err *err)
{
	struct blueprint bp = { 0 };
	const char *lacks = NULL, *code = NULL;
	int rc = instance_blueprint(r, &bp, err);

	if (rc == 0 && c->acd->policies)
		lacks = policy_missing(c->acd->policies, r, &bp, &o->without);
	if (lacks)
		rc = err_set(err, -EBUSY,
			     "the template '%s' needs the credential '%s', "
			     "which the vault does not have: `ac vault add %s`",
			     bp.name, lacks, lacks);
	blueprint_done(&bp);
	if (rc == 0 && acd_may_run(c->acd, r->isolation, err, &code) < 0)
		rc = err->code = -EAGAIN;
	return rc == 0 ? edge_may(c->acd, r, err) : rc;
}

static int records(struct create_call *c, struct instance_record *plain,
		   struct instance_record *r, struct err *err)
{
	char name[sizeof(E2B_PREFIX) + E2B_ID_LEN];
	int rc;

	e2b_name(c->box.id, name);
	rc = api_options_default(c->acd, name, c->ask.blueprint, plain, err);
	if (rc == 0 && instance_record_copy(r, plain) < 0)
		rc = err_nomem(err);
	if (rc == 0)
		rc = api_options_apply(c->acd, c->ask.options, plain, r, err);
	return rc;
}

static int run_ask(struct create_call *c, struct err *err)
{
	struct instance_record r = { 0 }, plain = { 0 };
	const struct transaction_ask ta = { .record = &r, .plain = &plain };
	struct run_options o = { 0 };
	int rc = records(c, &plain, &r, err);

	if (rc == 0)
		rc = e2b_has_room(c->acd->e2b, err);
	if (rc == 0)
		rc = run_words(&o, err);
	if (rc == 0)
		rc = may_run(c, &r, &o, err);
	if (rc == 0)
		rc = transaction_run(c->acd->instances, &ta, &o, created, c,
				     &c->t, err);
	else
		run_options_done(&o);
	instance_record_done(&r);
	instance_record_done(&plain);
	return rc;
}

/* ---- the image ---- */

static void begin(struct create_call *c);

static void on_image(void *arg, const char *line, const struct err *err)
{
	struct create_call *c = arg;
	struct err why = err ? *err : (struct err){ 0 };

	if (line)
		return;
	c->wait = NULL;
	if (!err) {
		begin(c);
		return;
	}
	http_on_abort(c->req, NULL, NULL);
	refuse(c->req, c->ask.blueprint, &why);
	call_free(c);
}

/* After its start acd does not know if an image that is there is of its
 * blueprint, so it looks. One that is not there would take longer to build than a
 * client waits. Returns false if there is nothing to wait for. */
static bool image_wait(struct create_call *c)
{
	struct blueprint bp = { 0 };
	struct err ignored = { 0 };

	if (!c->looked &&
	    blueprint_load(c->ask.blueprint, &bp, &ignored) == 0 &&
	    build_is_present(c->acd->builds, bp.image))
		c->wait =
			build_ensure(c->acd->builds, bp.image, 0, on_image, c);
	c->looked = true;
	blueprint_done(&bp);
	return c->wait != NULL;
}

/* Asks for the run, and answers and frees the call if that fails. */
static void begin(struct create_call *c)
{
	struct err err = { 0 };
	int rc = run_ask(c, &err);

	if (rc == 0 || (rc == INSTANCE_NO_IMAGE && image_wait(c)))
		return;
	http_on_abort(c->req, NULL, NULL);
	refuse(c->req, c->ask.blueprint, &err);
	call_free(c);
}

/* ---- the request ---- */

static int call_read(struct create_call *c, struct err *err)
{
	const struct ask_box *ask = &c->ask;
	int rc = ask_box(c->body, &c->ask, err);

	if (rc < 0)
		return rc;
	e2b_id_make(c->box.id);
	c->box.template = strdup(ask->template);
	c->box.metadata = ask->metadata ? json_incref(ask->metadata) :
					  json_object();
	c->box.pauses = ask->pauses;
	c->box.internet = ask->internet;
	c->box.internet_said = ask->internet_said;
	return c->box.template && c->box.metadata ? 0 : err_nomem(err);
}

void e2b_sandbox_create(void *ctx, struct http_req *req)
{
	json_t *body = box_body(req);
	struct create_call *c = body ? calloc(1, sizeof(*c)) : NULL;
	struct err err = { 0 };

	if (!body)
		return;
	if (!c) {
		json_decref(body);
		err_nomem(&err);
		say_refusal(req, &err);
		return;
	}
	c->acd = ctx;
	c->req = req;
	c->body = body;
	if (call_read(c, &err) < 0) {
		refuse(req, c->ask.blueprint, &err);
		call_free(c);
		return;
	}
	if (snapshot_create(c->acd, req, &c->ask)) {
		call_free(c);
		return;
	}
	http_on_abort(req, create_abort, c);
	begin(c);
}
