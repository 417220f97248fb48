/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_calls.c - snapshots of sandboxes, and sandboxes that begin with one
 *
 * A snapshot is one of the instance, with its memory. It is known as the id of the
 * sandbox, a dash, and the tag; and as a template. It is the instance's own, which
 * stays for it when the sandbox has ended (e2b_end()).
 */
#include "control/acd/api/e2b/snapshot_calls.h"

#include <errno.h>
#include <string.h>

#include "control/acd/api/e2b/ask.h"
#include "control/acd/api/e2b/box_calls.h"
#include "control/acd/api/e2b/fork.h"
#include "control/acd/api/e2b/routes.h"
#include "control/acd/api/e2b/say.h"
#include "control/acd/instance/command/command.h"
#include "control/acd/instance/instance.h"
#include "control/shared/json.h"

#define LISTED_MAX 1000u

/* Sets *@ret_tag to the tag in an id of a snapshot, and returns the sandbox that
 * has it; NULL if there is none. */
static struct e2b_box *box_of_snapshot(struct e2b *e, const char *snapshot,
				       const char **ret_tag)
{
	char id[E2B_ID_LEN + 1];
	struct e2b_box *b;

	if (strlen(snapshot) < E2B_ID_LEN + 2 || snapshot[E2B_ID_LEN] != '-')
		return NULL;
	memcpy(id, snapshot, E2B_ID_LEN);
	id[E2B_ID_LEN] = '\0';
	*ret_tag = snapshot + E2B_ID_LEN + 1;
	b = e2b_find(e, id);
	return b && e2b_instance(e, b) ? b : NULL;
}

static json_t *shown_json(const struct e2b_box *b, const char *tag)
{
	return json_pack("{s:s++, s:[]}", "snapshotID", b->id, "-", tag,
			 "names");
}

/* A copy has the memory of all processes, but goes on with the main one alone: a
 * client would miss its commands there. Returns 0 if none runs. */
static int no_commands(struct instance *in, struct err *err)
{
	struct command *c = NULL;

	while ((c = command_next(in, c))) {
		if (!command_view(c)->ended)
			return err_set(err, -ENOTSUP,
				       "a command runs in the sandbox (pid "
				       "%u), and a copy would be without it: "
				       "end it first",
				       command_view(c)->pid);
	}
	return 0;
}

/* ---- to make one ---- */

struct snapshot_call {
	struct acd *acd;
	struct http_req *req; /* NULL: the client left */
	char id[E2B_ID_LEN + 1];
	char tag[SNAPSHOT_TAG_MAX + 1];
};

static void call_abort(void *arg)
{
	struct snapshot_call *c = arg;

	c->req = NULL;
}

static void made(void *arg, const struct err *err)
{
	struct snapshot_call *c = arg;
	const struct e2b_box *b = e2b_find(c->acd->e2b, c->id);

	if (c->req && err)
		say_refusal(c->req, err);
	else if (c->req && b)
		http_reply_json(c->req, 201, shown_json(b, c->tag));
	else if (c->req)
		say_no_box(c->req, c->id);
	free(c);
}

static struct snapshot_call *call_new(struct acd *acd, struct http_req *req,
				      const struct e2b_box *b)
{
	struct snapshot_call *c = calloc(1, sizeof(*c));
	struct err err = { 0 };

	if (!c) {
		err_nomem(&err);
		say_refusal(req, &err);
		return NULL;
	}
	c->acd = acd;
	c->req = req;
	memcpy(c->id, b->id, sizeof(c->id));
	http_on_abort(req, call_abort, c);
	return c;
}

static void call_refuse(struct snapshot_call *c, const struct err *err)
{
	http_on_abort(c->req, NULL, NULL);
	say_refusal(c->req, err);
	free(c);
}

/* A tag of its own, since one without would expire. */
static void tag_make(char ret[SNAPSHOT_TAG_MAX + 1])
{
	char id[E2B_ID_LEN + 1];

	e2b_id_make(id);
	snprintf(ret, SNAPSHOT_TAG_MAX + 1, "%s", id);
}

void e2b_snapshot_make(void *ctx, struct http_req *req)
{
	struct acd *acd = ctx;
	const struct e2b_box *b = box_of(acd, req);
	SCOPED_JSON body = b ? box_body(req) : NULL;
	struct snapshot_ask ask = { .memory = true };
	char tag[SNAPSHOT_TAG_MAX + 1];
	struct snapshot_call *c;
	const char *name = NULL;
	struct err err = { 0 };

	if (!body)
		return;
	if (ask_memory(body, &err) == 0 &&
	    no_commands(e2b_instance(acd->e2b, b), &err) == 0 &&
	    jsonx_str(body, "name", NULL, &name, &err) == 0 && name && *name)
		err_set(&err, -ENOTSUP,
			"a snapshot has no name of its own here: 'name' is not "
			"supported");
	if (err.code) {
		say_refusal(req, &err);
		return;
	}
	c = call_new(acd, req, b);
	if (!c)
		return;
	tag_make(tag);
	ask.tag = tag;
	if (instance_snapshot(e2b_instance(acd->e2b, b), &ask, made, c, c->tag,
			      &err) < 0)
		call_refuse(c, &err);
}

