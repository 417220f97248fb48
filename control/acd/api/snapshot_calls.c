/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_calls.c - routes for snapshots, restores and forks of instances
 *
 * A call keeps the name of its instance, not a pointer: it may be gone when it
 * is answered. A client that leaves cancels what it has asked for.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "control/acd/acd.h"
#include "control/acd/api/api.h"
#include "control/acd/api/instance_calls.h"
#include "control/acd/instance/instance.h"
#include "control/acd/api/spec/calls.h"
#include "control/shared/paths.h"
#include "lib/str.h"

static_assert(SPEC_FORKS_MAX == INSTANCE_FORKS_MAX, "one limit");

struct snapshot_call {
	struct acd *acd;
	struct http_req *req; /* NULL: the client left */
	char name[AC_NAME_MAX + 1];
	char tag[SNAPSHOT_TAG_MAX + 1];
	struct strv forks;
};

static void refuse(struct http_req *req, const struct err *err)
{
	struct err shown = *err;

	if (err->code == -ECANCELED || err->code == -ENOTCONN)
		shown.code = -EBUSY;
	http_reply_error(req, &shown,
			 *err->word              ? err->word :
			 err->code == -EUCLEAN   ? "snapshot_damaged" :
			 err->code == -EBUSY     ? "busy" :
			 err->code == -ECANCELED ? "canceled" :
			 err->code == -ENOTCONN  ? "not_running" :
						   NULL);
}

static void call_free(struct snapshot_call *c)
{
	strv_done(&c->forks);
	free(c);
}

static void call_abort(void *arg)
{
	struct snapshot_call *c = arg;
	struct instance *in = instance_find(c->acd->instances, c->name);

	c->req = NULL;
	if (in)
		instance_task_cancel(in, c);
}

/* Returns NULL if the request was answered. */
static struct snapshot_call *call_new(struct acd *acd, struct http_req *req,
				      const struct instance *in)
{
	struct snapshot_call *c = in ? calloc(1, sizeof(*c)) : NULL;
	struct err err = { 0 };

	if (!in)
		return NULL;
	if (!c) {
		err_nomem(&err);
		http_reply_error(req, &err, NULL);
		return NULL;
	}
	*c = (struct snapshot_call){ .acd = acd, .req = req };
	snprintf(c->name, sizeof(c->name), "%s", instance_record(in)->name);
	return c;
}

/* Waits for the answer, if @rc says that one comes. */
static void call_wait(struct snapshot_call *c, int rc, const struct err *err)
{
	if (rc == 0) {
		http_on_abort(c->req, call_abort, c);
		return;
	}
	refuse(c->req, err);
	call_free(c);
}

static const struct snapshot_ask *ask_of(struct http_req *req,
					 struct snapshot_ask *ret)
{
	const json_t *body = http_body(req);

	*ret = (struct snapshot_ask){ .tag = api_text(body, "tag"),
				      .memory = api_flag(body, "memory") };
	return ret;
}

static void list_one(void *arg, struct instance *in)
{
	json_t *all = arg;

	/* Without memory the list is short of some. */
	(void)instance_snapshots(in, all);
}

/* Returns the snapshots of @in, or of all if it is NULL. */
static json_t *list_of(struct acd *acd, const struct instance *in)
{
	json_t *all = json_array();

	if (all && in)
		(void)instance_snapshots(in, all);
	else if (all)
		instances_each(acd->instances, list_one, all);
	return all;
}

void api_snapshot_list(void *ctx, struct http_req *req)
{
	http_reply_json(req, 200,
			json_pack("{s:o}", "snapshots", list_of(ctx, NULL)));
}

void api_instance_snapshots(void *ctx, struct http_req *req)
{
	const struct instance *in = api_instance_of(ctx, req);

	if (in)
		http_reply_json(req, 200,
				json_pack("{s:o}", "snapshots",
					  list_of(ctx, in)));
}

/* ---- to make one ---- */

