/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.c - an MCP server on stdin and stdout
 *
 * Theory of operation: one epoll loop, which never waits for anything else. A
 * message is answered at once, but for a call of a tool, which is a job (calls.c):
 * so a ping is answered and a cancellation is heard while commands run.
 *
 * stdout has nothing but the protocol; what else there is to say goes to stderr.
 * The client is trusted as the user is, but its model is not: what it sends is
 * checked here, and what a sandbox wrote comes back as data only.
 *
 * The end is in two steps. What runs is killed, and the sandbox of the session is
 * ended; when it has, or after some seconds, the loop stops. A second signal does
 * not wait for that.
 */
#include "control/cli/mcp/server.h"

#include <signal.h>
#include <string.h>

#include "control/cli/mcp/calls.h"
#include "control/cli/mcp/full.h"
#include "control/cli/mcp/one.h"
#include "control/cli/mcp/resources.h"
#include "control/cli/mcp/rpc.h"
#include "control/shared/json.h"

#define FLUSH_MS 1000u /* for the last answers */
#define FLUSH_STEP_MS 10u

struct server {
	const struct mcp_opts *o;
	struct loop *loop;
	struct stdio *io;
	struct calls *calls;
	struct loop_timer *flush_timer;
	uint64_t flush_until; /* 0: it does not flush yet */
	bool shaken; /* "initialize" has come */
	bool ending;
};

struct request {
	struct server *s;
	struct protocol_request p;
	json_t *params; /* NULL: none */
};

/* ---- Answers ---- */

static void refuse(const struct request *rq, int code, const char *text)
{
	stdio_put(rq->s->io, rpc_error(rq->p.id, code, text, NULL));
}

static void reply(const struct request *rq, bool listed, json_t *result)
{
	stdio_put(rq->s->io,
		  rpc_result(rq->p.id, protocol_stamp(&rq->p, listed, result)));
}

/* ---- Methods ---- */

static void on_initialize(const struct request *rq)
{
	struct err err = { 0 };
	int code;
	json_t *result = protocol_initialize(rq->params, rq->s->o->full, NULL,
					     &code, &err);

	if (!result) {
		refuse(rq, code, err.msg);
		return;
	}
	rq->s->shaken = true;
	reply(rq, false, result);
}

static void on_ping(const struct request *rq)
{
	reply(rq, false, json_object());
}

static void on_discover(const struct request *rq)
{
	reply(rq, true, protocol_discover(rq->s->o->full, NULL));
}

/* The tools, the last is NULL. */
static const struct tool *const *tools_of(const struct mcp_opts *o)
{
	static const struct tool *const one[] = { &one_tool, NULL };

	return o->full ? full_tools : one;
}

/* All fit in one page: there is no cursor that we gave. */
static bool has_cursor(const struct request *rq)
{
	if (!json_object_get(rq->params, "cursor"))
		return false;
	refuse(rq, RPC_PARAMS, "'cursor' is none that was given");
	return true;
}

static void on_tools_list(const struct request *rq)
{
	const struct tool *const *t = tools_of(rq->s->o);
	json_t *list = json_array();

	if (has_cursor(rq)) {
		json_decref(list);
		return;
	}
	for (; list && *t; t++) {
		if (json_array_append_new(list, tool_entry(*t, rq->s->o)) < 0) {
			json_decref(list);
			list = NULL;
		}
	}
	reply(rq, true, list ? json_pack("{s:o}", "tools", list) : NULL);
}

static void on_tools_call(const struct request *rq)
{
	const char *name =
		json_string_value(json_object_get(rq->params, "name"));
	json_t *args = json_object_get(rq->params, "arguments");
	const struct tool *const *t = tools_of(rq->s->o);

	if (!name || (args && !json_is_object(args))) {
		refuse(rq, RPC_PARAMS,
		       name ? "'arguments' must be an object" :
			      "'name' must be a string");
		return;
	}
	while (*t && strcmp((*t)->name, name) != 0)
		t++;
	if (!*t)
		refuse(rq, RPC_PARAMS, "there is no tool of this name");
	else
		calls_begin(rq->s->calls, *t, &rq->p, args);
}

static void on_resources_list(const struct request *rq)
{
	if (!has_cursor(rq))
		calls_begin(rq->s->calls, &resources_list, &rq->p, NULL);
}

static void on_resources_read(const struct request *rq)
{
	calls_begin(rq->s->calls, &resources_read, &rq->p, rq->params);
}

static void on_templates_list(const struct request *rq)
{
	if (!has_cursor(rq))
		reply(rq, true, resources_templates());
}

