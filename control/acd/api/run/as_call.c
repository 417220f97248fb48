/* SPDX-License-Identifier: Apache-2.0 */
/*
 * as_call.c - POST /v1/run: sets an instance's options and runs it
 *
 * A request says which instance is meant (infer.h; "dir" is the directory that
 * a blueprint alone was given), its options (options.h) and what to run. Either that runs, or everything is as before (transaction.h), so
 * a client may die at any time.
 *
 * acd does not wait for the user's side. Its refusal names what is missing:
 *
 *	no_instance         the instance does not exist, and "create" is false
 *	credential_missing  the vault lacks one that the blueprint names, and
 *	                    "without" does not leave it out
 *	project_needed      the project's own blueprint is to be read
 *	project_unapproved  the user has not approved it (project.h)
 *	image_missing       the image is not built, or "build" asks for a build
 *	workspace_needed    the user's directory has to be sent
 *	mounts_needed       those that the blueprint shows, likewise
 *	edge_down           ac-edge has to be started (edge_may.h)
 *
 * The client provides that and asks for the same again. It names the directory
 * that it has sent, so that two clients that use one name do not get each
 * other's directory.
 */
#include <string.h>

#include "control/acd/acd.h"
#include "control/acd/api/api.h"
#include "control/acd/api/instance_calls.h"
#include "control/acd/api/run/edge_may.h"
#include "control/acd/api/access/access.h"
#include "control/acd/api/run/options.h"
#include "control/acd/api/run/project.h"
#include "control/acd/blueprint/blueprint.h"
#include "control/acd/credential/logins.h"
#include "control/acd/instance/policy.h"
#include "control/acd/instance/transaction.h"
#include "control/shared/infer.h"
#include "control/shared/json.h"
#include "control/shared/names.h"
#include "lib/log.h"

struct run_as_call {
	struct acd *acd;
	struct http_req *req; /* NULL: the client left */
	struct transaction *t; /* NULL: not yet */
	struct run_options o;
	bool upgrade, detached, create, build, mounts_sent;
	uint64_t workspace_dev, workspace_ino;
	struct infer who;
	struct run_project project;
	char *lacks; /* the credential that is missing, NULL: none */
};

static void call_free(struct run_as_call *c)
{
	run_options_done(&c->o);
	run_project_done(&c->project);
	free(c->lacks);
	free(c);
}

/* ---- the request's body ---- */

static int parse_body(struct run_as_call *c, struct err *err)
{
	json_t *body = http_body(c->req);
	int rc = api_run_options(body, &c->o, err);

	run_project_read(body, &c->project);
	c->o.memory = api_flag(body, "from_memory");
	if (rc == 0 && c->o.memory && !c->o.detached)
		rc = jsonx_refuse(err, "from_memory", "wants detached");
	c->create = !json_is_false(json_object_get(body, "create"));
	c->build = api_flag(body, "build");
	c->workspace_dev = api_number(body, "workspace_dev", 0);
	c->workspace_ino = api_number(body, "workspace_ino", 0);
	c->mounts_sent = api_flag(body, "mounts_sent");
	if (rc == 0)
		rc = jsonx_strv(body, "without", CREDENTIALS_MAX, &c->o.without,
				err);
	return rc == 0 ? api_run_is_seen(c->req, &c->o, err) : rc;
}

/* ---- which instance ---- */

static const char *blueprint_of(void *arg, const char *name)
{
	const struct instance *in = instance_find(arg, name);

	return in ? instance_record(in)->blueprint : NULL;
}

static const char *workspace_of(void *arg, const char *name)
{
	const struct instance *in = instance_find(arg, name);

	return in ? instance_record(in)->workspace : NULL;
}

static int call_infer(struct run_as_call *c, struct err *err)
{
	json_t *body = http_body(c->req);
	struct infer_words words = {
		.word = api_text(body, "word"),
		.blueprint = api_text(body, "blueprint"),
		.name = api_text(body, "name"),
		.dir = api_text(body, "dir"),
	};
	struct strv names = { 0 };
	const struct infer_known known = {
		.blueprint_of = blueprint_of,
		.workspace_of = workspace_of,
		.arg = c->acd->instances,
		.blueprints = &names,
	};
	int rc = 0;

	if (words.dir && *words.dir != '/')
		return jsonx_refuse(err, "dir", "must be an absolute path");
	/* A directory alone is run as its project says. */
	if (words.dir && !words.word && !words.blueprint && !words.name)
		rc = run_project_extends(&c->project, &words.blueprint, err);
	/* Only "word" needs the list of blueprints. */
	if (rc == 0 && !(words.blueprint && words.name))
		rc = blueprint_names(&names, err);
	if (rc == 0)
		rc = infer_names(&words, &known, &c->who, err);
	strv_done(&names);
	return rc;
}

