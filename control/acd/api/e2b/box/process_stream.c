/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_stream.c - a command's beginning, output and end as a stream of Connect
 *
 * Theory of operation: as of a command's server-sent events (command/events.c). A
 * stream is a reader of the command, which is paced: it takes a piece only if its
 * event is sure to fit, and a client that does not read holds up the command. One
 * that has left does not.
 *
 * The first event has the pid, so that nothing is sent before that is known.
 */
#include "control/acd/api/e2b/box/process_stream.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "control/acd/api/e2b/connect.h"
#include "lib/str.h"

#define EVENT_BYTES 16384u /* of output in one event */
#define BASE64_MAX \
	sodium_base64_ENCODED_LEN(EVENT_BYTES, sodium_base64_VARIANT_ORIGINAL)
#define EVENT_ROOM (BASE64_MAX + 1024)
#define PING_S 50u
#define PING_MIN_S 1u
#define PING_MAX_S 600u

static_assert(EVENT_ROOM <= HTTP_STREAM_MAX / 2,
	      "the stream tells of room for an event");

struct process_stream {
	struct http_stream *stream;
	struct command_reader *reader;
	struct loop_timer *ping;
	uint64_t ping_ms;
	bool begun; /* the first event was sent */
};

static void stream_free(struct process_stream *p)
{
	command_reader_free(p->reader);
	loop_timer_free(p->ping);
	free(p);
}

static void stream_abort(void *arg)
{
	stream_free(arg);
}

/* ---- events ---- */

static int put(struct process_stream *p, bool last, json_t *takes_message)
{
	size_t len = 0;
	uint8_t *mem = connect_envelope(last, takes_message, &len);
	int rc = mem ? http_stream_write(p->stream, mem, len) : -ENOMEM;

	free(mem);
	return rc;
}

static int put_event(struct process_stream *p, const char *kind,
		     json_t *takes_event)
{
	return put(p, false,
		   json_pack("{s:{s:o}}", "event", kind, takes_event));
}

static int put_data(struct process_stream *p, const char *stream,
		    const uint8_t *data, size_t len)
{
	char text[BASE64_MAX];

	sodium_bin2base64(text, sizeof(text), data, len,
			  sodium_base64_VARIANT_ORIGINAL);
	return put_event(p, "data", json_pack("{s:s}", stream, text));
}

static int put_last(struct process_stream *p, const struct err *err)
{
	int rc = put(p, true,
		     err ? json_pack("{s:o}", "error", connect_error(err)) :
			   json_object());

	return rc < 0 ? rc : 1;
}

/* ---- the end ---- */

static int put_exit(struct process_stream *p, int code, bool exited,
		    const char *status)
{
	json_t *end = json_pack("{s:i, s:b, s:s}", "exitCode", code, "exited",
				exited, "status", status);
	int rc;

	if (end && !exited)
		json_object_set_new(end, "error", json_string(status));
	rc = put_event(p, "end", end);
	return rc < 0 ? rc : put_last(p, NULL);
}

/* An end that is no exit of the command's own. */
static int end_error(const struct link_exit *x, bool sandbox_ended,
		     struct err *err)
{
	if (sandbox_ended)
		return err_set(err, -ENOTCONN,
			       "The sandbox was not found: it has ended, and "
			       "the command with it");
	switch (x->kind) {
	case LINK_NOEXEC:
		return err_set(err, -EINVAL, "the command cannot be run: %s",
			       err_text(-(int)x->value));
	case LINK_NOCWD:
		return err_set(err, -EINVAL,
			       "the working directory cannot be entered: %s",
			       err_text(-(int)x->value));
	case LINK_TIMEOUT:
		return err_set(err, -ETIMEDOUT,
			       "the command was ended after its timeout");
	default:
		return err_set(err, -ECONNRESET, "the command was lost");
	}
}

static int put_end(struct process_stream *p, const struct command_view *v)
{
	const struct link_exit *x = &v->exit;
	struct err err = { 0 };
	char text[64];

	if (!v->sandbox_ended && x->kind == LINK_EXITED && p->begun) {
		snprintf(text, sizeof(text), "exit status %u", x->value);
		return put_exit(p, (int)x->value, true, text);
	}
	if (!v->sandbox_ended && x->kind == LINK_SIGNALED && p->begun) {
		snprintf(text, sizeof(text), "signal: %s",
			 sigdescr_np((int)x->value) ?
				 sigdescr_np((int)x->value) :
				 "unknown");
		return put_exit(p, -1, false, text);
	}
	end_error(x, v->sandbox_ended, &err);
	return put_last(p, &err);
}

