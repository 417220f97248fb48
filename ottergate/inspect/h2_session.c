/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_session.c - the two nghttp2 sessions: limits, settings, callbacks
 *
 * Callbacks find the stream, keep what came, and leave the rest to h2_up.c and
 * h2_down.c. A stream is found by nghttp2's user data, which is set as long as
 * we have the stream.
 */
#include "ottergate/inspect/h2.h"

#include <sodium.h>
#include <stddef.h>
#include <string.h>

#define ACKS_MAX 256u /* queued answers to PING and SETTINGS */
#define SETTINGS_MAX 32u /* entries of one frame */
#define CONTINUATIONS_MAX 8u /* frames; bytes are H2_BLOCK_MAX at most */
/* Above our own count, which tells the client why. */
#define RESETS_BURST (2 * H2_RESETS_MAX)
#define RESETS_RATE 20u /* a second */

/* CVE-2023-44487 and CVE-2024-28182. Debian has these functions in its 1.52,
 * the project from 1.57 and 1.61 on. Without them, our own count and the limit
 * of a head's size remain. */
/* NOLINTBEGIN(readability-redundant-declaration): a header may have them */
ATTR_WEAK void nghttp2_option_set_stream_reset_rate_limit(nghttp2_option *o,
							  uint64_t burst,
							  uint64_t rate);
ATTR_WEAK void nghttp2_option_set_max_continuations(nghttp2_option *o,
						    size_t val);
/* NOLINTEND(readability-redundant-declaration) */

static struct h2_stream *find(nghttp2_session *ng, int32_t id)
{
	return nghttp2_session_get_stream_user_data(ng, id);
}

/* Searches the list, for a stream that nghttp2 does not have (yet). */
static struct h2_stream *find_back(const struct h2 *h, int32_t id)
{
	for (struct h2_stream *s = h->streams; s; s = s->next)
		if (s->id[H2_BACK] == id)
			return s;
	return NULL;
}

static bool is_end(const nghttp2_frame *f)
{
	return f->hd.flags & NGHTTP2_FLAG_END_STREAM;
}

/* Sets the deadline for a head that has begun, or clears it (@id 0). */
static void head_begins(struct h2 *h, int32_t id)
{
	const struct conn *c = h->in->c;

	h->head_id = id;
	h->in->head_due = 0;
	if (id > 0 && c->policy)
		h->in->head_due =
			c->worker->now_ms +
			agent_policy_timeouts(c->policy)->request_header;
}

/* --- from the client ------------------------------------------------------ */

/* nghttp2 does not report CONTINUATION frames: all bytes before the next frame
 * of another type are one head. */
static int front_begin_frame(nghttp2_session *ng, const nghttp2_frame_hd *hd,
			     void *arg)
{
	struct h2 *h = arg;

	(void)ng;
	if (hd->type == NGHTTP2_CONTINUATION)
		return 0;
	head_begins(h, 0);
	h->block = 0;
	return 0;
}

