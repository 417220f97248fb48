/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instance_calls.c - routes that show, stop, clean, remove and pause instances
 *
 * A call that takes time keeps the name of its instance, not a pointer: the
 * instance may be gone when it is answered.
 */
#include "control/acd/api/instance_calls.h"

#include <string.h>

#include "control/shared/json.h"
#include "control/shared/paths.h"

#define STOP_GRACE_MS 10000u

struct instance *api_instance_of(struct acd *acd, struct http_req *req)
{
	const char *name = api_param_name(req);
	struct instance *in;
	struct err err = { 0 };

	if (!name)
		return NULL;
	in = instance_find(acd->instances, name);
	if (!in) {
		err_set(&err, -ENOENT,
			"there is no instance '%s'; 'ac list' shows them",
			name);
		http_reply_error(req, &err, NULL);
	}
	return in;
}

void api_reply_not_running(struct http_req *req, const char *name)
{
	struct err err = { 0 };

	err_set(&err, -EBUSY, "'%s' is not running; `ac run %s` starts it",
		name, name);
	http_reply_error(req, &err, "not_running");
}

void api_reply_paused(struct http_req *req, const struct err *err)
{
	struct err shown = *err;

	shown.code = -EBUSY;
	http_reply_error(req, &shown, "paused");
}

/* ---- looking ---- */

static void list_one(void *arg, struct instance *in)
{
	json_array_append_new(arg, instance_json(in));
}

void api_instance_list(void *ctx, struct http_req *req)
{
	struct acd *acd = ctx;
	json_t *list = json_array();

	instances_each(acd->instances, list_one, list);
	http_reply_json(req, 200, json_pack("{s:o}", "instances", list));
}

void api_instance_get(void *ctx, struct http_req *req)
{
	struct instance *in = api_instance_of(ctx, req);

	if (in)
		http_reply_json(req, 200, instance_json(in));
}

/* ---- calls that end something ---- */

struct end_call {
	struct acd *acd;
	struct http_req *req; /* NULL: the client left; the call goes on */
	bool empty; /* answer 204 */
	char name[AC_NAME_MAX + 1];
};

static void end_call_abort(void *arg)
{
	struct end_call *c = arg;

	c->req = NULL;
}

static void end_call_reply(struct end_call *c, const struct err *err)
{
	struct instance *in = instance_find(c->acd->instances, c->name);

	if (err)
		http_reply_error(c->req, err, NULL);
	else if (c->empty || !in) /* made with auto_remove: it is gone */
		http_reply_empty(c->req);
	else
		http_reply_json(c->req, 200, instance_json(in));
}

static void end_call_done(void *arg, const struct err *err)
{
	struct end_call *c = arg;

	if (c->req)
		end_call_reply(c, err);
	free(c);
}

static struct end_call *end_call_new(struct acd *acd, struct http_req *req,
				     const struct instance *in)
{
	struct end_call *c = calloc(1, sizeof(*c));
	struct err err = { 0 };

	if (!c) {
		err_nomem(&err);
		http_reply_error(req, &err, NULL);
		return NULL;
	}
	c->acd = acd;
	c->req = req;
	snprintf(c->name, sizeof(c->name), "%s", instance_record(in)->name);
	http_on_abort(req, end_call_abort, c);
	return c;
}

/* Answers and frees @c if the call was refused. */
static void end_call_check(struct end_call *c, int rc)
{
	struct err err = { 0 };

	if (rc == 0)
		return;
	if (rc == -EBUSY) {
		err_set(&err, rc,
			"'%s' is running (`ac stop-instance %s` stops it, and "
			"--force does both), or its files are being copied or "
			"removed: try again in a moment",
			c->name, c->name);
		http_reply_error(c->req, &err, "busy");
	} else {
		err_set(&err, rc, "%s: %s", c->name, err_text(rc));
		http_reply_error(c->req, &err, NULL);
	}
	free(c);
}

void api_instance_stop(void *ctx, struct http_req *req)
{
	struct instance *in = api_instance_of(ctx, req);
	uint64_t grace = api_number(http_body(req), "grace_ms", STOP_GRACE_MS);
	struct end_call *c = in ? end_call_new(ctx, req, in) : NULL;

	if (c)
		end_call_check(c, instance_stop(in, grace, end_call_done, c));
}

void api_instance_clean(void *ctx, struct http_req *req)
{
	struct instance *in = api_instance_of(ctx, req);
	bool force = api_flag(http_body(req), "force");
	struct end_call *c = in ? end_call_new(ctx, req, in) : NULL;

	if (c)
		end_call_check(c, instance_clean(in, force, end_call_done, c));
}

void api_instance_discard(void *ctx, struct http_req *req)
{
	struct instance *in = api_instance_of(ctx, req);
	struct end_call *c = in ? end_call_new(ctx, req, in) : NULL;
	struct err err = { 0 };
	int rc = c ? instance_discard(in, end_call_done, c) : 0;

	if (rc != -EBUSY) {
		if (c)
			end_call_check(c, rc);
		return;
	}
	err_set(&err, rc,
		"'%s' is running, or its files are being removed: stop it "
		"first (`ac stop-instance %s`)",
		c->name, c->name);
	http_reply_error(req, &err, "busy");
	free(c);
}

void api_instance_delete(void *ctx, struct http_req *req)
{
	struct instance *in = api_instance_of(ctx, req);
	struct end_call *c = in ? end_call_new(ctx, req, in) : NULL;

	if (!c)
		return;
	c->empty = true;
	end_call_check(c, instance_destroy(in, http_query_flag(req, "force"),
					   end_call_done, c));
}

/* ---- pause, hibernate, resume, touch ---- */

static int ask_pause(struct instance *in, instance_fn fn, void *arg,
		     struct err *err)
{
	return instance_pause(in, true, fn, arg, err);
}

static int ask_resume(struct instance *in, instance_fn fn, void *arg,
		      struct err *err)
{
	return instance_pause(in, false, fn, arg, err);
}

static void pause_ask(struct acd *acd, struct http_req *req,
		      int (*ask)(struct instance *in, instance_fn fn, void *arg,
				 struct err *err))
{
	struct instance *in = api_instance_of(acd, req);
	struct end_call *c = in ? end_call_new(acd, req, in) : NULL;
	struct err err = { 0 };
	int rc;

	if (!c)
		return;
	rc = ask(in, end_call_done, c, &err);
	if (rc == 0)
		return;
	if (rc == -ENOTCONN)
		api_reply_not_running(req, c->name);
	else
		http_reply_error(req, &err, NULL);
	free(c);
}

void api_instance_pause(void *ctx, struct http_req *req)
{
	pause_ask(ctx, req, ask_pause);
}

void api_instance_resume(void *ctx, struct http_req *req)
{
	pause_ask(ctx, req, ask_resume);
}

void api_instance_hibernate(void *ctx, struct http_req *req)
{
	pause_ask(ctx, req, instance_hibernate);
}

void api_instance_touch(void *ctx, struct http_req *req)
{
	struct instance *in = api_instance_of(ctx, req);
	struct err err = { 0 };

	if (!in)
		return;
	if (instance_touch(in, &err) < 0)
		http_reply_error(req, &err, NULL);
	else
		http_reply_json(req, 200, instance_json(in));
}
