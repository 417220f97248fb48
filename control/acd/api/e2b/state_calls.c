/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state_calls.c - pauses a sandbox, connects to one, and measures it
 */
#include <string.h>

#include "control/acd/api/e2b/ask.h"
#include "control/acd/api/e2b/box_calls.h"
#include "control/acd/api/e2b/routes.h"
#include "control/acd/api/e2b/say.h"
#include "control/acd/instance/instance.h"
#include "control/shared/json.h"

struct state_call {
	struct acd *acd;
	struct http_req *req; /* NULL: the client left */
	char id[E2B_ID_LEN + 1];
	int64_t ends_ms; /* of one that is resumed */
	uint64_t cpu_ns, at_ns; /* first of two looks */
	struct loop_timer *timer;
};

static void call_abort(void *arg)
{
	struct state_call *c = arg;

	c->req = NULL;
}

static struct state_call *call_new(struct acd *acd, struct http_req *req,
				   const struct e2b_box *b)
{
	struct state_call *c = calloc(1, sizeof(*c));
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

/* Ends a call that was refused at once. */
static void call_refuse(struct state_call *c, const struct err *err)
{
	http_on_abort(c->req, NULL, NULL);
	say_refusal(c->req, err);
	free(c);
}

/* ---- pause ---- */

static void paused(void *arg, const struct err *err)
{
	struct state_call *c = arg;
	struct e2b_box *b = e2b_find(c->acd->e2b, c->id);
	struct err why = err ? *err : (struct err){ 0 };

	if (!err && b) {
		b->was_paused = true;
		e2b_save(c->acd->e2b, b, &why);
	}
	if (c->req && why.code)
		say_refusal(c->req, &why);
	else if (c->req)
		http_reply_empty(c->req);
	free(c);
}

void e2b_sandbox_pause(void *ctx, struct http_req *req)
{
	struct acd *acd = ctx;
	struct e2b_box *b = box_of(acd, req);
	SCOPED_JSON body = b ? box_body(req) : NULL;
	struct state_call *c;
	struct err err = { 0 };

	if (!body)
		return;
	if (ask_memory(body, &err) == 0 && e2b_state(acd->e2b, b) == E2B_PAUSED)
		err_set(&err, -EBUSY, "the sandbox is paused already");
	if (err.code) {
		say_refusal(req, &err);
		return;
	}
	c = call_new(acd, req, b);
	if (c && e2b_pause(e2b_instance(acd->e2b, b), paused, c, &err) < 0)
		call_refuse(c, &err);
}

/* ---- connect, resume ---- */

/* The timeout begins again; one that is longer stays, if it ran. */
static void resumed(void *arg, const struct err *err)
{
	struct state_call *c = arg;
	struct e2b_box *b = e2b_find(c->acd->e2b, c->id);
	struct err why = err ? *err : (struct err){ 0 };

	if (!err && !b)
		err_set(&why, -ENOENT, "the sandbox has ended meanwhile");
	if (!err && b) {
		b->ends_ms = c->ends_ms;
		e2b_save(c->acd->e2b, b, &why);
	}
	if (c->req && (!b || why.code))
		say_refusal(c->req, &why);
	else if (c->req)
		http_reply_json(c->req, 201, say_made(c->acd->e2b, b));
	free(c);
}

static void connect_to(struct acd *acd, struct http_req *req, struct e2b_box *b,
		       uint64_t timeout_s)
{
	int64_t ends = e2b_now_ms() + (int64_t)timeout_s * 1000;
	struct state_call *c;
	struct err err = { 0 };

	if (e2b_state(acd->e2b, b) == E2B_RUNNING) {
		if (ends > b->ends_ms) {
			b->ends_ms = ends;
			e2b_save(acd->e2b, b, &err);
		}
		if (err.code)
			say_refusal(req, &err);
		else
			http_reply_json(req, 200, say_made(acd->e2b, b));
		return;
	}
	c = call_new(acd, req, b);
	if (!c)
		return;
	c->ends_ms = ends;
	if (instance_pause(e2b_instance(acd->e2b, b), false, resumed, c, &err) <
	    0)
		call_refuse(c, &err);
}

void e2b_sandbox_connect(void *ctx, struct http_req *req)
{
	struct acd *acd = ctx;
	struct e2b_box *b = box_of(acd, req);
	SCOPED_JSON body = b ? box_body(req) : NULL;
	struct err err = { 0 };
	uint64_t s = 0;

	if (!body)
		return;
	if (ask_memory(body, &err) < 0 ||
	    ask_seconds(body, "timeout", E2B_TIMEOUT_S, &s, &err) < 0)
		say_refusal(req, &err);
	else
		connect_to(acd, req, b, s);
}

void e2b_sandbox_resume(void *ctx, struct http_req *req)
{
	struct acd *acd = ctx;
	const struct e2b_box *b = box_of(acd, req);
	struct err err = { 0 };

	if (!b)
		return;
	if (e2b_state(acd->e2b, b) == E2B_PAUSED) {
		e2b_sandbox_connect(ctx, req);
		return;
	}
	err_set(&err, -EBUSY, "the sandbox is running already");
	say_refusal(req, &err);
}

/* ---- metrics ---- */

#define LOOK_MS 200u /* between two looks */

static void metrics_free(struct state_call *c)
{
	loop_timer_free(c->timer);
	free(c);
}

/* What is not measured is 0: the disk, and the page cache. */
static json_t *metrics_json(const struct state_call *c,
			    const struct instance *in,
			    const struct runtime_stats *st)
{
	uint64_t cpus = (instance_record(in)->cpu_milli + 999) / 1000;
	uint64_t ns = clock_ns() - c->at_ns;
	double used = ns > 0 && st->cpu_ns > c->cpu_ns ?
			      (double)(st->cpu_ns - c->cpu_ns) / (double)ns :
			      0;
	int64_t now = e2b_now_ms();
	char text[SAY_TIME_MAX];

	cpus = cpus ? cpus : 1;
	say_time(now, text);
	return json_pack("[{s:s, s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:I}]",
			 "timestamp", text, "timestampUnix",
			 (json_int_t)(now / 1000), "cpuCount", (json_int_t)cpus,
			 "cpuUsedPct", used * 100 / (double)cpus, "memUsed",
			 (json_int_t)st->memory, "memTotal",
			 (json_int_t)st->memory_limit, "memCache",
			 (json_int_t)0, "diskUsed", (json_int_t)0, "diskTotal",
			 (json_int_t)instance_record(in)->disk);
}

static void metrics_known(void *arg, const struct runtime_stats *st,
			  const struct err *err)
{
	struct state_call *c = arg;
	const struct e2b_box *b = e2b_find(c->acd->e2b, c->id);
	const struct instance *in = b ? e2b_instance(c->acd->e2b, b) : NULL;

	if (c->req && !err && in && !c->at_ns) {
		c->cpu_ns = st->cpu_ns;
		c->at_ns = clock_ns();
		loop_timer_set(c->timer, LOOK_MS);
		return;
	}
	if (c->req && err)
		say_refusal(c->req, err);
	else if (c->req && !in)
		say_no_box(c->req, c->id);
	else if (c->req)
		http_reply_json(c->req, 200, metrics_json(c, in, st));
	metrics_free(c);
}

static void metrics_look(void *arg)
{
	struct state_call *c = arg;
	const struct e2b_box *b = e2b_find(c->acd->e2b, c->id);
	struct instance *in = b ? e2b_instance(c->acd->e2b, b) : NULL;
	struct err err = { 0 };
	int rc = in ? instance_stats(in, metrics_known, c) : -ENOENT;

	if (rc == 0)
		return;
	err_set(&err, rc, "the sandbox cannot be measured: %s", err_text(rc));
	if (c->req)
		say_refusal(c->req, &err);
	metrics_free(c);
}

/* One of now: acd keeps no earlier ones. */
void e2b_sandbox_metrics(void *ctx, struct http_req *req)
{
	struct acd *acd = ctx;
	const struct e2b_box *b = box_of(acd, req);
	struct state_call *c;
	struct err err = { 0 };

	if (!b)
		return;
	if (e2b_state(acd->e2b, b) == E2B_PAUSED) {
		http_reply_json(req, 200, json_array());
		return;
	}
	c = call_new(acd, req, b);
	if (!c)
		return;
	c->timer = loop_timer_new(acd->loop, metrics_look, c);
	if (c->timer) {
		metrics_look(c);
		return;
	}
	err_nomem(&err);
	call_refuse(c, &err);
}
