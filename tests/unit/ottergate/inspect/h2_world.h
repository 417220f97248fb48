/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_world.h - the HTTP/2 engine between two nghttp2 peers, in memory
 *
 * Pipes of bytes stand for the sockets and what TLS does; everything that
 * judges is a fake that goes by the path of the request, so that a test sees
 * what the engine makes of each verdict. Nothing here waits: world_run() goes
 * on until nobody can. A test program includes it once.
 */
#ifndef TESTS_UNIT_OTTERGATE_INSPECT_H2_WORLD_H
#define TESTS_UNIT_OTTERGATE_INSPECT_H2_WORLD_H

#include "ottergate/inspect/h2.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/tap.h"

#define PIPE_MAX (8u << 20)
#ifndef RECORDS
#define RECORDS 256u /* streams of a peer that are told apart */
#define TEXT_MAX 4096u
#endif

struct pipe {
	struct buf b;
	size_t cap; /* bytes that fit */
	bool closed;
};

struct record { /* what one peer saw of a stream, and what it says */
	char head[TEXT_MAX]; /* "name: value\n" of all heads and trailers */
	struct buf body;
	unsigned heads;
	bool end, closed;
	uint32_t error;
	struct buf say;
	bool say_end, say_waits;
	const char *say_trailer;
};

struct peer {
	nghttp2_session *ng;
	struct pipe *in, *out;
	struct record v[RECORDS];
	bool goaway, broken, stalled; /* stalled: gives no windows back */
	bool invalid; /* got a frame that is none */
	uint32_t goaway_error;
	int32_t last; /* newest stream */
};

static struct {
	struct worker worker;
	struct conn conn;
	struct inspect in;
	struct pipe up_in, up_out, down_in, down_out; /* see pipe_of() */
	struct peer client, server;
	bool closed, cut, deferred;
	int rest_up, rest_down; /* what inspect_rest() says */
	bool scarce,
		full; /* what inspect_may_read() and inspect_is_full() say */
	size_t most; /* that one direction held */
	size_t accounted_up, accounted_down;
	unsigned judged, denied, refused, finished, begun, ended, bodies;
	int judge_deny; /* enum reason, 0: none */
	bool spent; /* what inspect_spent() says */
	unsigned slices; /* reads from the client that brought something */
	size_t slice_max; /* the longest */
	unsigned pieces; /* of bodies, that ireq.h was given */
	size_t piece_max;
	void (*on_begin)(const struct ihead *head);
} w;

#include "tests/unit/ottergate/inspect/h2_fakes.h"

/* --- the two peers -------------------------------------------------------- */

static inline struct record *rec(struct peer *p, int32_t id)
{
	return &p->v[((uint32_t)id / 2) % RECORDS];
}

static inline int peer_header(nghttp2_session *ng, const nghttp2_frame *f,
			      const uint8_t *name, size_t n,
			      const uint8_t *value, size_t len, uint8_t flags,
			      void *arg)
{
	struct record *r = rec(arg, f->hd.stream_id);
	size_t at = strlen(r->head);

	(void)ng;
	snprintf(r->head + at, sizeof(r->head) - at, "%.*s: %.*s%s\n", (int)n,
		 (const char *)name, (int)len, (const char *)value,
		 flags & NGHTTP2_NV_FLAG_NO_INDEX ? " (never indexed)" : "");
	return 0;
}

static inline int peer_data(nghttp2_session *ng, uint8_t flags, int32_t id,
			    const uint8_t *data, size_t len, void *arg)
{
	struct peer *p = arg;

	(void)flags;
	if (!p->stalled)
		nghttp2_session_consume(ng, id, len);
	return buf_append(&rec(p, id)->body, data, len);
}

static inline int peer_frame(nghttp2_session *ng, const nghttp2_frame *f,
			     void *arg)
{
	struct peer *p = arg;
	struct record *r = rec(p, f->hd.stream_id);

	(void)ng;
	if (f->hd.type == NGHTTP2_GOAWAY) {
		p->goaway = true;
		p->goaway_error = f->goaway.error_code;
	}
	if (f->hd.type == NGHTTP2_HEADERS) {
		r->heads++;
		if (f->hd.stream_id > p->last)
			p->last = f->hd.stream_id;
	}
	if ((f->hd.type == NGHTTP2_HEADERS || f->hd.type == NGHTTP2_DATA) &&
	    (f->hd.flags & NGHTTP2_FLAG_END_STREAM))
		r->end = true;
	if (f->hd.type == NGHTTP2_RST_STREAM) {
		r->closed = true;
		r->error = f->rst_stream.error_code;
	}
	return 0;
}

