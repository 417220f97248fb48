/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.c - a command's output and end as server-sent events
 *
 * Theory of operation: a stream of events is a reader of the command. It takes a
 * piece only if its event is sure to fit into what the HTTP stream has room for;
 * else it goes on when there is room. So a client that does not read costs the
 * buffer of its stream, and holds up its own command, or, if that is detached,
 * misses what the ring pushes out, and is told.
 *
 * A piece may end within a character. Its first bytes then wait for the others,
 * since the two halves would be no text; but not for long, because a program may
 * be waiting for an answer to them.
 */
#include "control/acd/api/command/events.h"

#include <assert.h>
#include <string.h>

#include "control/acd/api/command/say.h"
#include "lib/str.h"

#define EVENT_BYTES 16384u /* of output in one event */
/* In JSON a byte takes six at most; the rest is for what stands around. */
#define EVENT_ROOM (6 * EVENT_BYTES + 1024)
#define ALIVE_MS 15000u
#define PATIENCE_MS 100u

static_assert(EVENT_ROOM <= HTTP_STREAM_MAX / 2,
	      "the stream tells of room for an event");

struct events {
	struct http_stream *stream;
	struct command_reader *reader;
	struct loop_timer *alive;
	struct loop_timer *patience; /* for the rest of a character */
	bool impatient;
	bool owner;
};

bool events_are_wanted(struct http_req *req)
{
	const char *accept = http_header(req, "Accept");

	return accept && strcasestr(accept, "text/event-stream") != NULL;
}

/* Frees all but the stream; ends the command of its owner. */
static void events_free(struct events *e)
{
	struct command *c = e->reader ? command_reader_of(e->reader) : NULL;

	command_reader_free(e->reader);
	if (e->owner)
		command_remove(c);
	loop_timer_free(e->alive);
	loop_timer_free(e->patience);
	free(e);
}

static void events_abort(void *arg)
{
	events_free(arg);
}

/* ---- one event ---- */

/* Takes @data. There is room for it. */
static int event_write(struct events *e, const char *name, bool end,
		       json_t *data)
{
	char *text = data ? json_dumps(data, JSON_COMPACT) : NULL;
	char id[SAY_EVENT_ID_MAX];
	char *event = NULL;
	int rc = -ENOMEM;

	say_event_id(id, command_reader_pos(e->reader), end);
	if (text)
		event = str_printf("id: %s\nevent: %s\ndata: %s\n\n", id, name,
				   text);
	if (event)
		rc = http_stream_write(e->stream, event, strlen(event));
	free(event);
	free(text);
	json_decref(data);
	return rc;
}

static int write_piece(struct events *e, const uint8_t *data,
		       const struct output_piece *p)
{
	json_t *j = json_pack("{s:I}", "offset", (json_int_t)p->offset);

	if (j && say_bytes(j, "data", "encoding", slice_of(data, p->len)) < 0) {
		json_decref(j);
		return -ENOMEM;
	}
	command_reader_take(e->reader, p->len);
	return event_write(e, say_stream(p->stream), false, j);
}

static int write_lost(struct events *e, uint64_t bytes)
{
	return event_write(e, "lost", false,
			   json_pack("{s:I}", "bytes", (json_int_t)bytes));
}

static int write_removed(struct events *e)
{
	return event_write(
		e, "error", true,
		json_pack("{s:s, s:s}", "code", "removed", "message",
			  "the command was removed, or its instance"));
}

/* ---- the stream ---- */

/* Leaves the beginning of a character at the end of @data out of the piece.
 * Returns false if nothing is left, and more is to be waited for. */
static bool piece_cut(struct events *e, const uint8_t *data, bool running,
		      struct output_piece *p)
{
	size_t n = say_unfinished(slice_of(data, p->len));

	if (n == 0 || (p->len < EVENT_BYTES && !(p->open && running)))
		return true;
	if (n == p->len && !e->impatient) {
		loop_timer_set(e->patience, PATIENCE_MS);
		return false;
	}
	if (n < p->len)
		p->len -= n;
	return true;
}

/* Writes what there is, as far as there is room. Returns 1 if the stream is
 * complete, 0 if it is not, or a negative errno. */
