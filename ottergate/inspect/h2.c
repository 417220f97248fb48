/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2.c - the HTTP/2 engine: bytes between the sockets and the sessions
 *
 * Theory of operation: a step reads from both sides and writes to both until
 * none of the four can go on; what arrived is passed on in the same step.
 * Nothing is read from a peer that lets its answers pile up, so each queue is
 * bounded by what the other side has sent. finish() then decides about the end:
 * the client has gone, a session has nothing left to do, or the upstream was
 * lost and the client has been told.
 */
#include "ottergate/inspect/h2.h"

#include <sodium.h>

#define ROUNDS_MAX 16u /* before other connections have a turn */
#define SLICE 4096u /* bytes for a session; few bytes can ask for much */
#define READ_SLICES 4u /* per read: a TLS record */
#define WRITE_SIZE (16u * 1024) /* gathered: a TLS record */
/* WRITE_SIZE and one more frame with all its CONTINUATIONs. */
#define OUT_MAX (WRITE_SIZE + 2 * IHEAD_BYTES_MAX)

enum h2_step { STEP_WAIT, STEP_GO, STEP_GONE };

/* --- reading -------------------------------------------------------------- */

static bool may_read(const struct h2 *h, const struct h2_side *side)
{
	return !side->gone && !h->alarmed &&
	       nghttp2_session_want_read(side->ng) &&
	       nghttp2_session_get_outbound_queue_size(side->ng) < H2_QUEUE_MAX;
}

/* Counts bytes of the current head against H2_BLOCK_MAX; includes a head that
 * nghttp2 has refused and decodes to its end. */
static bool is_too_long(struct h2 *h, const struct h2_side *side, size_t n)
{
	if (side != &h->side[H2_FRONT])
		return false;
	h->block += n;
	if (h->block <= H2_BLOCK_MAX)
		return false;
	conn_refuse(h->in->c, REASON_BAD_HTTP, NULL);
	return true;
}

/* Returns the bytes that came from @side and wait for the other side. */
static size_t waiting(const struct h2 *h, const struct h2_side *side)
{
	bool up = side == &h->side[H2_FRONT];
	size_t n = 0;

	for (const struct h2_stream *s = h->streams; s; s = s->next)
		n += buf_len(up ? &s->up.bytes : &s->down.bytes);
	return n;
}

/* Reads one slice and feeds it. Returns STEP_WAIT if there is none. */
static enum h2_step slice_read(struct h2 *h, struct h2_side *side)
{
	uint8_t mem[SLICE];
	ssize_t n;

	if (!may_read(h, side) || !inspect_may_read(h->in, waiting(h, side)))
		return STEP_WAIT;
	n = itls_read(side->tls, mem, sizeof(mem));
	if (n == -EAGAIN)
		return STEP_WAIT;
	if (n > 0)
		h->in->c->active_ms = h->in->c->worker->now_ms;
	if (n <= 0 || nghttp2_session_mem_recv(side->ng, mem, (size_t)n) < 0 ||
	    is_too_long(h, side, (size_t)n))
		side->gone = true;
	return STEP_GO;
}

static enum h2_step side_read(struct h2 *h, struct h2_side *side)
{
	enum h2_step sum = slice_read(h, side), one = sum;

	for (unsigned i = 1; i < READ_SLICES && one == STEP_GO; i++) {
		if (inspect_spent(h->in))
			break;
		one = slice_read(h, side);
	}
	return sum;
}

/* --- writing -------------------------------------------------------------- */

/* Collects frames to write. Returns false without memory, or if the session
 * cannot go on. */
static bool side_gather(struct h2_side *side)
{
	/* Reserved at once: bytes left behind by a move are not wiped. */
	if (buf_len(&side->out) == 0 && nghttp2_session_want_write(side->ng) &&
	    !buf_reserve(&side->out, 2 * WRITE_SIZE))
		return false;
	while (buf_len(&side->out) < WRITE_SIZE) {
		const uint8_t *p;
		ssize_t n = nghttp2_session_mem_send(side->ng, &p);

		if (n == 0)
			return true;
		if (n < 0 || buf_append(&side->out, p, (size_t)n) < 0)
			return false;
	}
	return true;
}

static enum h2_step side_write(struct h2 *h, struct h2_side *side)
{
	struct slice out;
	ssize_t n;

	if (side->gone)
		return STEP_WAIT;
	if (!side_gather(side)) {
		side->gone = true;
		return STEP_GO;
	}
	out = buf_slice(&side->out);
	if (out.len == 0)
		return STEP_WAIT;
	if (side == &h->side[H2_BACK] && inspect_is_killed(h->in))
		return STEP_GONE;
	n = itls_write(side->tls, out.ptr, out.len);
	if (n == -EAGAIN)
		return STEP_WAIT;
	if (n <= 0) {
		side->gone = true;
		return STEP_GO;
	}
	/* A head with a credential may have been among it. */
	sodium_memzero(side->out.mem + side->out.start, (size_t)n);
	buf_consume(&side->out, (size_t)n);
	if (inspect_account(h->in, side == &h->side[H2_BACK], (size_t)n) < 0)
		return STEP_GONE;
	return STEP_GO;
}

/* --- limits --------------------------------------------------------------- */

/* Pauses or resumes bodies to one side; returns false if the connection is
 * closed. Other frames still pass, or the other direction would stop too. */
static bool ask_rest(struct h2 *h, enum h2_side_id id)
{
	struct h2_side *side = &h->side[id];
	int rc = inspect_rest(h->in, id == H2_BACK);
	bool rested = side->rests;

	if (rc < 0)
		return false;
	side->rests = rc > 0;
	if (rested && !side->rests)
		for (struct h2_stream *s = h->streams; s; s = s->next)
			h2_flow_kick(h, s, id == H2_BACK ? &s->up : &s->down);
	return true;
}