/* Ends the session of a client that exceeds a limit which it was told. */
static int calm(struct h2 *h, uint32_t error)
{
	conn_refuse(h->in->c, REASON_BAD_HTTP, NULL);
	nghttp2_session_terminate_session(h2_ng(h, H2_FRONT), error);
	return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

/* Returns true if the client has sent too many requests without acknowledging
 * that it has no dynamic table (RFC 9113 §6.5.3). Until then it may use one. */
static bool is_deaf(struct h2 *h)
{
	return nghttp2_session_get_local_settings(
		       h2_ng(h, H2_FRONT),
		       NGHTTP2_SETTINGS_HEADER_TABLE_SIZE) != 0 &&
	       h->unacked++ == H2_UNACKED_MAX;
}

static int front_begin_headers(nghttp2_session *ng, const nghttp2_frame *f,
			       void *arg)
{
	struct h2 *h = arg;
	struct h2_stream *s;

	if (f->hd.type != NGHTTP2_HEADERS)
		return 0;
	if (is_deaf(h))
		return calm(h, NGHTTP2_SETTINGS_TIMEOUT);
	head_begins(h, f->hd.stream_id);
	if (f->headers.cat == NGHTTP2_HCAT_REQUEST)
		s = h2_stream_new(h, f->hd.stream_id);
	else
		s = find(ng, f->hd.stream_id);
	if (s && !s->reading)
		s->reading = h2_head_new();
	if (!s)
		nghttp2_submit_rst_stream(ng, NGHTTP2_FLAG_NONE,
					  f->hd.stream_id,
					  NGHTTP2_REFUSED_STREAM);
	return s && s->reading ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static int front_header(nghttp2_session *ng, const nghttp2_frame *f,
			const uint8_t *name, size_t n, const uint8_t *value,
			size_t len, uint8_t flags, void *arg)
{
	struct h2_stream *s = find(ng, f->hd.stream_id);
	struct h2 *h = arg;

	h->decoded += n + len;
	if (!s || !s->reading ||
	    h2_head_field(s->reading, true, slice_of(name, n),
			  slice_of(value, len), flags))
		return 0;
	return calm(h, NGHTTP2_ENHANCE_YOUR_CALM);
}

/* Resets the stream: an invalid field in a request may be an attack. */
static int front_invalid_header(nghttp2_session *ng, const nghttp2_frame *f,
				const uint8_t *name, size_t n,
				const uint8_t *value, size_t len, uint8_t flags,
				void *arg)
{
	(void)ng;
	(void)f;
	(void)name;
	(void)n;
	(void)value;
	(void)len;
	(void)flags;
	(void)arg;
	return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

/* Hands a piece of a body to @fn. What is for a stream that is gone is given
 * back to the connection's window. */
static int
data_in(nghttp2_session *ng, int32_t id, struct slice data, struct h2 *h,
	void (*fn)(struct h2 *h, struct h2_stream *s, struct slice in))
{
	struct h2_stream *s = find(ng, id);

	if (s)
		fn(h, s, data);
	else
		nghttp2_session_consume(ng, id, data.len);
	return 0;
}

static int front_data(nghttp2_session *ng, uint8_t flags, int32_t id,
		      const uint8_t *data, size_t len, void *arg)
{
	(void)flags;
	return data_in(ng, id, slice_of(data, len), arg, h2_request_data);
}

static int front_frame(nghttp2_session *ng, const nghttp2_frame *f, void *arg)
{
	struct h2_stream *s;

	if (f->hd.type != NGHTTP2_HEADERS && f->hd.type != NGHTTP2_DATA)
		return 0;
	s = find(ng, f->hd.stream_id);
	if (f->hd.type == NGHTTP2_HEADERS)
		head_begins(arg, 0);
	if (!s)
		return 0;
	s->request_end = is_end(f);
	if (f->hd.type == NGHTTP2_HEADERS) {
		if (f->headers.cat == NGHTTP2_HCAT_REQUEST)
			h2_request(arg, s);
		else
			h2_request_trailers(arg, s);
	}
	if (is_end(f))
		h2_request_end(arg, s);
	return 0;
}

/* Counts a failed stream. A client that opens streams only to have them fail
 * costs us and the upstream more than itself (CVE-2023-44487,
 * CVE-2025-8671). */
static void count_reset(struct h2 *h)
{
	uint64_t now = h->in->c->worker->now_ms;

	if (now - h->resets_ms >= H2_RESETS_MS) {
		h->resets_ms = now;
		h->resets = 0;
	}
	if (h->resets++ == H2_RESETS_MAX)
		nghttp2_session_terminate_session(h2_ng(h, H2_FRONT),
						  NGHTTP2_ENHANCE_YOUR_CALM);
}

static int front_closed(nghttp2_session *ng, int32_t id, uint32_t error,
			void *arg)
{
	struct h2_stream *s = find(ng, id);
	struct h2 *h = arg;

	if (error != NGHTTP2_NO_ERROR && !(s && s->ours))
		count_reset(h);
	if (id == h->head_id)
		head_begins(h, 0);
	if (s)
		h2_front_closed(h, s, error);
	return 0;
}

static int front_sent(nghttp2_session *ng, const nghttp2_frame *f, void *arg)
{
	struct h2_stream *s;

	if ((f->hd.type != NGHTTP2_HEADERS && f->hd.type != NGHTTP2_DATA) ||
	    !is_end(f))
		return 0;
	s = find(ng, f->hd.stream_id);
	if (s)
		h2_response_sent(arg, s);
	return 0;
}

/* --- from the upstream ---------------------------------------------------- */

static int back_begin_headers(nghttp2_session *ng, const nghttp2_frame *f,
			      void *arg)
{
	struct h2_stream *s;

	(void)arg;
	if (f->hd.type != NGHTTP2_HEADERS)
		return 0;
	s = find(ng, f->hd.stream_id);
	if (s && !s->response)
		s->response = h2_head_new();
	return s && s->response ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static int back_header(nghttp2_session *ng, const nghttp2_frame *f,
		       const uint8_t *name, size_t n, const uint8_t *value,
		       size_t len, uint8_t flags, void *arg)
{
	struct h2_stream *s = find(ng, f->hd.stream_id);

	(void)arg;
	if (!s || !s->response ||
	    h2_head_field(s->response, false, slice_of(name, n),
			  slice_of(value, len), flags))
		return 0;
	nghttp2_session_terminate_session(ng, NGHTTP2_ENHANCE_YOUR_CALM);
	return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

/* Leaves the field out: some servers send such, and their users cannot change
 * it. */
static int back_invalid_header(nghttp2_session *ng, const nghttp2_frame *f,
			       const uint8_t *name, size_t n,
			       const uint8_t *value, size_t len, uint8_t flags,
			       void *arg)
{
	(void)ng;
	(void)f;
	(void)name;
	(void)n;
	(void)value;
	(void)len;
	(void)flags;
	(void)arg;
	return 0;
}

static int back_data(nghttp2_session *ng, uint8_t flags, int32_t id,
		     const uint8_t *data, size_t len, void *arg)
{
	(void)flags;
	return data_in(ng, id, slice_of(data, len), arg, h2_response_data);
}

static int back_frame(nghttp2_session *ng, const nghttp2_frame *f, void *arg)
{
	struct h2_stream *s;

	if (f->hd.type == NGHTTP2_GOAWAY)
		h2_drain(arg, f->goaway.error_code);
	if (f->hd.type != NGHTTP2_HEADERS && f->hd.type != NGHTTP2_DATA)
		return 0;
	s = find(ng, f->hd.stream_id);
	if (!s)
		return 0;
	if (f->hd.type == NGHTTP2_HEADERS) {
		if (s->answered)
			h2_response_trailers(arg, s);
		else
			h2_response(arg, s, is_end(f));
	}
	if (is_end(f))
		h2_response_end(arg, s);
	return 0;
}

static int back_closed(nghttp2_session *ng, int32_t id, uint32_t error,
		       void *arg)
{
	struct h2_stream *s = find(ng, id);

	if (s)
		h2_back_closed(arg, s, error);
	return 0;
}

static int back_sent(nghttp2_session *ng, const nghttp2_frame *f, void *arg)
{
	struct h2_stream *s;

	(void)arg;
	if (f->hd.type != NGHTTP2_HEADERS)
		return 0;
	s = find(ng, f->hd.stream_id);
	if (s)
		s->request_sent = true;
	return 0;
}

/* A queued request was not sent: after a GOAWAY, or reset before. nghttp2 may
 * have opened its stream, whose close is reported after this. */
static int back_not_sent(nghttp2_session *ng, const nghttp2_frame *f, int why,
			 void *arg)
{
	struct h2_stream *s;

	(void)why;
	if (f->hd.type != NGHTTP2_HEADERS ||
	    f->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	s = find_back(arg, f->hd.stream_id);
	if (!s)
		return 0;
	nghttp2_session_set_stream_user_data(ng, f->hd.stream_id, NULL);
	h2_back_closed(arg, s, NGHTTP2_REFUSED_STREAM);
	return 0;
}

/* --- memory of the sessions
 * ------------------------------------------------ */

/* Memory is counted for the sandbox. The back session copies heads with
 * injected credentials, so its memory is wiped when it is freed. Each block is
 * preceded by its size. */
struct block {
	size_t size;
	_Alignas(max_align_t) uint8_t mem[];
};

static struct block *block_of(void *mem)
{
	return (struct block *)(void *)((uint8_t *)mem -
					offsetof(struct block, mem));
}

static void *mem_new(size_t size, void *arg)
{
	struct h2_memory *m = arg;
	struct block *b = NULL;

	if (size < SIZE_MAX - sizeof(*b))
		b = malloc(sizeof(*b) + size);
	if (!b)
		return NULL;
	b->size = size;
	m->bytes += sizeof(*b) + size;
	return b->mem;
}

static void mem_free(void *mem, void *arg)
{
	struct h2_memory *m = arg;
	struct block *b;

	if (!mem)
		return;
	b = block_of(mem);
	m->bytes -= sizeof(*b) + b->size;
	if (m->wiped)
		sodium_memzero(b->mem, b->size);
	free(b);
}

static void *mem_zeroed(size_t n, size_t size, void *arg)
{
	void *mem = NULL;

	if (size == 0 || n <= SIZE_MAX / size)
		mem = mem_new(n * size, arg);
	if (mem)
		memset(mem, 0, n * size);
	return mem;
}

static void *mem_resize(void *mem, size_t size, void *arg)
{
	size_t had = mem ? block_of(mem)->size : 0;
	void *bigger = mem_new(size, arg);

	if (!bigger)
		return NULL;
	if (mem)
		memcpy(bigger, mem, had < size ? had : size);
	mem_free(mem, arg);
	return bigger;
}

/* --- set-up --------------------------------------------------------------- */

static void set_front(nghttp2_session_callbacks *cb)
{
	nghttp2_session_callbacks_set_on_begin_frame_callback(
		cb, front_begin_frame);
	nghttp2_session_callbacks_set_on_begin_headers_callback(
		cb, front_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(cb, front_header);
	nghttp2_session_callbacks_set_on_invalid_header_callback(
		cb, front_invalid_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb,
								  front_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, front_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(cb,
							       front_closed);
	nghttp2_session_callbacks_set_on_frame_send_callback(cb, front_sent);
}

static void set_back(nghttp2_session_callbacks *cb)
{
	nghttp2_session_callbacks_set_on_begin_headers_callback(
		cb, back_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(cb, back_header);
	nghttp2_session_callbacks_set_on_invalid_header_callback(
		cb, back_invalid_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb,
								  back_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, back_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(cb, back_closed);
	nghttp2_session_callbacks_set_on_frame_send_callback(cb, back_sent);
	nghttp2_session_callbacks_set_on_frame_not_send_callback(cb,
								 back_not_sent);
}

static void set_options(nghttp2_option *o)
{
	nghttp2_option_set_no_auto_window_update(o, 1);
	nghttp2_option_set_no_closed_streams(o, 1);
	nghttp2_option_set_max_outbound_ack(o, ACKS_MAX);
	nghttp2_option_set_max_settings(o, SETTINGS_MAX);
	if (nghttp2_option_set_stream_reset_rate_limit)
		nghttp2_option_set_stream_reset_rate_limit(o, RESETS_BURST,
							   RESETS_RATE);
	if (nghttp2_option_set_max_continuations)
		nghttp2_option_set_max_continuations(o, CONTINUATIONS_MAX);
}

static int open_session(struct h2 *h, enum h2_side_id side,
			const nghttp2_session_callbacks *cb, nghttp2_option *o)
{
	nghttp2_session **ng = &h->side[side].ng;
	nghttp2_mem mem = { &h->memory[side], mem_new, mem_free, mem_zeroed,
			    mem_resize };

	set_options(o);
	h->memory[side].wiped = side == H2_BACK;
	if (side == H2_FRONT)
		return nghttp2_session_server_new3(ng, cb, h, o, &mem);
	/* Some servers send a blank behind a value; it is removed. */
	nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation(o, 1);
	return nghttp2_session_client_new3(ng, cb, h, o, &mem);
}

static int submit_settings(struct h2 *h, enum h2_side_id side)
{
	const nghttp2_settings_entry v[] = {
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, H2_WINDOW },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, H2_HEAD_MAX },
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
		  side == H2_FRONT ? H2_STREAMS_MAX : 0 },
		/* No dynamic table: a client's requests are short, and a table
		 * would let one byte stand for 4 KiB. ENABLE_PUSH is not a
		 * server's setting. */
		side == H2_FRONT ?
			(nghttp2_settings_entry){
				NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, 0 } :
			(nghttp2_settings_entry){ NGHTTP2_SETTINGS_ENABLE_PUSH,
						  0 },
	};
	nghttp2_session *ng = h2_ng(h, side);

	if (nghttp2_submit_settings(ng, NGHTTP2_FLAG_NONE, v, ARRAY_SIZE(v)) !=
		    0 ||
	    nghttp2_session_set_local_window_size(ng, NGHTTP2_FLAG_NONE, 0,
						  H2_CONN_WINDOW) != 0)
		return -ENOMEM;
	return 0;
}

int h2_session_open(struct h2 *h, enum h2_side_id side)
{
	nghttp2_session_callbacks *cb = NULL;
	nghttp2_option *o = NULL;
	int rc = -ENOMEM;

	if (nghttp2_session_callbacks_new(&cb) == 0 &&
	    nghttp2_option_new(&o) == 0) {
		if (side == H2_FRONT)
			set_front(cb);
		else
			set_back(cb);
		if (open_session(h, side, cb, o) == 0)
			rc = submit_settings(h, side);
	}
	nghttp2_option_del(o);
	nghttp2_session_callbacks_del(cb);
	return rc;
}