static int events_write(struct events *e)
{
	struct command *c = command_reader_of(e->reader);
	uint8_t data[EVENT_BYTES];
	struct output_piece p;
	int rc = 0;

	while (rc == 0 && http_stream_room(e->stream) >= EVENT_ROOM) {
		if (!c) {
			rc = write_removed(e);
			return rc < 0 ? rc : 1;
		}
		command_reader_peek(e->reader, data, sizeof(data), &p);
		if (p.lost > 0) {
			rc = write_lost(e, p.lost);
			continue; /* what was read is read again */
		}
		if (p.len == 0 && command_view(c)->ended) {
			rc = event_write(e, "exit", true, say_end(c));
			return rc < 0 ? rc : 1;
		}
		if (p.len == 0 ||
		    !piece_cut(e, data, !command_view(c)->ended, &p))
			return 0;
		rc = write_piece(e, data, &p);
		e->impatient = false;
	}
	return rc;
}

/* May free @arg. */
static void events_pump(void *arg)
{
	struct events *e = arg;
	int rc = events_write(e);

	if (rc == 0)
		return;
	/* Without memory the client's connection breaks, so that it knows. */
	if (rc < 0)
		http_stream_fail(e->stream);
	else
		http_stream_end(e->stream);
	events_free(e);
}

static void events_impatient(void *arg)
{
	struct events *e = arg;

	e->impatient = true;
	events_pump(e);
}

static void events_alive(void *arg)
{
	static const char comment[] = ": alive\n\n";
	struct events *e = arg;

	loop_timer_set(e->alive, ALIVE_MS);
	/* If there is no room, the client does not read. */
	(void)http_stream_write(e->stream, comment, sizeof(comment) - 1);
}

/* ---- the answer ---- */

/* Sets the reader's place. Returns 1 if the client has had all, 0, or a negative
 * errno. */
static int events_seek(struct events *e, const char *last, struct err *err)
{
	uint64_t pos = 0;
	bool end = false;

	if (last && (say_event_id_parse(last, &pos, &end) < 0 ||
		     command_reader_seek(e->reader, pos) < 0)) {
		err_set(err, -EINVAL,
			"Last-Event-ID must be the id of an event of this "
			"command");
		return err_key(err, "Last-Event-ID");
	}
	if (!last)
		return command_reader_seek(e->reader, 0);
	return end ? 1 : 0;
}

static void events_begin(struct events *e, struct http_req *req, bool first)
{
	struct command *c = command_reader_of(e->reader);

	e->stream = http_reply_stream(req, "text/event-stream", events_pump,
				      events_abort, e);
	if (!e->stream) {
		events_free(e);
		return;
	}
	loop_timer_set(e->alive, ALIVE_MS);
	if (first &&
	    event_write(e, "start", false,
			json_pack("{s:s}", "id", command_view(c)->id)) < 0) {
		http_stream_fail(e->stream);
		events_free(e);
		return;
	}
	events_pump(e);
}

static struct events *events_new(struct loop *loop, struct command *c,
				 bool owner, struct err *err)
{
	struct events *e = calloc(1, sizeof(*e));

	if (!e) {
		err_nomem(err);
		if (owner)
			command_remove(c);
		return NULL;
	}
	e->alive = loop_timer_new(loop, events_alive, e);
	e->patience = loop_timer_new(loop, events_impatient, e);
	errno = ENOMEM;
	if (e->alive && e->patience)
		e->reader = command_reader_new(c, events_pump, e);
	if (e->reader) {
		e->owner = owner;
		return e;
	}
	if (errno == EMFILE)
		err_set(err, -EBUSY, "%u clients follow this command already",
			COMMAND_READERS_MAX);
	else
		err_nomem(err);
	events_free(e);
	if (owner)
		command_remove(c);
	return NULL;
}

void events_answer(struct loop *loop, struct http_req *req, struct command *c,
		   bool owner)
{
	const char *last = owner ? NULL : http_header(req, "Last-Event-ID");
	struct err err = { 0 };
	struct events *e = events_new(loop, c, owner, &err);
	int rc = e ? events_seek(e, last, &err) : err.code;

	if (rc == 0 && e) {
		events_begin(e, req, !last);
		return;
	}
	if (rc > 0)
		http_reply_empty(req); /* 204: a browser does not ask again */
	else
		http_reply_error(req, &err, NULL);
	if (e)
		events_free(e);
}
