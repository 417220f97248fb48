/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.c - the requests of a client that take time
 *
 * Each is a job. Those for the sandbox of the session come one after the other, in
 * their order: the first of them waits for the sandbox, which it starts.
 */
#include "control/cli/mcp/calls.h"

#include <stdlib.h>
#include <string.h>

#include "control/cli/mcp/command.h"
#include "control/cli/mcp/job.h"
#include "control/cli/mcp/rpc.h"
#include "control/cli/mcp/sandbox.h"
#include "control/shared/json.h"
#include "lib/str.h"

#define FIRST_TICK_MS 1000u
#define TICK_MS 5000u

struct call {
	struct calls *calls;
	struct call *next;
	const struct tool *tool;
	struct protocol_request rq; /* its references are owned here */
	json_t *args;
	struct job *job; /* NULL: it waits */
	struct loop_timer *tick; /* NULL: no progress is wanted */
	uint64_t begin_ms;
	bool answered;
};

struct calls {
	struct loop *loop;
	struct stdio *out;
	const struct mcp_opts *o;
	struct sandbox *sandbox;
	void (*ended)(void *arg);
	void *arg;
	struct call *first; /* in the order in which they came */
	size_t n;
};

static void session_turn(struct calls *c);

/* ---- Answers ---- */

static void answer(struct call *call, json_t *result)
{
	call->answered = true;
	stdio_put(
		call->calls->out,
		rpc_result(call->rq.id,
			   protocol_stamp(&call->rq, call->tool->raw, result)));
}

/* Says why there is no result: to the model, or to the client of a request that
 * is none of a tool. */
static void answer_failure(struct call *call, int code, const char *text)
{
	if (!call->tool->raw) {
		answer(call, tool_failure(text));
		return;
	}
	call->answered = true;
	stdio_put(call->calls->out, rpc_error(call->rq.id, code, text, NULL));
}

static bool is_word(const char *word, const char *of)
{
	return strcmp(word, of) == 0;
}

/* The sandbox of the session has gone, and perhaps its files. */
static void answer_lost(struct call *call, const char *text)
{
	struct calls *c = call->calls;
	SCOPED_STR all = str_printf(
		"%s. The next call starts %s", text,
		c->o->name ? "it again" : "a new one, without its files");

	sandbox_drop(c->sandbox);
	answer_failure(call, RPC_INTERNAL, all ? all : text);
}

static void answer_error(struct call *call, const json_t *error)
{
	const char *word = json_text(error, "code");
	const char *text = json_text(error, "message");

	if (call->tool->session && (is_word(word, COMMAND_LOST) ||
				    is_word(word, COMMAND_NOT_RUNNING) ||
				    is_word(word, COMMAND_NOT_FOUND)))
		answer_lost(call, text);
	else if (is_word(word, COMMAND_NOT_FOUND))
		answer_failure(call,
			       call->rq.modern ? RPC_PARAMS : RPC_NO_RESOURCE,
			       text);
	else
		answer_failure(call, RPC_INTERNAL, text);
}

/* ---- One call ---- */

static void call_free(struct call *call)
{
	struct call **at = &call->calls->first;

	while (*at && *at != call)
		at = &(*at)->next;
	if (*at) {
		*at = call->next;
		call->calls->n--;
	}
	job_kill(call->job);
	loop_timer_free(call->tick);
	json_decref(call->rq.id);
	json_decref(call->rq.token);
	json_decref(call->args);
	free(call);
}

static void job(void *arg, int out)
{
	const struct call *call = arg;
	struct sandbox *sandbox = call->calls->sandbox;
	const struct tool_call tc = {
		.o = call->calls->o,
		.sandbox = call->tool->session ? sandbox_name(sandbox) : NULL,
		.args = call->args,
	};
	struct err err = { 0 };
	json_t *result = NULL;

	if (call->tool->run(&tc, &result, &err) < 0)
		(void)job_tell_error(out, &err);
	else
		(void)job_tell(out, json_pack("{s:o}", "result", result));
}

static void on_told(void *arg, const json_t *what)
{
	struct call *call = arg;
	json_t *result = json_object_get(what, "result");

	if (call->answered)
		return;
	if (!result)
		answer_error(call, json_object_get(what, "error"));
	else
		answer(call, call->tool->raw ? json_incref(result) :
					       tool_result(result));
}

static void on_ended(void *arg)
{
	struct call *call = arg;
	struct calls *c = call->calls;

	call->job = NULL;
	if (!call->answered)
		answer_failure(call, RPC_INTERNAL,
			       "the process that served this call ended");
	call_free(call);
	session_turn(c);
}

static const struct job_ops job_ops = { .told = on_told, .ended = on_ended };

static void call_start(struct call *call)
{
	call->job = job_start(call->calls->loop, job, call, &job_ops, call);
	if (call->job)
		return;
	answer_failure(call, RPC_INTERNAL, "a process could not be started");
	call_free(call);
}