static inline int peer_invalid(nghttp2_session *ng, const nghttp2_frame *f,
			       int why, void *arg)
{
	struct peer *p = arg;

	(void)ng;
	(void)f;
	(void)why;
	p->invalid = true;
	return 0;
}

static inline int peer_closed(nghttp2_session *ng, int32_t id, uint32_t error,
			      void *arg)
{
	struct record *r = rec(arg, id);

	(void)ng;
	r->closed = true;
	if (error != NGHTTP2_NO_ERROR)
		r->error = error;
	return 0;
}

static inline void record_clear(struct record *r)
{
	buf_done(&r->body);
	buf_done(&r->say);
	*r = (struct record){ 0 };
	buf_init(&r->body, PIPE_MAX);
	buf_init(&r->say, PIPE_MAX);
}

static inline int peer_begin(nghttp2_session *ng, const nghttp2_frame *f,
			     void *arg)
{
	(void)ng;
	if (f->hd.type == NGHTTP2_HEADERS &&
	    f->headers.cat == NGHTTP2_HCAT_REQUEST)
		record_clear(rec(arg, f->hd.stream_id));
	return 0;
}

static inline void peer_open(struct peer *p, bool server, struct pipe *in,
			     struct pipe *out)
{
	nghttp2_session_callbacks *cb;
	nghttp2_option *o;

	*p = (struct peer){ .in = in, .out = out };
	for (unsigned i = 0; i < RECORDS; i++)
		record_clear(&p->v[i]);
	nghttp2_session_callbacks_new(&cb);
	nghttp2_session_callbacks_set_on_begin_headers_callback(cb, peer_begin);
	nghttp2_session_callbacks_set_on_header_callback(cb, peer_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb,
								  peer_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, peer_frame);
	nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(
		cb, peer_invalid);
	nghttp2_session_callbacks_set_on_stream_close_callback(cb, peer_closed);
	nghttp2_option_new(&o);
	nghttp2_option_set_no_auto_window_update(o, 1);
	if (server)
		nghttp2_session_server_new2(&p->ng, cb, p, o);
	else
		nghttp2_session_client_new2(&p->ng, cb, p, o);
	nghttp2_option_del(o);
	nghttp2_session_callbacks_del(cb);
	nghttp2_submit_settings(p->ng, NGHTTP2_FLAG_NONE, NULL, 0);
}

static inline bool peer_pump(struct peer *p)
{
	bool did = false;
	const uint8_t *mem;
	ssize_t n;

	if (!p->ng)
		return false;
	while (!p->broken && buf_len(&p->in->b) > 0) {
		struct slice s = buf_slice(&p->in->b);

		n = nghttp2_session_mem_recv(p->ng, s.ptr, s.len);
		p->broken = n < 0;
		buf_consume(&p->in->b, s.len);
		did = true;
	}
	while (!p->out->closed && buf_len(&p->out->b) < PIPE_MAX / 2 &&
	       (n = nghttp2_session_mem_send(p->ng, &mem)) > 0) {
		if (buf_append(&p->out->b, mem, (size_t)n) < 0)
			abort();
		did = true;
	}
	return did;
}

/* --- what they say -------------------------------------------------------- */

#define NV(n, v)                                                      \
	(nghttp2_nv)                                                  \
	{                                                             \
		(uint8_t *)(uintptr_t)(n), (uint8_t *)(uintptr_t)(v), \
			strlen(n), strlen(v), NGHTTP2_NV_FLAG_NONE    \
	}

static inline ssize_t peer_say(nghttp2_session *ng, int32_t id, uint8_t *to,
			       size_t len, uint32_t *flags,
			       nghttp2_data_source *source, void *arg)
{
	struct record *r = source->ptr;
	struct slice s = buf_slice(&r->say);

	(void)arg;
	if (s.len == 0 && !r->say_end) {
		r->say_waits = true;
		return NGHTTP2_ERR_DEFERRED;
	}
	if (s.len < len)
		len = s.len;
	if (len > 0)
		memcpy(to, s.ptr, len);
	buf_consume(&r->say, len);
	if (buf_len(&r->say) == 0 && r->say_end) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
		if (r->say_trailer) {
			nghttp2_nv nv = NV(r->say_trailer, "v");

			*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
			nghttp2_submit_trailer(ng, id, &nv, 1);
		}
	}
	return (ssize_t)len;
}

