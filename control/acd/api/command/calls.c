/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.c - commands of an instance, for clients that speak plain HTTP
 *
 * A command is waited for, streamed, or detached. The first two belong to the
 * request that started them: if its client leaves, they are killed.
 */
#include <string.h>

#include "control/acd/api/command/ask.h"
#include "control/acd/api/command/events.h"
#include "control/acd/api/command/say.h"
#include "control/acd/api/instance_calls.h"
#include "control/shared/json.h"

static void reply_refusal(struct http_req *req, const struct instance *in,
			  struct err *err)
{
	switch (err->code) {
	case -ENOTCONN:
		api_reply_not_running(req, instance_record(in)->name);
		return;
	case INSTANCE_IS_PAUSED:
		api_reply_paused(req, err);
		return;
	case -EMFILE:
		err->code = -EBUSY;
		http_reply_error(req, err, "too_many_commands");
		return;
	case -ENOBUFS:
		err->code = -EAGAIN; /* the sandbox does not answer: 503 */
		break;
	default:
		break;
	}
	http_reply_error(req, err, NULL);
}

/* Returns the command in the path, or NULL after an answer. */
static struct command *command_of(struct acd *acd, struct http_req *req)
{
	struct instance *in = api_instance_of(acd, req);
	const char *id = http_param(req, "id");
	struct command *c = in && id ? command_by_id(in, id) : NULL;
	struct err err = { 0 };

	if (c || !in)
		return c;
	err_set(&err, -ENOENT,
		"'%s' has no such command: it was not started here, or it was "
		"forgotten",
		instance_record(in)->name);
	http_reply_error(req, &err, "unknown_command");
	return NULL;
}

/* ---- one that is waited for ---- */

struct wait_call {
	struct http_req *req;
	struct command_reader *reader;
};

/* Ends the command if it still runs. */
static void wait_free(struct wait_call *w)
{
	struct command *c = w->reader ? command_reader_of(w->reader) : NULL;

	command_reader_free(w->reader);
	command_remove(c);
	free(w);
}

static void wait_abort(void *arg)
{
	wait_free(arg);
}

static void wait_told(void *arg)
{
	struct wait_call *w = arg;
	struct command *c = command_reader_of(w->reader);
	struct err err = { 0 };

	if (c && !command_view(c)->ended)
		return;
	if (c) {
		http_reply_json(w->req, 200, say_command(c, true));
	} else {
		err_set(&err, -EBUSY,
			"the command was removed, or its instance");
		http_reply_error(w->req, &err, "removed");
	}
	wait_free(w);
}

static void wait_begin(struct http_req *req, struct command *c)
{
	struct wait_call *w = calloc(1, sizeof(*w));
	struct err err = { 0 };

	if (w)
		w->reader = command_reader_new(c, wait_told, w);
	if (!w || !w->reader) {
		free(w);
		command_remove(c);
		err_nomem(&err);
		http_reply_error(req, &err, NULL);
		return;
	}
	w->req = req;
	http_on_abort(req, wait_abort, w);
}

/* ---- start ---- */

void api_command_start(void *ctx, struct http_req *req)
{
	struct acd *acd = ctx;
	struct instance *in = api_instance_of(acd, req);
	struct command *c = NULL;
	struct err err = { 0 };
	struct ask ask = { 0 };
	int rc;

	if (!in)
		return;
	rc = ask_read(http_body(req), events_are_wanted(req), &ask, &err);
	if (rc == 0)
		rc = command_start(in, &ask.command, &c, &err);
	if (rc < 0)
		reply_refusal(req, in, &err);
	else if (ask.command.keep == COMMAND_LAST)
		http_reply_json(req, 201, say_command(c, false));
	else if (ask.command.keep == COMMAND_PASS)
		events_answer(acd->loop, req, c, true);
	else
		wait_begin(req, c);
	ask_done(&ask);
}

/* ---- those that are there ---- */