static const struct method {
	const char *name;
	void (*serve)(const struct request *rq);
	enum {
		AT_ONCE, /* before "initialize", too */
		BEGUN,
		FULL, /* the same, and there are all tools */
	} when;
} methods[] = {
	{ "initialize", on_initialize, AT_ONCE },
	{ "ping", on_ping, AT_ONCE },
	{ "server/discover", on_discover, BEGUN },
	{ "tools/list", on_tools_list, BEGUN },
	{ "tools/call", on_tools_call, BEGUN },
	{ "resources/list", on_resources_list, FULL },
	{ "resources/read", on_resources_read, FULL },
	{ "resources/templates/list", on_templates_list, FULL },
};

static void on_request(struct server *s, const struct rpc_message *m)
{
	struct request rq = { .s = s, .p.id = m->id, .params = m->params };
	const struct method *found = NULL;
	struct err err = { 0 };
	json_t *data = NULL;
	int code = protocol_read(m->params, &rq.p, &data, &err);

	if (code != 0) {
		stdio_put(s->io, rpc_error(m->id, code, err.msg, data));
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (strcmp(methods[i].name, m->method) == 0 &&
		    (methods[i].when != FULL || s->o->full))
			found = &methods[i];
	if (!found)
		refuse(&rq, RPC_NO_METHOD, "there is no such method");
	else if (found->when != AT_ONCE && !rq.p.modern && !s->shaken)
		refuse(&rq, RPC_INVALID,
		       "it begins with 'initialize', or says its revision in "
		       "'_meta'");
	else
		found->serve(&rq);
}

static void on_notification(struct server *s, const struct rpc_message *m)
{
	const json_t *id = json_object_get(m->params, "requestId");

	if (strcmp(m->method, "notifications/cancelled") == 0)
		calls_cancel(s->calls, id);
}

static void on_line(void *arg, struct slice line)
{
	struct server *s = arg;
	struct rpc_message m = { 0 };
	struct err err = { 0 };
	int code;

	if (s->ending)
		return;
	if (!line.ptr) {
		stdio_put(s->io,
			  rpc_error(NULL, RPC_INVALID,
				    "a message has at most 16 MiB", NULL));
		return;
	}
	code = rpc_parse(line, &m, &err);
	if (code != 0)
		stdio_put(s->io, rpc_error(m.id, code, err.msg, NULL));
	else if (m.kind == RPC_REQUEST)
		on_request(s, &m);
	else if (m.kind == RPC_NOTIFICATION)
		on_notification(s, &m);
	rpc_message_done(&m);
}

/* ---- The end ---- */

static void begin_end(struct server *s)
{
	if (s->ending)
		return;
	s->ending = true;
	stdio_deaf(s->io);
	calls_end(s->calls);
}

static void on_gone(void *arg)
{
	begin_end(arg);
}

static void on_signal(void *arg, int signo)
{
	struct server *s = arg;

	(void)signo;
	if (s->ending)
		loop_stop(s->loop, 0);
	else
		begin_end(s);
}

/* The client may still read its last answers. */
static void on_flush_timer(void *arg)
{
	struct server *s = arg;

	if (!stdio_waits(s->io) || clock_ms() >= s->flush_until)
		loop_stop(s->loop, 0);
	else
		loop_timer_set(s->flush_timer, FLUSH_STEP_MS);
}

static void on_ended(void *arg)
{
	struct server *s = arg;

	s->flush_until = clock_ms() + FLUSH_MS;
	loop_timer_set(s->flush_timer, 0);
}

/* ---- The beginning ---- */

static int watch_signals(struct server *s)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	signal(SIGPIPE, SIG_IGN);
	return loop_signals(s->loop, &set, on_signal, s);
}

static int begin(struct server *s, int in, int out, struct err *err)
{
	static const struct stdio_ops ops = { .line = on_line,
					      .gone = on_gone };
	int rc;

	s->loop = loop_new();
	if (!s->loop)
		return err_sys(err, "epoll");
	rc = watch_signals(s);
	if (rc < 0)
		return err_set(err, rc, "signalfd: %s", err_text(rc));
	s->io = stdio_new(s->loop, in, out, &ops, s);
	if (!s->io)
		return err_sys(err, "stdin");
	s->flush_timer = loop_timer_new(s->loop, on_flush_timer, s);
	s->calls = calls_new(s->loop, s->io, s->o, on_ended, s);
	return s->flush_timer && s->calls ? 0 : err_nomem(err);
}

int server_serve(const struct mcp_opts *o, int in, int out, struct err *err)
{
	struct server s = { .o = o };
	int rc = begin(&s, in, out, err);

	if (rc == 0)
		rc = loop_run(s.loop);
	calls_free(s.calls);
	stdio_free(s.io);
	if (s.loop)
		loop_timer_free(s.flush_timer);
	loop_free(s.loop);
	return rc;
}