/* More of a body; @end: the last of it. */
static inline void say(struct peer *p, int32_t id, const void *text, size_t len,
		       bool end)
{
	struct record *r = rec(p, id);

	if (len > 0 && buf_append(&r->say, text, len) < 0)
		abort();
	r->say_end = end;
	if (r->say_waits) {
		r->say_waits = false;
		nghttp2_session_resume_data(p->ng, id);
	}
}

static inline void say_text(struct peer *p, int32_t id, const char *text,
			    bool end)
{
	say(p, id, text, strlen(text), end);
}

/* A request with up to eight more fields (NULL-terminated names and values);
 * @body: one comes by say(). */
static inline int32_t ask(const char *method, const char *path,
			  const char *const *more, bool body)
{
	int32_t id = (int32_t)nghttp2_session_get_next_stream_id(w.client.ng);
	nghttp2_data_provider data = { .read_callback = peer_say };
	nghttp2_nv nv[12] = { NV(":method", method), NV(":scheme", "https"),
			      NV(":authority", "a.test"), NV(":path", path) };
	size_t n = 4;

	for (; more && *more && n < ARRAY_SIZE(nv); more += 2)
		nv[n++] = NV(more[0], more[1]);
	record_clear(rec(&w.client, id));
	data.source.ptr = rec(&w.client, id);
	return nghttp2_submit_request(w.client.ng, NULL, nv, n,
				      body ? &data : NULL, NULL);
}

/* The head of an answer to the server's stream @id; @body as above. */
static inline void answer(int32_t id, const char *status,
			  const char *const *more, bool body)
{
	nghttp2_data_provider data = { .source.ptr = rec(&w.server, id),
				       .read_callback = peer_say };
	nghttp2_nv nv[12] = { NV(":status", status) };
	size_t n = 1;

	for (; more && *more && n < ARRAY_SIZE(nv); more += 2)
		nv[n++] = NV(more[0], more[1]);
	if (status[0] == '1')
		nghttp2_submit_headers(w.server.ng, NGHTTP2_FLAG_NONE, id, NULL,
				       nv, n, NULL);
	else
		nghttp2_submit_response(w.server.ng, id, nv, n,
					body ? &data : NULL);
}

static inline void world_run(void)
{
	bool did = true;

	for (unsigned i = 0; i < 10000 && did && !w.closed; i++) {
		did = peer_pump(&w.client);
		did |= peer_pump(&w.server);
		w.deferred = false;
		if (!inspect_h2.step(&w.in))
			break;
		did |= w.deferred;
		did |= buf_len(&w.down_out.b) > 0 || buf_len(&w.up_out.b) > 0;
	}
	/* What was said last is still read. */
	peer_pump(&w.client);
	peer_pump(&w.server);
}

static inline bool body_is(struct peer *p, int32_t id, const char *want)
{
	return slice_eq(buf_slice(&rec(p, id)->body), slice_str(want));
}

/* --- up and down ---------------------------------------------------------- */

static inline void world_up(void)
{
	struct pipe *const pipes[] = { &w.up_in, &w.up_out, &w.down_in,
				       &w.down_out };

	memset(&w, 0, sizeof(w));
	for (unsigned i = 0; i < ARRAY_SIZE(pipes); i++) {
		buf_init(&pipes[i]->b, PIPE_MAX);
		pipes[i]->cap = PIPE_MAX;
	}
	w.conn.worker = &w.worker;
	w.worker.now_ms = 1000000;
	w.in.c = &w.conn;
	w.in.client.fd = 0;
	w.in.upstream.fd = 1;
	if (inspect_h2.begin(&w.in) < 0)
		abort();
}

static inline void world_peers(void)
{
	world_up();
	peer_open(&w.client, false, &w.down_out, &w.up_in);
	peer_open(&w.server, true, &w.up_out, &w.down_in);
	world_run();
}

static inline void peer_close(struct peer *p)
{
	if (!p->ng)
		return;
	nghttp2_session_del(p->ng);
	for (unsigned i = 0; i < RECORDS; i++) {
		buf_done(&p->v[i].body);
		buf_done(&p->v[i].say);
	}
}

static inline void world_down(void)
{
	inspect_h2.free(&w.in);
	peer_close(&w.client);
	peer_close(&w.server);
	buf_done(&w.up_in.b);
	buf_done(&w.up_out.b);
	buf_done(&w.down_in.b);
	buf_done(&w.down_out.b);
}

#endif