/* --- the step ------------------------------------------------------------- */

static enum h2_step move(struct h2 *h)
{
	struct h2_side *front = &h->side[H2_FRONT], *back = &h->side[H2_BACK];
	enum h2_step did = side_read(h, front), r;

	if (!ask_rest(h, H2_BACK))
		return STEP_GONE;
	r = side_write(h, back);
	if (r == STEP_GONE)
		return r;
	did = r == STEP_GO ? r : did;
	if (side_read(h, back) == STEP_GO)
		did = STEP_GO;
	if (!ask_rest(h, H2_FRONT))
		return STEP_GONE;
	r = side_write(h, front);
	return r == STEP_WAIT ? did : r;
}

/* Returns true if the session has nothing left to read or write. */
static bool side_over(const struct h2_side *side)
{
	return !nghttp2_session_want_read(side->ng) &&
	       !nghttp2_session_want_write(side->ng) &&
	       buf_len(&side->out) == 0;
}

/* Frees all streams; the sessions must not be used any more. */
static void all_free(struct h2 *h)
{
	h->side[H2_FRONT].gone = h->side[H2_BACK].gone = true;
	while (h->streams)
		h2_stream_free(h, h->streams);
}

/* Checks whether the connection is over. Returns STEP_GO if the client has yet
 * to be told. */
static enum h2_step finish(struct h2 *h)
{
	struct h2_side *front = &h->side[H2_FRONT], *back = &h->side[H2_BACK];

	if (h->alarmed) {
		all_free(h);
		inspect_cut(h->in);
		return STEP_GONE;
	}
	if (front->gone) {
		bool half = h->n_streams > 0;

		all_free(h);
		if (half)
			inspect_cut(h->in);
		else
			inspect_close(h->in);
		return STEP_GONE;
	}
	if (!h->lost && (back->gone || side_over(back))) {
		back->gone = true;
		h2_lost(h);
		return STEP_GO;
	}
	/* Our GOAWAY was sent, and the last response. */
	if (side_over(front)) {
		all_free(h);
		inspect_close(h->in);
		return STEP_GONE;
	}
	return STEP_WAIT;
}

static bool h2_step(struct inspect *in)
{
	struct h2 *h = in->state;

	for (unsigned i = 0; i < ROUNDS_MAX; i++) {
		enum h2_step r;

		if (i > 0 && inspect_spent(in))
			break;
		r = move(h);
		if (r == STEP_WAIT && h2_response_rests(h))
			r = STEP_GO;
		if (r == STEP_WAIT)
			r = finish(h);
		if (r == STEP_GONE)
			return false;
		if (r == STEP_WAIT)
			return true;
	}
	inspect_defer(in);
	return true;
}

/* --- life ----------------------------------------------------------------- */

static unsigned h2_busy(const struct inspect *in)
{
	const struct h2 *h = in->state;

	return h->n_streams;
}

static void h2_over(struct inspect *in)
{
	struct h2 *h = in->state;

	for (struct h2_stream *s = h->streams; s; s = s->next)
		h2_stream_tell(h, s);
}

static size_t head_held(const struct h2_head *hd)
{
	return hd ? sizeof(*hd) : 0;
}

static size_t h2_held(const struct inspect *in)
{
	const struct h2 *h = in->state;
	size_t n = h->side[H2_FRONT].out.cap + h->side[H2_BACK].out.cap +
		   h->memory[H2_FRONT].bytes + h->memory[H2_BACK].bytes;

	for (const struct h2_stream *s = h->streams; s; s = s->next)
		n += sizeof(*s) + s->up.bytes.cap + s->down.bytes.cap +
		     s->r.held.cap + head_held(s->reading) +
		     head_held(s->request) + head_held(s->response) +
		     head_held(s->up.trailers) + head_held(s->down.trailers);
	return n;
}

static void h2_free(struct inspect *in)
{
	struct h2 *h = ptr_take(&in->state);

	if (!h)
		return;
	all_free(h);
	for (unsigned i = 0; i < ARRAY_SIZE(h->side); i++) {
		nghttp2_session_del(h->side[i].ng);
		buf_done(&h->side[i].out);
	}
	free(h);
}

static int h2_begin(struct inspect *in)
{
	struct h2 *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	in->state = h;
	h->in = in;
	h->side[H2_FRONT].tls = &in->client;
	h->side[H2_BACK].tls = &in->upstream;
	for (unsigned i = 0; i < ARRAY_SIZE(h->side); i++)
		buf_init(&h->side[i].out, OUT_MAX);
	/* If the upstream was never reached, the first request is told so. */
	h->lost = h->side[H2_BACK].gone = in->fail_why != 0;
	if (h2_session_open(h, H2_FRONT) < 0 || h2_session_open(h, H2_BACK) < 0)
		return -ENOMEM;
	return 0;
}

/* Answers what is not answered yet, sends GOAWAY and closes, with one attempt
 * to write. */
static void h2_fail(struct inspect *in, int status, enum reason why)
{
	struct h2 *h = in->state;

	for (struct h2_stream *s = h->streams; s; s = s->next)
		if (s->id[H2_FRONT] > 0 && !s->down.begun)
			h2_refuse(h, s, status, why);
	in->head_due = 0;
	h2_drain(h, NGHTTP2_NO_ERROR);
	if (side_write(h, &h->side[H2_FRONT]) != STEP_GONE)
		inspect_close(in);
}

const struct inspect_engine inspect_h2 = {
	.begin = h2_begin,
	.step = h2_step,
	.busy = h2_busy,
	.over = h2_over,
	.free = h2_free,
	.fail = h2_fail,
	.held = h2_held,
};