static void on_tick(void *arg)
{
	struct call *call = arg;
	uint64_t ms = clock_ms() - call->begin_ms;
	const char *text =
		call->job || !call->tool->session ? "running" :
		sandbox_state(call->calls->sandbox) == SANDBOX_STARTING ?
						    "starting the sandbox" :
						    "waiting";

	stdio_put(call->calls->out,
		  rpc_notification("notifications/progress",
				   json_pack("{s:O, s:f, s:s}", "progressToken",
					     call->rq.token, "progress",
					     (double)ms / 1000, "message",
					     text)));
	loop_timer_set(call->tick, TICK_MS);
}

/* ---- The session ---- */

static struct call *next_waiting(const struct calls *c)
{
	struct call *call;

	for (call = c->first; call; call = call->next) {
		if (call->tool->session && call->job)
			return NULL; /* one at a time */
		if (call->tool->session)
			return call;
	}
	return NULL;
}

/* Starts the next command of the session, if it can be. */
static void session_turn(struct calls *c)
{
	struct call *call;
	struct err err = { 0 };

	while ((call = next_waiting(c))) {
		if (sandbox_was_lost(c->sandbox)) {
			answer_lost(call, "the sandbox has ended");
			call_free(call);
			continue;
		}
		if (sandbox_state(c->sandbox) == SANDBOX_READY) {
			call_start(call);
			continue;
		}
		if (sandbox_want(c->sandbox, &err) == 0)
			return; /* on_sandbox() goes on */
		answer_failure(call, RPC_INTERNAL, err.msg);
		call_free(call);
	}
}

static void on_sandbox(void *arg, const char *why)
{
	struct calls *c = arg;
	struct call *call;

	while (why && (call = next_waiting(c))) {
		SCOPED_STR text = str_printf("no sandbox: %s", why);

		answer_failure(call, RPC_INTERNAL, text ? text : why);
		call_free(call);
	}
	session_turn(c);
}

static void on_sandbox_ended(void *arg)
{
	const struct calls *c = arg;

	c->ended(c->arg);
}

/* ---- All ---- */

static bool is_known(const struct calls *c, const json_t *id)
{
	const struct call *call;

	for (call = c->first; call; call = call->next)
		if (rpc_same_id(call->rq.id, id))
			return true;
	return false;
}

static void append(struct calls *c, struct call *call)
{
	struct call **at = &c->first;

	while (*at)
		at = &(*at)->next;
	*at = call;
	c->n++;
}

/* Returns a copy of the request, at the end of the list; NULL without memory. */
static struct call *call_new(struct calls *c, const struct tool *t,
			     const struct protocol_request *rq, json_t *args)
{
	struct call *call = calloc(1, sizeof(*call));

	if (!call)
		return NULL;
	*call = (struct call){
		.calls = c, .tool = t, .rq = *rq, .begin_ms = clock_ms()
	};
	json_incref(rq->id);
	json_incref(rq->token);
	call->args = args ? json_incref(args) : json_object();
	if (rq->token)
		call->tick = loop_timer_new(c->loop, on_tick, call);
	append(c, call);
	if (call->args && (call->tick || !rq->token))
		return call;
	call_free(call);
	return NULL;
}

void calls_begin(struct calls *c, const struct tool *t,
		 const struct protocol_request *rq, json_t *args)
{
	struct err err = { 0 };
	struct tool_call tc = { .o = c->o };
	struct call *call;

	if (c->n >= CALLS_MAX || is_known(c, rq->id)) {
		bool busy = c->n >= CALLS_MAX;

		stdio_put(c->out,
			  rpc_error(rq->id, busy ? RPC_BUSY : RPC_INVALID,
				    busy ? "too many requests at once" :
					   "a request with this id is served",
				    NULL));
		return;
	}
	call = call_new(c, t, rq, args);
	if (!call) {
		stdio_put(c->out, NULL);
		return;
	}
	tc.args = call->args;
	if (tool_check(t, &tc, &err) < 0) {
		answer_failure(call, RPC_PARAMS, err.msg);
		call_free(call);
		return;
	}
	if (call->tick)
		loop_timer_set(call->tick, FIRST_TICK_MS);
	if (t->session)
		session_turn(c);
	else
		call_start(call);
}

void calls_cancel(struct calls *c, const json_t *id)
{
	struct call *call = c->first;

	while (call && !rpc_same_id(call->rq.id, id))
		call = call->next;
	if (!call)
		return;
	call_free(call);
	session_turn(c);
}

void calls_end(struct calls *c)
{
	while (c->first)
		call_free(c->first);
	sandbox_end(c->sandbox);
}

struct calls *calls_new(struct loop *l, struct stdio *out,
			const struct mcp_opts *o, void (*ended)(void *arg),
			void *arg)
{
	static const struct sandbox_ops ops = { .started = on_sandbox,
						.ended = on_sandbox_ended };
	struct calls *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	*c = (struct calls){
		.loop = l, .out = out, .o = o, .ended = ended, .arg = arg
	};
	c->sandbox = sandbox_new(l, o, &ops, c);
	if (c->sandbox)
		return c;
	free(c);
	return NULL;
}

void calls_free(struct calls *c)
{
	if (!c)
		return;
	while (c->first)
		call_free(c->first);
	sandbox_free(c->sandbox);
	free(c);
}