/* ---- answers ---- */

static void call_refuse(struct run_as_call *c, const struct err *err)
{
	const struct instance *in =
		instance_find(c->acd->instances, c->who.instance);
	struct api_refused what = {
		.instance = *c->who.instance ? c->who.instance : NULL,
		.blueprint = *c->who.blueprint ? c->who.blueprint : NULL,
		.state = in ? instance_state_name(instance_record(in)->state) :
			      NULL,
		.credential = c->lacks,
	};
	struct blueprint bp = { 0 };
	struct err ignored = { 0 };

	if (err->code == INSTANCE_NO_IMAGE &&
	    blueprint_load(c->who.blueprint, &bp, &ignored) == 0)
		what.image = bp.image;
	api_run_refuse(c->req, &what, err);
	blueprint_done(&bp);
}

/* Writes warnings for the user before the output of the run. */
static void notice_warnings(struct instance *in, const json_t *said)
{
	for (size_t i = 0; i < json_array_size(said); i++) {
		SCOPED_STR line =
			str_printf("warning: %s",
				   json_string_value(json_array_get(said, i)));

		if (line)
			run_notice(instance_main(in), LOG_LVL_WARN, line);
	}
}

static void reply_begun(struct run_as_call *c, struct instance *in)
{
	const json_t *options = api_object(http_body(c->req), "options");
	SCOPED_JSON said =
		api_options_warnings(c->acd, options, instance_record(in));
	json_t *j;

	if (!c->upgrade) {
		j = instance_json(in);
		if (json_array_size(said) > 0)
			json_object_set(j, "warnings", said);
		http_reply_json(c->req, c->who.exists ? 200 : 201, j);
		return;
	}
	http_upgrade_header(c->req, API_INSTANCE_HEADER, c->who.instance);
	if (api_run_stream(c->acd, c->req, instance_main(in), c->detached) < 0)
		run_abandon(instance_main(in));
	else
		notice_warnings(in, said);
}

static void run_told(void *arg, struct instance *in, const struct err *err)
{
	struct run_as_call *c = arg;

	if (c->req && err)
		call_refuse(c, err);
	else if (c->req)
		reply_begun(c, in);
	call_free(c);
}

/* ---- the run ---- */

/* Makes the record with the run's options and the one without options. */
static int call_records(struct run_as_call *c, const struct instance *in,
			struct instance_record *r,
			struct instance_record *plain, struct err *err)
{
	json_t *options = api_object(http_body(c->req), "options");
	const struct instance_record *old = in ? instance_record(in) : NULL;
	struct instance_record def = { 0 };
	int rc = api_options_default(c->acd, c->who.instance, c->who.blueprint,
				     plain, err);

	if (rc == -ENOENT)
		return err_name(err, "unknown_blueprint");
	if (rc == 0)
		rc = access_may_set(c->req, options, old, err);
	if (rc == 0)
		rc = run_project_default(&c->project, c->acd, old, plain, &def,
					 err);
	if (rc == 0 && instance_record_copy(r, old ? old : &def) < 0)
		rc = err_nomem(err);
	if (rc == 0 && in)
		r->disk = instance_disk_wanted(in);
	if (rc == 0 && in)
		run_project_follow(&c->project, c->acd, plain, &def, r);
	if (rc == 0 && options)
		rc = api_options_apply(c->acd, options, &def, r, err);
	if (rc == 0 && run_project_set(&c->project, &def, r) < 0)
		rc = err_nomem(err);
	instance_record_done(&def);
	/* The owner of the files is no option: a refused run does not undo
	 * it. */
	plain->host_uid = r->host_uid;
	plain->host_gid = r->host_gid;
	return rc;
}

static int call_lacks(struct run_as_call *c, const char *credential,
		      struct err *err)
{
	enum secret_kind kind = SECRET_GENERIC;

	/* One that is named after its kind is of that kind. */
	if (secret_kind_parse(credential, &kind) < 0)
		kind = SECRET_GENERIC;
	c->lacks = strdup(credential);
	if (!c->lacks)
		return err_nomem(err);
	err_set(err, -EBUSY,
		"%s needs the credential '%s', which the vault does not have: "
		"`ac vault add %s%s` keeps one, `--credential none` does "
		"without",
		c->who.blueprint, credential, credential, login_from(kind));
	return err_name(err, "credential_missing");
}

