/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_output.c - a run's output, on its way to a client
 *
 * Theory of operation: output goes into one queue of whole frames, and from
 * there to the client while its credit lasts; @sendable is how far into the
 * queue that reaches. The run gets credit when the client gives credit. So the
 * queue holds at most one window and a replay: the sandbox may not send more.
 * If the queue is empty and the credit suffices, output goes straight from the
 * receive buffer of the guest link to the client. Headers are in no window. So
 * small frames are merged while they wait, and OUT_MAX has room for a header
 * with every byte, as when two streams take turns.
 *
 * If an attached client takes too little for STALL_MS although much waits for
 * it, the run goes on without it. The client then reads what it misses from the
 * log on disk until it has caught up, and is told what the log has lost by
 * then. The log has one stream, so stderr of a run without a terminal comes as
 * stdout.
 */
#include <stdio.h>
#include <sys/socket.h>

#include "control/acd/guest/linkio.h"
#include "control/acd/api/http/stream_impl.h"
#include "lib/log.h"

#define STALL_BYTES (LINK_WINDOW / 2)
#define STALL_MS 500u
#define CATCH_UP_BYTES 65536u

static void stream_events(struct stream *st)
{
	uint32_t want = EPOLLIN;

	if (!st->io)
		return;
	if (st->sendable > 0)
		want |= EPOLLOUT;
	if (want != st->events && loop_mod(st->io, want) == 0)
		st->events = want;
}

/* ---- to the client ---- */

/* Extends @sendable over the frames that the client's credit covers. */
static void sendable_grow(struct stream *st)
{
	struct slice all = buf_slice(&st->out), held = all, sendable;
	struct link_frame f;
	uint32_t cost;

	if (slice_take(&held, st->sendable, &sendable) < 0)
		return;
	while (link_parse(&held, &f, NULL) == 0) {
		cost = f.type == LINK_STDOUT || f.type == LINK_STDERR ?
			       (uint32_t)f.payload.len :
			       0;
		if (cost > st->window)
			break;
		st->window -= cost;
		st->sendable = all.len - held.len;
	}
}

void stream_release(struct stream *st)
{
	sendable_grow(st);
	stream_events(st);
}

int stream_flush(struct stream *st)
{
	size_t before = buf_len(&st->out);
	int rc = linkio_flush(st->fd, &st->out, st->sendable);

	st->sendable -= before - buf_len(&st->out);
	stream_events(st);
	return rc;
}

/* Frames always fit, unless credit was counted wrongly. */
static void stream_check(struct stream *st, int put_result)
{
	if (put_result >= 0 || st->broken)
		return;
	st->broken = true;
	log_error("a client's stream broke: %s", err_text(put_result));
	if (st->fd >= 0)
		shutdown(st->fd, SHUT_RDWR);
}

void stream_queued(struct stream *st, int put_result)
{
	st->tail = 0;
	stream_check(st, put_result);
	/* Events are set for what remains after the flush; mostly nothing. */
	sendable_grow(st);
	if (st->fd >= 0)
		stream_flush(st); /* an error shows at the next event */
}

/* Adds @data to the last frame of the queue if none of it was sent. Returns
 * false if it needs a frame of its own. */
static bool output_merge(struct stream *st, enum link_type type,
			 struct slice data)
{
	size_t queued = buf_len(&st->out), len;
	bool released;

	if (st->tail == 0 || st->tail > queued || st->tail_type != type ||
	    st->tail + data.len > LINK_HEADER + LINK_PAYLOAD_MAX)
		return false;
	released = st->sendable > queued - st->tail;
	if ((released && data.len > st->window) ||
	    buf_append(&st->out, data.ptr, data.len) < 0)
		return false;
	st->tail += data.len;
	len = st->tail - LINK_HEADER;
	link_put_header(st->out.mem + st->out.end - st->tail, type, CHANNEL,
			len);
	if (released) {
		st->window -= (uint32_t)data.len;
		st->sendable += data.len;
	}
	return true;
}

/* Counts @bytes that an attached client must take before STALL_MS are over. */
static void output_owed(struct stream *st, uint32_t bytes)
{
	if (!st->stall)
		return;
	if (st->unpaid < STALL_BYTES && st->unpaid + bytes >= STALL_BYTES)
		loop_timer_set(st->stall, STALL_MS);
	st->unpaid += bytes;
}

