/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_calls.c - the commands of a sandbox, as E2B's SDKs ask for them
 *
 * They are detached commands of the instance (instance/command/), which go on if
 * their client leaves. One is meant by its pid, as long as it runs.
 */
#include <errno.h>
#include <string.h>

#include "control/acd/api/e2b/ask.h"
#include "control/acd/api/e2b/box_calls.h"
#include "control/acd/api/e2b/connect.h"
#include "control/acd/api/e2b/box/process_stream.h"
#include "control/acd/api/e2b/routes.h"
#include "control/acd/api/e2b/say.h"
#include "control/acd/instance/command/command.h"
#include "control/shared/json.h"

static struct command *command_of(struct instance *in, uint32_t pid,
				  struct err *err)
{
	struct command *c = NULL;

	while ((c = command_next(in, c))) {
		if (command_view(c)->pid == pid && !command_view(c)->ended)
			return c;
	}
	err_set(err, -ENOENT, "no command with the pid %u runs", pid);
	return NULL;
}

/* Reads the message of a unary call and finds the command that it means. Returns
 * NULL after an answer. The caller releases *@ret. */
static struct command *unary_command(struct acd *acd, struct http_req *req,
				     json_t **ret)
{
	struct instance *in;
	struct command *c = NULL;
	struct err err = { 0 };
	uint32_t pid = 0;

	*ret = NULL;
	in = box_instance(acd, req, &err);
	if (in && connect_read(http_body_bytes(req), ret, &err) == 0 &&
	    ask_pid(*ret, &pid, &err) == 0)
		c = command_of(in, pid, &err);
	if (!c)
		say_connect_error(req, &err);
	return c;
}

/* Answers as a change of a command has ended. */
static void reply(struct http_req *req, int rc, const char *what)
{
	struct err err = { 0 };

	if (rc == 0) {
		http_reply_json(req, 200, json_object());
		return;
	}
	err_set(&err, rc, "%s", what);
	say_connect_error(req, &err);
}

/* ---- streams ---- */

static int start(struct acd *acd, struct http_req *req, struct ask_start *ask,
		 struct command **ret, struct err *err)
{
	SCOPED_JSON body = NULL;
	struct command_ask command = {
		.keep = COMMAND_LAST,
		.max = COMMAND_OUTPUT_DEFAULT,
		.paced = true,
	};
	struct instance *in = box_instance(acd, req, err);
	int rc = in ? 0 : err->code;

	if (rc == 0)
		rc = ask_user(http_header(req, "Authorization"), err);
	if (rc == 0)
		rc = connect_read_one(http_body_bytes(req), &body, err);
	if (rc == 0)
		rc = ask_start(body, ask, err);
	if (rc == 0)
		rc = connect_timeout(http_header(req, "Connect-Timeout-Ms"),
				     &ask->options.timeout_ms, err);
	command.options = ask->options;
	command.input_open = ask->input;
	return rc == 0 && in ? command_start(in, &command, ret, err) : rc;
}

void e2b_process_start(void *ctx, struct http_req *req)
{
	struct acd *acd = ctx;
	struct ask_start ask = { 0 };
	struct command *c = NULL;
	struct err err = { 0 };

	if (start(acd, req, &ask, &c, &err) == 0)
		process_stream(acd->loop, req, c, true);
	else
		process_stream_refuse(req, &err);
	run_options_done(&ask.options);
}

void e2b_process_connect(void *ctx, struct http_req *req)
{
	struct acd *acd = ctx;
	SCOPED_JSON body = NULL;
	struct command *c = NULL;
	struct err err = { 0 };
	struct instance *in = box_instance(acd, req, &err);
	uint32_t pid = 0;

	if (in && connect_read_one(http_body_bytes(req), &body, &err) == 0 &&
	    ask_pid(body, &pid, &err) == 0)
		c = command_of(in, pid, &err);
	if (c)
		process_stream(acd->loop, req, c, false);
	else
		process_stream_refuse(req, &err);
}

/* ---- one answer ---- */

static json_t *command_json(const struct command_view *v)
{
	json_t *args = json_array();

	for (size_t i = 1; i < v->argv.n; i++)
		json_array_append_new(args, jsonx_text(v->argv.v[i]));
	return json_pack("{s:I, s:{s:o, s:o}}", "pid", (json_int_t)v->pid,
			 "config", "cmd",
			 jsonx_text(v->argv.n > 0 ? v->argv.v[0] : ""), "args",
			 args);
}

void e2b_process_list(void *ctx, struct http_req *req)
{
	struct err err = { 0 };
	struct instance *in = box_instance(ctx, req, &err);
	struct command *c = NULL;
	json_t *list;

	if (!in) {
		say_connect_error(req, &err);
		return;
	}
	list = json_array();
	while ((c = command_next(in, c))) {
		const struct command_view *v = command_view(c);

		if (v->pid && !v->ended)
			json_array_append_new(list, command_json(v));
	}
	http_reply_json(req, 200, json_pack("{s:o}", "processes", list));
}