/* Before anything is built or made for it. */
static int call_may_agent(struct run_as_call *c,
			  const struct instance_record *r, struct err *err)
{
	struct blueprint bp = { 0 };
	const char *lacks = NULL;
	int rc = instance_blueprint(r, &bp, err);

	if (rc == 0)
		rc = run_options_may(&bp, &c->o, err);
	if (rc == 0 && c->acd->policies)
		lacks = policy_missing(c->acd->policies, r, &bp, &c->o.without);
	if (lacks)
		rc = call_lacks(c, lacks, err);
	blueprint_done(&bp);
	return rc;
}

/* Fails if the run may not begin or the client has to provide something. */
static int call_may(struct run_as_call *c, const struct instance_record *r,
		    struct err *err)
{
	const char *code = NULL;

	if (run_project_may(&c->project, c->acd->store, r, err) < 0 ||
	    call_may_agent(c, r, err) < 0)
		return err->code;
	if (!c->who.exists && c->o.resume)
		return err_set(err, -EINVAL,
			       "there is no instance '%s' yet, so there is no "
			       "conversation to go on with: run it without "
			       "--resume",
			       c->who.instance);
	if (!c->who.exists && c->o.memory)
		return err_set(err, -EINVAL,
			       "there is no instance '%s', so there is no "
			       "memory to go on from",
			       c->who.instance);
	if (!c->who.exists && !c->create) {
		err_set(err, -EBUSY, "there is no instance '%s' yet",
			c->who.instance);
		return err_name(err, "no_instance");
	}
	if (acd_may_run(c->acd, r->isolation, err, &code) < 0) {
		err->code = -EAGAIN; /* 503 */
		return err_name(err, code);
	}
	if (edge_may(c->acd, r, err) < 0)
		return err->code;
	if (c->build)
		return err_set(err, INSTANCE_NO_IMAGE,
			       "the image of '%s' is to be built first",
			       c->who.blueprint);
	return 0;
}

/* Begins the run and leaves the call to run_told(), or fails. */
static int call_run(struct run_as_call *c, struct err *err)
{
	struct instance *in = instance_find(c->acd->instances, c->who.instance);
	struct instance_record r = { 0 }, plain = { 0 };
	struct transaction_ask ask = {
		.in = in,
		.record = &r,
		.plain = &plain,
		.workspace_dev = (dev_t)c->workspace_dev,
		.workspace_ino = (ino_t)c->workspace_ino,
		.mounts_sent = c->mounts_sent,
	};
	int rc = in ? instance_run_refusal(in, err) : 0;

	if (rc == 0)
		rc = run_project_fits(&c->project,
				      in ? instance_record(in) : NULL,
				      c->who.blueprint, err);
	if (rc == 0)
		rc = call_records(c, in, &r, &plain, err);
	if (rc == 0)
		rc = call_may(c, &r, err);
	if (rc == 0)
		rc = transaction_run(c->acd->instances, &ask, &c->o, run_told,
				     c, &c->t, err);
	instance_record_done(&r);
	instance_record_done(&plain);
	return rc;
}

static void call_go(struct run_as_call *c);

static void call_again(void *arg, const struct err *err)
{
	struct run_as_call *c = arg;

	if (c->req && !err) {
		call_go(c);
		return;
	}
	if (c->req)
		call_refuse(c, err);
	call_free(c);
}

/* The client has gone: cancels the run, unless it is detached. */
static void call_abort(void *arg)
{
	struct run_as_call *c = arg;

	c->req = NULL;
	if (!c->t || c->detached)
		return; /* call_again() or run_told() will be called */
	transaction_cancel(c->t);
	call_free(c);
}

/* Answers, or leaves the call to call_again() or run_told(). */
static void call_go(struct run_as_call *c)
{
	struct instance *in;
	struct err err = { 0 };
	int rc = call_infer(c, &err);

	in = rc == 0 ? instance_find(c->acd->instances, c->who.instance) : NULL;
	if (in && instance_is_leaving(in)) {
		rc = instance_stop(in, 0, call_again, c);
		if (rc == 0)
			return;
		err_set(&err, rc, "%s: %s", c->who.instance, err_text(rc));
	} else if (rc == 0) {
		rc = call_run(c, &err);
		if (rc == 0)
			return;
	}
	call_refuse(c, &err);
	call_free(c);
}

void api_run(void *ctx, struct http_req *req)
{
	struct run_as_call *c = calloc(1, sizeof(*c));
	struct err err = { 0 };

	if (!c) {
		err_nomem(&err);
		http_reply_error(req, &err, NULL);
		return;
	}
	*c = (struct run_as_call){
		.acd = ctx,
		.req = req,
		.upgrade = http_wants_upgrade(req),
	};
	if (parse_body(c, &err) < 0) {
		http_reply_refusal(req, &err, NULL, NULL);
		call_free(c);
		return;
	}
	c->detached = c->o.detached;
	http_on_abort(req, call_abort, c);
	call_go(c);
}