/* ---- those that are there ---- */

static void list_box(struct e2b *e, const struct e2b_box *b, json_t *all)
{
	const struct instance *in = e2b_instance(e, b);
	SCOPED_JSON its = json_array();
	json_t *v;
	size_t i;

	if (!in || !its || instance_snapshots(in, its) < 0)
		return;
	json_array_foreach (its, i, v) {
		if (json_array_size(all) < LISTED_MAX)
			json_array_append_new(
				all, shown_json(b, jsonx_text_at(v, "tag")));
	}
}

/* One page has them all. */
void e2b_snapshot_list(void *ctx, struct http_req *req)
{
	const struct acd *acd = ctx;
	const char *id = http_query(req, "sandboxID");
	const struct e2b_box *b = NULL;
	json_t *all = json_array();

	while ((b = e2b_next(acd->e2b, b))) {
		if (!id || strcmp(b->id, id) == 0)
			list_box(acd->e2b, b, all);
	}
	http_reply_json(req, 200, all);
}

static void gone(void *arg, const struct err *err)
{
	(void)arg;
	(void)err;
}

static void removed(void *arg, const struct err *err)
{
	struct snapshot_call *c = arg;
	struct e2b_box *b = e2b_find(c->acd->e2b, c->id);
	struct err ignored = { 0 };

	/* It was there for its snapshots alone; the table's timer would see. */
	if (!err && b && b->ended)
		(void)e2b_end(c->acd->e2b, b, gone, NULL, &ignored);
	if (c->req && err)
		say_refusal(c->req, err);
	else if (c->req)
		http_reply_empty(c->req);
	free(c);
}

void e2b_snapshot_remove(void *ctx, struct http_req *req)
{
	struct acd *acd = ctx;
	const char *snapshot = http_param(req, "id"), *tag = NULL;
	const struct e2b_box *b =
		snapshot ? box_of_snapshot(acd->e2b, snapshot, &tag) : NULL;
	struct snapshot_call *c;
	struct err err = { 0 };

	if (!b) {
		err_set(&err, -ENOENT,
			"there is no such snapshot; and templates, which are "
			"blueprints, are not removed here");
		say_refusal(req, &err);
		return;
	}
	c = call_new(acd, req, b);
	if (c && instance_snapshot_remove(e2b_instance(acd->e2b, b), tag,
					  removed, c, &err) < 0)
		call_refuse(c, &err);
}

/* ---- sandboxes out of one ---- */

bool snapshot_create(struct acd *acd, struct http_req *req,
		     const struct ask_box *ask)
{
	struct e2b_box like = { .metadata = ask->metadata,
				.pauses = ask->pauses };
	struct fork_want w = { .like = &like,
			       .n = 1,
			       .timeout_s = ask->timeout_s,
			       .single = true };
	const struct e2b_box *b =
		box_of_snapshot(acd->e2b, ask->template, &w.tag);
	struct err err = { 0 };

	if (!b)
		return false;
	like.template = (char *)(uintptr_t)ask->template;
	like.internet = b->internet;
	like.internet_said = b->internet_said;
	if (json_object_size(ask->options) > 0) {
		err_set(&err, -ENOTSUP,
			"a sandbox out of a snapshot has its environment and "
			"its network: 'envVars' and 'allow_internet_access' "
			"are not supported for it");
		say_refusal(req, &err);
		return true;
	}
	fork_answer(acd, req, e2b_instance(acd->e2b, b), &w);
	return true;
}

void e2b_sandbox_fork(void *ctx, struct http_req *req)
{
	struct acd *acd = ctx;
	const struct e2b_box *b = box_of(acd, req);
	SCOPED_JSON body = b ? box_body(req) : NULL;
	struct fork_want w = { .like = b };
	struct err err = { 0 };
	uint64_t n = 1;

	if (!body)
		return;
	if (no_commands(e2b_instance(acd->e2b, b), &err) < 0 ||
	    jsonx_u64(body, "count", 1, FORKS_MAX, 1, &n, &err) < 0 ||
	    ask_seconds(body, "timeout", E2B_TIMEOUT_S, &w.timeout_s, &err) <
		    0) {
		say_refusal(req, &err);
		return;
	}
	w.n = (size_t)n;
	fork_answer(acd, req, e2b_instance(acd->e2b, b), &w);
}