/* ---- the stream ---- */

static const char *stream_name(const struct command_view *v,
			       enum output_stream s)
{
	if (v->tty)
		return "pty";
	return s == OUTPUT_STDERR ? "stderr" : "stdout";
}

static int put_start(struct process_stream *p, uint32_t pid)
{
	p->begun = true;
	return put_event(p, "start",
			 json_pack("{s:I}", "pid", (json_int_t)pid));
}

static int put_lost(struct process_stream *p, uint64_t bytes)
{
	struct err err = { 0 };

	err_set(&err, -ENOSPC, "%llu bytes of output are not kept any more",
		(unsigned long long)bytes);
	return put_last(p, &err);
}

/* Returns 1 if the stream is complete, 0 if it is not, or a negative errno. */
static int stream_write(struct process_stream *p)
{
	struct command *c = command_reader_of(p->reader);
	const struct command_view *v;
	uint8_t data[EVENT_BYTES];
	struct output_piece piece;
	struct err err = { 0 };
	int rc = 0;

	if (!c) {
		err_set(&err, -ENOTCONN,
			"The sandbox was not found: it was killed, and the "
			"command with it");
		return put_last(p, &err);
	}
	v = command_view(c);
	if (!p->begun && v->pid)
		rc = put_start(p, v->pid);
	/* What stands in the output of one that has not begun is not its own. */
	if (!p->begun)
		return v->ended ? put_end(p, v) : rc;
	while (rc == 0 && http_stream_room(p->stream) >= EVENT_ROOM) {
		command_reader_peek(p->reader, data, sizeof(data), &piece);
		if (piece.lost > 0)
			return put_lost(p, piece.lost);
		if (piece.len == 0)
			return v->ended ? put_end(p, v) : 0;
		rc = put_data(p, stream_name(v, piece.stream), data, piece.len);
		command_reader_take(p->reader, piece.len);
	}
	return rc;
}

/* May free @arg. */
static void stream_pump(void *arg)
{
	struct process_stream *p = arg;
	int rc = stream_write(p);

	if (rc == 0)
		return;
	/* Without memory the client's connection breaks, so that it knows. */
	if (rc < 0)
		http_stream_fail(p->stream);
	else
		http_stream_end(p->stream);
	stream_free(p);
}

static void stream_ping(void *arg)
{
	struct process_stream *p = arg;

	loop_timer_set(p->ping, p->ping_ms);
	/* If there is no room, the client does not read. */
	if (p->begun && http_stream_room(p->stream) >= EVENT_ROOM)
		(void)put_event(p, "keepalive", json_object());
}

static uint64_t ping_ms(struct http_req *req)
{
	const char *text = http_header(req, "Keepalive-Ping-Interval");
	uint64_t s;

	if (!text || str_parse_u64(text, PING_MIN_S, PING_MAX_S, &s) < 0)
		s = PING_S;
	return s * 1000;
}

static struct process_stream *stream_new(struct loop *loop, struct command *c,
					 struct err *err)
{
	struct process_stream *p = calloc(1, sizeof(*p));

	errno = ENOMEM;
	if (p)
		p->ping = loop_timer_new(loop, stream_ping, p);
	if (p && p->ping)
		p->reader = command_reader_new(c, stream_pump, p);
	if (p && p->reader)
		return p;
	if (errno == EMFILE)
		err_set(err, -EMFILE, "%u clients follow this command already",
			COMMAND_READERS_MAX);
	else
		err_nomem(err);
	if (p)
		stream_free(p);
	return NULL;
}

void process_stream(struct loop *loop, struct http_req *req, struct command *c,
		    bool started)
{
	struct err err = { 0 };
	struct process_stream *p = stream_new(loop, c, &err);

	if (!p) {
		if (started)
			command_remove(c);
		process_stream_refuse(req, &err);
		return;
	}
	if (!started)
		command_reader_skip_all(p->reader);
	p->ping_ms = ping_ms(req);
	p->stream = http_reply_stream(req, CONNECT_STREAM, stream_pump,
				      stream_abort, p);
	if (!p->stream) {
		stream_free(p);
		return;
	}
	loop_timer_set(p->ping, p->ping_ms);
	stream_pump(p);
}

void process_stream_refuse(struct http_req *req, const struct err *err)
{
	struct process_stream p = {
		.stream = http_reply_stream(req, CONNECT_STREAM, NULL, NULL,
					    NULL),
	};

	if (!p.stream)
		return;
	if (put_last(&p, err) < 0)
		http_stream_fail(p.stream);
	else
		http_stream_end(p.stream);
}