void e2b_process_update(void *ctx, struct http_req *req)
{
	json_t *body;
	struct command *c = unary_command(ctx, req, &body);
	const json_t *pty = json_object_get(body, "pty");
	struct err err = { 0 };
	uint16_t rows = 0, cols = 0;

	if (c && !command_view(c)->tty)
		err_set(&err, -EBUSY, "the command has no terminal");
	else if (c)
		ask_size(pty, &rows, &cols, &err);
	if (c && err.code)
		say_connect_error(req, &err);
	else if (c)
		reply(req, rows && cols ? command_resize(c, rows, cols) : 0,
		      "the command has ended");
	json_decref(body);
}

/* Sends input to a command. Returns 0 or fails with @err. */
static int send_input(struct command *c, const json_t *message, struct err *err)
{
	uint8_t *mem = NULL;
	struct slice data;
	int rc = ask_input(message, &mem, &data, err);

	if (rc == 0)
		rc = command_input(c, data, false);
	if (rc == -EPIPE)
		err_set(err, rc,
			"the command takes no input: it was started without "
			"stdin, or its input was closed");
	else if (rc == -ENOBUFS)
		err_set(err, -EMSGSIZE,
			"the command has not read what was sent: at most %u "
			"KiB wait for it",
			COMMAND_INPUT_MAX / 1024);
	else if (rc < 0 && !err->code)
		err_nomem(err);
	free(mem);
	return err->code;
}

void e2b_process_input(void *ctx, struct http_req *req)
{
	json_t *body;
	struct command *c = unary_command(ctx, req, &body);
	struct err err = { 0 };

	if (c && send_input(c, body, &err) < 0)
		say_connect_error(req, &err);
	else if (c)
		http_reply_json(req, 200, json_object());
	json_decref(body);
}

void e2b_process_signal(void *ctx, struct http_req *req)
{
	json_t *body;
	struct command *c = unary_command(ctx, req, &body);
	struct err err = { 0 };
	uint32_t signo = 0;

	if (c && ask_signal(body, &signo, &err) < 0)
		say_connect_error(req, &err);
	else if (c)
		reply(req, command_signal(c, signo), "the command has ended");
	json_decref(body);
}

void e2b_process_close(void *ctx, struct http_req *req)
{
	json_t *body;
	struct command *c = unary_command(ctx, req, &body);

	if (c)
		reply(req, command_input(c, slice_of(NULL, 0), true),
		      "the command takes no input, or it was closed already");
	json_decref(body);
}

/* ---- a stream of input ---- */

struct input_call {
	struct acd *acd;
	struct http_req *req;
	struct buf rest; /* an envelope that is not complete */
	uint32_t pid; /* 0: not said yet */
	struct err err;
};

static void input_free(void *arg)
{
	struct input_call *c = arg;

	buf_done(&c->rest);
	free(c);
}

static int input_message(struct input_call *c, struct slice text)
{
	SCOPED_JSON v = NULL;
	struct instance *in = box_instance(c->acd, c->req, &c->err);
	const json_t *start, *data;
	struct command *command;
	int rc = in ? connect_read(text, &v, &c->err) : c->err.code;

	if (rc < 0)
		return rc;
	start = json_object_get(v, "start");
	data = json_object_get(v, "data");
	if (start)
		return ask_pid(start, &c->pid, &c->err);
	if (!data)
		return 0; /* a sign of life */
	command = command_of(in, c->pid, &c->err);
	return command ? send_input(command, data, &c->err) : c->err.code;
}

static size_t input_take(void *arg, struct slice data)
{
	struct input_call *c = arg;
	struct slice in, message;
	bool last;
	int rc;

	if (c->err.code)
		return data.len;
	if (buf_append(&c->rest, data.ptr, data.len) < 0) {
		err_set(&c->err, -EMSGSIZE, "a message is too large");
		return data.len;
	}
	in = buf_slice(&c->rest);
	while ((rc = connect_next(&in, &last, &message)) == 0) {
		if (!last && input_message(c, message) < 0)
			break;
	}
	if (rc == -EBADMSG)
		err_set(&c->err, -EINVAL, "the body must be envelopes");
	buf_consume(&c->rest, buf_len(&c->rest) - in.len);
	return data.len;
}

/* A client's stream is answered by one, too: of one message. */
static void input_end(void *arg)
{
	struct input_call *c = arg;
	struct http_req *req = c->req;
	struct err err = c->err;
	struct http_stream *s;
	uint8_t *mem;
	size_t len = 0;

	input_free(c);
	http_on_abort(req, NULL, NULL);
	if (err.code) {
		process_stream_refuse(req, &err);
		return;
	}
	s = http_reply_stream(req, CONNECT_STREAM, NULL, NULL, NULL);
	for (int i = 0; s && i < 2; i++) {
		mem = connect_envelope(i == 1, json_object(), &len);
		if (mem)
			(void)http_stream_write(s, mem, len);
		free(mem);
	}
	if (s)
		http_stream_end(s);
}

void e2b_process_stream(void *ctx, struct http_req *req)
{
	struct input_call *c = calloc(1, sizeof(*c));
	struct err err = { 0 };

	if (!c) {
		err_nomem(&err);
		process_stream_refuse(req, &err);
		return;
	}
	c->acd = ctx;
	c->req = req;
	buf_init(&c->rest, 2 * CONNECT_MESSAGE_MAX);
	http_on_abort(req, input_free, c);
	http_body_take(req, input_take, input_end, c);
}
