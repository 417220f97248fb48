/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork.c - copies of a sandbox that run on
 *
 * The copies are made from its files and its memory of one moment; then each runs
 * on by itself, or does not, and the answer says so of each.
 */
#include "control/acd/api/e2b/fork.h"

#include <errno.h>
#include <string.h>

#include "control/acd/api/e2b/connect.h"
#include "control/acd/api/e2b/say.h"
#include "control/acd/instance/instance.h"
#include "control/shared/json.h"

struct fork_one {
	struct fork_call *call;
	struct e2b_box box; /* borrows from the call */
	struct err err;
};

struct fork_call {
	struct acd *acd;
	struct http_req *req; /* NULL: the client left */
	char *template;
	json_t *metadata;
	uint64_t timeout_s;
	bool single; /* the answer is the one copy */
	struct strv names; /* of the instances */
	size_t n, waits; /* all, and those that have not begun */
	struct fork_one one[FORKS_MAX];
};

static void call_free(struct fork_call *c)
{
	strv_done(&c->names);
	free(c->template);
	json_decref(c->metadata);
	free(c);
}

static void call_abort(void *arg)
{
	struct fork_call *c = arg;

	c->req = NULL;
}

/* ---- the answer ---- */

static json_t *one_json(const struct fork_one *o)
{
	const struct e2b_box *b = e2b_find(o->call->acd->e2b, o->box.id);

	if (!o->err.code && b)
		return json_pack("{s:o}", "sandbox",
				 say_made(o->call->acd->e2b, b));
	return json_pack(
		"{s:o}", "error",
		say_status(o->err.code ? connect_code_of(o->err.code)->status :
					 404,
			   o->err.code ? o->err.msg :
					 "it has ended meanwhile"));
}

static void single_answer(struct fork_call *c)
{
	const struct fork_one *o = &c->one[0];
	const struct e2b_box *b = e2b_find(c->acd->e2b, o->box.id);

	if (c->req && !o->err.code && b)
		http_reply_json(c->req, 201, say_made(c->acd->e2b, b));
	else if (c->req && o->err.code)
		say_refusal(c->req, &o->err);
	else if (c->req)
		say_no_box(c->req, o->box.id);
	call_free(c);
}

static void call_answer(struct fork_call *c)
{
	json_t *all;

	if (c->single) {
		single_answer(c);
		return;
	}
	all = json_array();

	for (size_t i = 0; i < c->n; i++)
		json_array_append_new(all, one_json(&c->one[i]));
	if (c->req)
		http_reply_json(c->req, 201, all);
	else
		json_decref(all);
	call_free(c);
}

/* ---- each ---- */

static void removed(void *arg, const struct err *err)
{
	(void)arg;
	(void)err;
}

static void one_begun(void *arg, const struct err *err)
{
	struct fork_one *o = arg;
	struct fork_call *c = o->call;
	struct instance *in;

	if (err)
		o->err = *err;
	o->box.started_ms = e2b_now_ms();
	o->box.ends_ms = o->box.started_ms + (int64_t)c->timeout_s * 1000;
	if (!err)
		e2b_add(c->acd->e2b, &o->box, &o->err);
	in = instance_find(c->acd->instances, c->names.v[o - c->one]);
	if (o->err.code && in)
		(void)instance_destroy(in, true, removed, NULL);
	if (--c->waits == 0)
		call_answer(c);
}

static void one_run(struct fork_one *o)
{
	struct fork_call *c = o->call;
	struct instance *in =
		instance_find(c->acd->instances, c->names.v[o - c->one]);
	struct run_options run = { .detached = true, .memory = true };
	struct err err = { 0 };
	int rc;

	if (in)
		rc = instance_run(in, &run, one_begun, o, &err);
	else
		rc = err_set(&err, -ENOENT, "the copy is gone");
	if (rc < 0)
		one_begun(o, &err);
}

static void forked(void *arg, const struct err *err)
{
	struct fork_call *c = arg;
	size_t n = c->n;

	if (!err) {
		/* The last of them may free it. */
		for (size_t i = 0; i < n; i++)
			one_run(&c->one[i]);
		return;
	}
	if (c->req)
		say_refusal(c->req, err);
	call_free(c);
}

/* ---- the beginning ---- */

static int call_fill(struct fork_call *c, const struct fork_want *w,
		     struct err *err)
{
	char name[sizeof(E2B_PREFIX) + E2B_ID_LEN];
	int rc = 0;

	c->timeout_s = w->timeout_s;
	c->single = w->single;
	c->template = strdup(w->like->template);
	c->metadata = w->like->metadata ? json_incref(w->like->metadata) :
					  json_object();
	c->n = c->waits = w->n;
	if (!c->template || !c->metadata)
		rc = err_nomem(err);
	for (size_t i = 0; rc == 0 && i < c->n; i++) {
		struct fork_one *o = &c->one[i];

		o->call = c;
		o->box = *w->like;
		o->box.template = c->template;
		o->box.metadata = c->metadata;
		e2b_id_make(o->box.id);
		e2b_name(o->box.id, name);
		if (strv_push(&c->names, name) < 0)
			rc = err_nomem(err);
	}
	return rc;
}

void fork_answer(struct acd *acd, struct http_req *req, struct instance *in,
		 const struct fork_want *w)
{
	const struct snapshot_ask ask = { .tag = w->tag, .memory = true };
	struct fork_call *c = calloc(1, sizeof(*c));
	struct err err = { 0 };
	int rc;

	if (!c) {
		err_nomem(&err);
		say_refusal(req, &err);
		return;
	}
	c->acd = acd;
	c->req = req;
	http_on_abort(req, call_abort, c);
	rc = call_fill(c, w, &err);
	if (rc == 0)
		rc = instance_fork(in, &ask, (const char *const *)c->names.v,
				   c->n, forked, c, &err);
	if (rc == 0)
		return;
	http_on_abort(req, NULL, NULL);
	say_refusal(req, &err);
	call_free(c);
}