void stream_output(void *arg, enum link_type type, struct slice data)
{
	struct stream *st = arg;
	int rc;

	if (st->leaving || st->log)
		run_watch_credit(st->watch, (uint32_t)data.len);
	if (st->leaving || st->log || st->broken || data.len == 0)
		return;
	output_owed(st, (uint32_t)data.len);
	if (st->fd >= 0 && buf_len(&st->out) == 0 && data.len <= st->window) {
		st->window -= (uint32_t)data.len;
		st->tail = 0; /* its rest will be no whole frame */
		rc = linkio_send(st->fd, &st->out, type, CHANNEL, data.ptr,
				 data.len);
		st->sendable = buf_len(&st->out);
		stream_check(st, rc);
		stream_events(st);
		return;
	}
	if (output_merge(st, type, data)) {
		stream_events(st);
		return;
	}
	rc = link_put(&st->out, type, CHANNEL, data.ptr, data.len);
	st->tail = rc == 0 ? LINK_HEADER + data.len : 0;
	st->tail_type = type;
	stream_check(st, rc);
	stream_release(st);
}

void stream_started(void *arg, uint32_t pid)
{
	struct stream *st = arg;

	if (st->leaving)
		return;
	stream_queued(st, link_put_u32(&st->out, LINK_STARTED, CHANNEL, pid));
}

void stream_notice(void *arg, uint8_t level, const char *text)
{
	struct stream *st = arg;

	if (st->leaving)
		return;
	stream_queued(st, link_put_text(&st->out, LINK_NOTICE, CHANNEL, level,
					text));
}

/* ---- a client that is left behind ---- */

/* The client has given credit for @bytes that the run waits for. */
static void stream_paid(struct stream *st, uint32_t bytes)
{
	if (st->stall) {
		st->unpaid -= bytes < st->unpaid ? bytes : st->unpaid;
		if (st->unpaid < STALL_BYTES)
			loop_timer_clear(st->stall);
		else
			loop_timer_set(st->stall, STALL_MS);
	}
	run_watch_credit(st->watch, bytes);
}

static void catch_up_wake(void *arg)
{
	(void)arg; /* the client's credit sets the pace */
}

static void stream_caught_up(struct stream *st)
{
	instance_log_close(st->log);
	st->log = NULL;
	if (!st->exit_waits)
		return;
	st->over = true;
	stream_queued(st, link_put_exit(&st->out, CHANNEL, &st->exit));
}

void stream_catch_up(struct stream *st)
{
	static uint8_t data[CATCH_UP_BYTES];
	uint64_t skipped;
	char text[160];
	ssize_t n;

	while (st->window > 0 && !st->broken && buf_len(&st->out) == 0) {
		size_t room = st->window < sizeof(data) ? st->window :
							  sizeof(data);

		n = instance_log_read(st->log, data, room, &skipped);
		if (skipped > 0) {
			snprintf(text, sizeof(text),
				 "%llu bytes were not waited for: they are "
				 "gone from the log",
				 (unsigned long long)skipped);
			stream_notice(st, LOG_LVL_WARN, text);
		}
		if (n < 0) {
			snprintf(text, sizeof(text),
				 "output that was not waited for is missing: "
				 "the log cannot be read: %s",
				 err_text((int)n));
			stream_notice(st, LOG_LVL_WARN, text);
		}
		if (n <= 0) {
			stream_caught_up(st);
			return;
		}
		st->replay += (uint32_t)n;
		stream_queued(st, link_put(&st->out, LINK_STDOUT, CHANNEL, data,
					   (size_t)n));
	}
}

void stream_stalled(void *arg)
{
	struct stream *st = arg;
	struct err err = { 0 };

	/* Without the log it holds up the run, as any watcher does. */
	if (!st->run || st->leaving ||
	    instance_log_open(run_instance(st->run), 0, 0, catch_up_wake, st,
			      &st->log, &err) < 0)
		return;
	st->replay += st->unpaid;
	st->unpaid = 0;
	run_watch_credit(st->watch, UINT32_MAX);
}

int stream_credit(struct stream *st, const struct link_frame *f)
{
	uint32_t bytes, replayed;

	/* More was never sent. */
	if (link_get_u32(f, &bytes) < 0 || bytes > LINK_WINDOW - st->window)
		return -EBADMSG;
	st->window += bytes;
	stream_release(st);
	replayed = bytes < st->replay ? bytes : st->replay;
	st->replay -= replayed;
	stream_paid(st, bytes - replayed);
	return 0;
}

int stream_replay(struct stream *st, const void *data, size_t len)
{
	int rc;

	if (len == 0)
		return 0;
	if (len > STREAM_REPLAY_MAX - st->replay)
		return -EMSGSIZE;
	rc = link_put(&st->out, LINK_STDOUT, CHANNEL, data, len);
	if (rc == 0)
		st->replay += (uint32_t)len;
	return rc;
}