void api_command_list(void *ctx, struct http_req *req)
{
	struct instance *in = api_instance_of(ctx, req);
	struct command *c = NULL;
	json_t *list;

	if (!in)
		return;
	list = json_array();
	while ((c = command_next(in, c)))
		json_array_append_new(list, say_command(c, false));
	http_reply_json(req, 200, json_pack("{s:o}", "commands", list));
}

void api_command_get(void *ctx, struct http_req *req)
{
	struct command *c = command_of(ctx, req);

	if (c)
		http_reply_json(req, 200, say_command(c, true));
}

void api_command_events(void *ctx, struct http_req *req)
{
	struct acd *acd = ctx;
	struct command *c = command_of(acd, req);
	struct err err = { 0 };

	if (!c)
		return;
	if (command_view(c)->keep == COMMAND_LAST) {
		events_answer(acd->loop, req, c, false);
		return;
	}
	err_set(&err, -EBUSY,
		"the command is not detached: its output goes to the client "
		"that started it");
	http_reply_error(req, &err, "not_detached");
}

void api_command_remove(void *ctx, struct http_req *req)
{
	struct command *c = command_of(ctx, req);

	if (!c)
		return;
	command_remove(c);
	http_reply_empty(req);
}

/* ---- input and signals ---- */

static void reply_ended(struct http_req *req)
{
	struct err err = { 0 };

	err_set(&err, -EBUSY, "the command has ended");
	http_reply_error(req, &err, "ended");
}

/* A sandbox that is frozen takes neither. Returns false after an answer. */
static bool may_reach(struct http_req *req, struct acd *acd)
{
	struct instance *in = api_instance_of(acd, req);
	struct err err = { 0 };

	if (!in)
		return false;
	if (instance_record(in)->state != INSTANCE_PAUSED)
		return true;
	instance_paused_error(in, &err);
	api_reply_paused(req, &err);
	return false;
}

static void reply_input(struct http_req *req, const struct command *c, int rc)
{
	struct err err = { 0 };

	if (rc == 0) {
		http_reply_empty(req);
	} else if (command_view(c)->ended) {
		reply_ended(req);
	} else if (rc == -EPIPE) {
		err_set(&err, -EBUSY,
			"the command takes no input: it was started without "
			"stdin_open, or its input was closed");
		http_reply_error(req, &err, "stdin_closed");
	} else if (rc == -ENOBUFS) {
		err_set(&err, -EAGAIN,
			"the command has not read what was sent: at most %u "
			"KiB wait for it",
			COMMAND_INPUT_MAX / 1024);
		http_reply_error(req, &err, "stdin_full");
	} else {
		err_nomem(&err);
		http_reply_error(req, &err, NULL);
	}
}

void api_command_stdin(void *ctx, struct http_req *req)
{
	struct command *c = command_of(ctx, req);
	const json_t *body = http_body(req);
	struct ask_input in = { 0 };
	struct err err = { 0 };

	if (!c || !may_reach(req, ctx))
		return;
	if (ask_input_read(body, "data", "base64", &in, &err) < 0)
		http_reply_error(req, &err, NULL);
	else
		reply_input(req, c,
			    command_input(c, in.data, api_flag(body, "close")));
	ask_input_done(&in);
}

void api_command_signal(void *ctx, struct http_req *req)
{
	struct command *c = command_of(ctx, req);
	struct err err = { 0 };
	uint64_t signo;
	int rc;

	if (!c || !may_reach(req, ctx))
		return;
	signo = api_number(http_body(req), "signal", 0);
	if (signo == 0) {
		jsonx_refuse(&err, "signal", "must be given, 1 to 64");
		http_reply_error(req, &err, NULL);
		return;
	}
	rc = command_signal(c, (uint32_t)signo);
	if (rc == 0) {
		http_reply_empty(req);
	} else if (rc == -EPIPE) {
		reply_ended(req);
	} else {
		err_set(&err, -EAGAIN, "the sandbox does not answer");
		http_reply_error(req, &err, NULL);
	}
}
