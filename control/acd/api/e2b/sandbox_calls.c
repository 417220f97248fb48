/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox_calls.c - lists sandboxes, shows, kills and times them
 */
#include <string.h>

#include "control/acd/api/e2b/ask.h"
#include "control/acd/api/e2b/box_calls.h"
#include "control/acd/api/e2b/list_ask.h"
#include "control/acd/api/e2b/routes.h"
#include "control/acd/api/e2b/say.h"
#include "control/acd/instance/instance.h"
#include "control/shared/json.h"

void e2b_health(void *ctx, struct http_req *req)
{
	struct err err = { 0 };

	if (box_instance(ctx, req, &err))
		http_reply_empty(req);
	else
		say_refusal(req, &err);
}

/* ---- lists ---- */

/* Appends to @all what @a asks for. Returns the last one if there are more. */
static const struct e2b_box *list_fill(struct e2b *e, const struct list_ask *a,
				       json_t *all)
{
	const struct e2b_box *found[E2B_BOXES_MAX];
	const struct e2b_box *b = NULL, *last = NULL;
	size_t n = 0;

	while ((b = e2b_next(e, b)) && n < E2B_BOXES_MAX) {
		if (list_ask_has(a, b, e2b_state(e, b)))
			found[n++] = b;
	}
	for (size_t i = 0; i < n; i++) {
		if (json_array_size(all) >= a->limit)
			return last;
		last = found[a->newest_first ? n - 1 - i : i];
		json_array_append_new(all, say_listed(e, last));
	}
	return NULL;
}

void e2b_sandbox_list(void *ctx, struct http_req *req)
{
	const struct acd *acd = ctx;
	const struct list_query q = {
		.metadata = http_query(req, "metadata"),
		.state = http_query(req, "state"),
		.order = http_query(req, "order"),
		.template = http_query(req, "template"),
		.limit = http_query(req, "limit"),
		.next = http_query(req, "nextToken"),
		.since = http_query(req, "startedAfter"),
	};
	char token[LIST_TOKEN_MAX + 1];
	const struct e2b_box *last;
	struct list_ask a = { 0 };
	struct err err = { 0 };
	json_t *all = json_array();

	if (list_ask(&q, &a, &err) < 0) {
		json_decref(all);
		say_refusal(req, &err);
	} else {
		last = list_fill(acd->e2b, &a, all);
		if (last)
			list_token(last, token);
		if (last)
			http_reply_json_with(req, 200, all, "X-Next-Token",
					     token);
		else
			http_reply_json(req, 200, all);
	}
	list_ask_done(&a);
}

/* The older list has no pages, and none that are paused. */
void e2b_sandbox_list_v1(void *ctx, struct http_req *req)
{
	const struct acd *acd = ctx;
	const struct list_query q = {
		.metadata = http_query(req, "metadata"),
		.state = "running",
	};
	struct list_ask a = { 0 };
	struct err err = { 0 };
	json_t *all = json_array();

	if (list_ask(&q, &a, &err) < 0) {
		json_decref(all);
		say_refusal(req, &err);
	} else {
		a.limit = E2B_BOXES_MAX;
		list_fill(acd->e2b, &a, all);
		http_reply_json(req, 200, all);
	}
	list_ask_done(&a);
}

void e2b_sandbox_get(void *ctx, struct http_req *req)
{
	struct acd *acd = ctx;
	const struct e2b_box *b = box_of(acd, req);

	if (b)
		http_reply_json(req, 200, say_detail(acd->e2b, b));
}

/* ---- its end ---- */

struct kill_call {
	struct acd *acd;
	struct http_req *req; /* NULL: the client left */
	char id[E2B_ID_LEN + 1];
};

static void kill_abort(void *arg)
{
	struct kill_call *c = arg;

	c->req = NULL;
}

static void killed(void *arg, const struct err *err)
{
	struct kill_call *c = arg;
	struct e2b_box *b = e2b_find(c->acd->e2b, c->id);

	/* One that has snapshots stays for them. */
	if (!err && b && !e2b_instance(c->acd->e2b, b))
		e2b_drop(c->acd->e2b, b);
	if (c->req && err)
		say_refusal(c->req, err);
	else if (c->req)
		http_reply_empty(c->req);
	free(c);
}

void e2b_sandbox_kill(void *ctx, struct http_req *req)
{
	struct acd *acd = ctx;
	struct e2b_box *b = box_of(acd, req);
	struct kill_call *c = b ? calloc(1, sizeof(*c)) : NULL;
	struct err err = { 0 };

	if (!b)
		return;
	if (!c) {
		err_nomem(&err);
		say_refusal(req, &err);
		return;
	}
	c->acd = acd;
	c->req = req;
	memcpy(c->id, b->id, sizeof(c->id));
	http_on_abort(req, kill_abort, c);
	if (e2b_end(acd->e2b, b, killed, c, &err) == 0)
		return;
	http_on_abort(req, NULL, NULL);
	say_refusal(req, &err);
	free(c);
}

static void set_end(struct acd *acd, struct http_req *req, const char *key,
		    bool longer)
{
	struct e2b_box *b = box_of(acd, req);
	SCOPED_JSON body = b ? box_body(req) : NULL;
	struct err err = { 0 };
	uint64_t s = 0;
	int64_t ends;

	if (!body)
		return;
	if (ask_seconds(body, key, E2B_TIMEOUT_S, &s, &err) == 0) {
		ends = e2b_now_ms() + (int64_t)s * 1000;
		if (!longer || ends > b->ends_ms)
			b->ends_ms = ends;
		e2b_save(acd->e2b, b, &err);
	}
	if (err.code)
		say_refusal(req, &err);
	else
		http_reply_empty(req);
}

void e2b_sandbox_timeout(void *ctx, struct http_req *req)
{
	set_end(ctx, req, "timeout", false);
}

void e2b_sandbox_refresh(void *ctx, struct http_req *req)
{
	set_end(ctx, req, "duration", true);
}
