/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_fuzz.c - a client's frames, behind the preface
 *
 * Differential: a head that is handed on to be judged is one that nghttp2
 * alone accepts from the same bytes, field for field. And the upstream, a
 * strict nghttp2 of its own, never finds an error in what the engine makes of
 * them, nor a request that was not judged.
 */
#define RECORDS 16u
#define TEXT_MAX 64u
#include "tests/unit/ottergate/inspect/h2_world.h"

#define REQUESTS_MAX 64u
#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define PREFACE_LEN (sizeof(PREFACE) - 1)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct bare_request {
	struct ihead head;
	int32_t id;
	bool whole;
} bare[REQUESTS_MAX];
static size_t n_bare;
static bool bare_full;

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* --- nghttp2 alone -------------------------------------------------------- */

static struct bare_request *bare_of(int32_t id)
{
	for (size_t i = 0; i < n_bare; i++)
		if (bare[i].id == id)
			return &bare[i];
	return NULL;
}

static int on_begin(nghttp2_session *ng, const nghttp2_frame *f, void *arg)
{
	(void)ng;
	(void)arg;
	if (f->hd.type != NGHTTP2_HEADERS ||
	    f->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	if (n_bare == REQUESTS_MAX) {
		bare_full = true;
		return 0;
	}
	bare[n_bare].id = f->hd.stream_id;
	bare[n_bare].whole = false;
	ihead_init(&bare[n_bare++].head);
	return 0;
}

static int on_header(nghttp2_session *ng, const nghttp2_frame *f,
		     const uint8_t *name, size_t n, const uint8_t *value,
		     size_t len, uint8_t flags, void *arg)
{
	struct bare_request *b = bare_of(f->hd.stream_id);

	(void)ng;
	(void)flags;
	(void)arg;
	if (b && f->headers.cat == NGHTTP2_HCAT_REQUEST &&
	    ihead_add(&b->head, slice_of(name, n), slice_of(value, len)) < 0)
		bare_full = true; /* larger than what the engine takes */
	return 0;
}

static int on_frame(nghttp2_session *ng, const nghttp2_frame *f, void *arg)
{
	struct bare_request *b = bare_of(f->hd.stream_id);

	(void)ng;
	(void)arg;
	if (b && f->hd.type == NGHTTP2_HEADERS)
		b->whole = true;
	return 0;
}

/* Feeds @in to a session of its own. True: nothing ended the connection. */
static bool bare_read(struct slice in)
{
	nghttp2_session_callbacks *cb;
	const nghttp2_settings_entry no_table = {
		NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, 0
	};
	nghttp2_session *ng;
	const uint8_t *out;
	bool alive;

	nghttp2_session_callbacks_new(&cb);
	nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin);
	nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
	nghttp2_session_server_new(&ng, cb, NULL);
	nghttp2_session_callbacks_del(cb);
	nghttp2_submit_settings(ng, NGHTTP2_FLAG_NONE, &no_table, 1);
	alive = nghttp2_session_mem_recv(ng, in.ptr, in.len) >= 0;
	while (alive && nghttp2_session_mem_send(ng, &out) > 0)
		;
	alive = alive && nghttp2_session_want_read(ng);
	nghttp2_session_del(ng);
	return alive;
}

/* --- what the engine hands on --------------------------------------------- */

static bool bare_alive;

static bool pseudo_is(struct ihead *b, const char *name, struct slice want)
{
	struct ifield *f = ihead_find(b, name, 0);

	return f && ihead_count(b, name) == 1 && slice_eq(f->value, want);
}

static bool has_field(const struct ihead *b, const struct ifield *want)
{
	for (size_t i = 0; i < b->n_fields; i++)
		if (slice_eq(b->fields[i].name, want->name) &&
		    slice_eq(b->fields[i].value, want->value))
			return true;
	return false;
}

static bool same(struct bare_request *b, const struct ihead *h)
{
	if (!b->whole || !pseudo_is(&b->head, ":method", h->method) ||
	    !pseudo_is(&b->head, ":path", h->path) ||
	    !pseudo_is(&b->head, ":authority", h->authority) ||
	    !pseudo_is(&b->head, ":scheme", slice_str("https")))
		return false;
	for (size_t i = 0; i < h->n_fields; i++)
		if (!has_field(&b->head, &h->fields[i]))
			return false;
	return true;
}

static void compare(const struct ihead *h)
{
	bool found = false;

	check(h->path.len > 0 && h->authority.len > 0);
	check(h->path.ptr[0] == '/' || h->path.ptr[0] == '*');
	for (size_t i = 0; i < n_bare && !found; i++)
		found = same(&bare[i], h);
	/* One that has ended its connection saw less. */
	check(found || bare_full || !bare_alive);
}

static void engine_read(struct slice in)
{
	world_up();
	peer_open(&w.server, true, &w.up_out, &w.down_in);
	w.on_begin = compare;
	if (buf_append(&w.up_in.b, PREFACE, PREFACE_LEN) < 0 ||
	    (in.len > 0 && buf_append(&w.up_in.b, in.ptr, in.len) < 0))
		abort();
	world_run();
	for (int32_t id = 1; id <= w.server.last; id += 2) {
		answer(id, "200", NULL, id % 4 == 1);
		say_text(&w.server, id, "body", true);
	}
	world_run();
	check(!w.server.broken && !w.server.invalid);
	check(!w.server.goaway || w.server.goaway_error == NGHTTP2_NO_ERROR);
	check((unsigned)(w.server.last + 1) / 2 <= w.begun);
	if (w.closed) {
		world_down();
		return;
	}
	w.up_in.closed = true;
	world_run();
	check(w.closed);
	world_down();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf all;

	if (size > 256 * 1024)
		return 0;
	n_bare = 0;
	bare_full = false;
	buf_init(&all, PREFACE_LEN + size);
	if (buf_append(&all, PREFACE, PREFACE_LEN) < 0 ||
	    (size > 0 && buf_append(&all, data, size) < 0))
		abort();
	bare_alive = bare_read(buf_slice(&all));
	buf_done(&all);
	engine_read(slice_of(data, size));
	check(w.finished <= w.judged);
	for (size_t i = 0; i < n_bare; i++)
		ihead_done(&bare[i].head);
	return 0;
}