static void snapshot_made(void *arg, const struct err *err)
{
	struct snapshot_call *c = arg;
	const struct instance *in = instance_find(c->acd->instances, c->name);
	json_t *v = in && !err ? instance_snapshot_json(in, c->tag) : NULL;

	if (c->req && err)
		refuse(c->req, err);
	else if (c->req && v)
		http_reply_json(c->req, 201, json_incref(v));
	else if (c->req)
		http_reply_empty(c->req); /* it was removed meanwhile */
	json_decref(v);
	call_free(c);
}

void api_instance_snapshot(void *ctx, struct http_req *req)
{
	struct instance *in = api_instance_of(ctx, req);
	struct snapshot_call *c = call_new(ctx, req, in);
	struct snapshot_ask ask;
	struct err err = { 0 };

	if (c)
		call_wait(c,
			  instance_snapshot(in, ask_of(req, &ask),
					    snapshot_made, c, c->tag, &err),
			  &err);
}

/* ---- to remove one ---- */

static void snapshot_removed(void *arg, const struct err *err)
{
	struct snapshot_call *c = arg;

	if (c->req && err)
		refuse(c->req, err);
	else if (c->req)
		http_reply_empty(c->req);
	call_free(c);
}

void api_instance_snapshot_remove(void *ctx, struct http_req *req)
{
	struct instance *in = api_instance_of(ctx, req);
	struct snapshot_call *c = call_new(ctx, req, in);
	struct err err = { 0 };

	if (c)
		call_wait(c,
			  instance_snapshot_remove(in, http_query(req, "tag"),
						   snapshot_removed, c, &err),
			  &err);
}

/* ---- restores and forks ---- */

static void restored(void *arg, const struct err *err)
{
	struct snapshot_call *c = arg;
	struct instance *in = instance_find(c->acd->instances, c->name);

	if (c->req && err)
		refuse(c->req, err);
	else if (c->req && in)
		http_reply_json(c->req, 200, instance_json(in));
	else if (c->req)
		http_reply_empty(c->req);
	call_free(c);
}

void api_instance_restore(void *ctx, struct http_req *req)
{
	struct instance *in = api_instance_of(ctx, req);
	struct snapshot_call *c = call_new(ctx, req, in);
	struct snapshot_ask ask;
	struct err err = { 0 };

	if (c)
		call_wait(c,
			  instance_restore(in, ask_of(req, &ask), restored, c,
					   &err),
			  &err);
}

static void forked(void *arg, const struct err *err)
{
	struct snapshot_call *c = arg;
	json_t *all = json_array();

	for (size_t i = 0; i < c->forks.n && !err; i++) {
		struct instance *in =
			instance_find(c->acd->instances, c->forks.v[i]);

		if (in)
			json_array_append_new(all, instance_json(in));
	}
	if (c->req && err)
		refuse(c->req, err);
	else if (c->req)
		http_reply_json(c->req, 201,
				json_pack("{s:O}", "instances", all));
	json_decref(all);
	call_free(c);
}

static int names_get(struct http_req *req, struct strv *ret)
{
	const json_t *names = json_object_get(http_body(req), "names");
	const json_t *v;
	size_t i;
	int rc = 0;

	json_array_foreach (names, i, v) {
		if (rc == 0)
			rc = strv_push(ret, json_string_value(v));
	}
	return rc;
}

void api_instance_fork(void *ctx, struct http_req *req)
{
	struct instance *in = api_instance_of(ctx, req);
	struct snapshot_call *c = call_new(ctx, req, in);
	struct snapshot_ask ask;
	struct err err = { 0 };
	int rc;

	if (!c)
		return;
	rc = names_get(req, &c->forks) < 0 ? err_nomem(&err) : 0;
	if (rc == 0)
		rc = instance_fork(in, ask_of(req, &ask),
				   (const char *const *)c->forks.v, c->forks.n,
				   forked, c, &err);
	call_wait(c, rc, &err);
}
