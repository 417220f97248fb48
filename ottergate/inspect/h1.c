/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h1.c - inspection over HTTP/1.1: the step, and answers made by the gateway
 *
 * Theory of operation: a request's head is read, judged by ireq.h, and written
 * from its parts. The next request waits in `cin` until this one is answered.
 * Meanwhile both directions move at the same time, since a server may answer
 * before it has read everything. Each step tries all four movements (down to
 * the client, up to the server, and reading from both) until none can go on, so
 * no edge is missed. What arrived is passed on in the same step. Nothing is
 * read from one side while the other does not take what is queued.
 *
 * Client and upstream have one connection each. When either ends, so does the
 * other, once the current exchange is over. One exception: a server may close a
 * kept connection just as a request is on its way (RFC 9112 §9.3.1).
 */
#include "ottergate/inspect/h1.h"

#include "ottergate/policy/tell/deny.h"

#include <openssl/crypto.h>
#include <string.h>

#define ROUNDS_MAX 64u /* of a step, before other connections have a turn */
#define DENIAL_MAX 1024u

/* --- queues --------------------------------------------------------------- */

void h1_consume(struct buf *b, size_t n)
{
	struct slice s = buf_slice(b);

	OPENSSL_cleanse((uint8_t *)(uintptr_t)s.ptr, n);
	buf_consume(b, n);
}

struct slice h1_slice(const struct buf *b)
{
	struct slice s = buf_slice(b);

	return slice_of(s.ptr, s.len < H1_SLICE ? s.len : H1_SLICE);
}

void h1_wipe(struct buf *b)
{
	if (buf_len(b) > 0)
		h1_consume(b, buf_len(b));
	buf_done(b);
}

ssize_t h1_fill(struct itls *from, struct buf *to, size_t max)
{
	uint8_t mem[H1_READ_MAX];
	size_t room = buf_len(to) < max ? max - buf_len(to) : 0;
	ssize_t n;

	if (room == 0)
		return -ENOBUFS;
	if (!itls_pending(from) && !from->eof && !from->broken)
		return -EAGAIN;
	n = itls_read(from, mem, room < sizeof(mem) ? room : sizeof(mem));
	if (n > 0 && buf_append(to, mem, (size_t)n) < 0)
		return -ENOMEM;
	return n;
}

/* Writes `down` to the client. */
static enum h1_step down_flush(struct h1 *h)
{
	struct slice s = buf_slice(&h->down);
	ssize_t n;
	int rc;

	if (s.len == 0)
		return H1_WAIT;
	rc = inspect_rest(h->in, false);
	if (rc != 0)
		return rc < 0 ? H1_STOP : H1_WAIT;
	n = itls_write(&h->in->client, s.ptr, s.len);
	if (n == -EAGAIN)
		return H1_WAIT;
	if (n < 0) {
		inspect_cut(h->in);
		return H1_STOP;
	}
	buf_consume(&h->down, (size_t)n);
	return inspect_account(h->in, false, (size_t)n) < 0 ? H1_STOP : H1_GO;
}

/* Writes `up` to the server. A server that reads no more may still have sent an
 * answer, so a failure only sets refused. */
static enum h1_step up_flush(struct h1 *h)
{
	struct slice s = buf_slice(&h->up);
	ssize_t n;
	int rc;

	if (s.len == 0)
		return H1_WAIT;
	if (inspect_is_killed(h->in))
		return H1_STOP;
	rc = inspect_rest(h->in, true);
	if (rc != 0)
		return rc < 0 ? H1_STOP : H1_WAIT;
	n = itls_write(&h->in->upstream, s.ptr, s.len);
	if (n == -EAGAIN)
		return H1_WAIT;
	if (n < 0) {
		h->rq.refused = true;
		h1_wipe(&h->up);
		return H1_GO;
	}
	h1_consume(&h->up, (size_t)n);
	return inspect_account(h->in, true, (size_t)n) < 0 ? H1_STOP : H1_GO;
}

/* --- answers of our own --------------------------------------------------- */

static void request_tell(struct h1 *h, unsigned status)
{
	struct h1_request *rq = &h->rq;

	if (rq->open && !rq->told)
		inspect_finished(h->in, &rq->r, status);
	rq->told = true;
}

void h1_request_end(struct h1 *h, unsigned status)
{
	struct h1_request *rq = &h->rq;

	request_tell(h, status);
	if (rq->open)
		ireq_end(&rq->r);
	rq->open = false;
	if (rq->head)
		ihead_done(rq->head);
	free(rq->head);
	rq->head = NULL;
	h1_wipe(&h->again);
	buf_done(&h->rs.trailers);
}

/* Queues a response made by the gateway, with @text as its body, ends the
 * request and audits nothing. If a response has already begun, queues nothing
 * and makes the connection end by reset. @keep: the connection may be used for
 * another request; else the engine closes it. Returns H1_GO or H1_STOP. */
static enum h1_step h1_answer(struct h1 *h, int status, enum reason why,
			      const char *text, size_t len, bool keep)
{
	bool head = h->rq.open && h->rq.r.head_request;
	int rc;

	/* After the first byte of a response, this text would be taken for its
	 * body. So the early end has to show. */
	h->cut = h->rs.answered;
	keep = keep && !h->cut;
	h1_request_end(h, (unsigned)status);
	h->state = keep ? H1_HEAD : H1_ENDING;
	if (!keep)
		h1_wipe(&h->up);
	if (h->cut)
		return H1_GO;
	rc = buf_printf(&h->down,
			"HTTP/1.1 %d %s\r\n"
			"Content-Type: text/plain\r\n"
			"Content-Length: %zu\r\n"
			"Connection: %s\r\n"
			"X-Ac-Denied: %s\r\n"
			"\r\n",
			status, deny_status(status), len,
			keep ? "keep-alive" : "close", reason_code(why));
	if (rc == 0 && !head)
		rc = buf_append(&h->down, text, len);
	if (rc == 0)
		return H1_GO;
	inspect_cut(h->in);
	return H1_STOP;
}

enum h1_step h1_refuse(struct h1 *h, int status, enum reason why)
{
	struct conn *c = h->in->c;
	const struct verdict v = inspect_refusal(h->in, why);
	char text[DENIAL_MAX];
	size_t n = deny_text(text, sizeof(text), status,
			     agent_policy_id(c->policy), h->in->name.s, c->port,
			     &v);

	conn_refuse(c, why, NULL);
	return h1_answer(h, status, why, text, n, false);
}

enum h1_step h1_deny(struct h1 *h, int status, bool audit)
{
	struct ireq *r = &h->rq.r;
	/* If the request is incomplete, where the next one begins is unknown.
	 * If it is partly written, what the server does with it is unknown. */
	bool keep = h->rq.keep && h->rq.body.done && !h->rq.written;
	char text[DENIAL_MAX];
	size_t n = ireq_denial(r, agent_policy_id(h->in->c->policy), text,
			       sizeof(text));

	if (audit)
		inspect_refused(h->in, r);
	return h1_answer(h, status, r->verdict.reason, text, n, keep);
}

/* --- the engine ----------------------------------------------------------- */

static enum h1_step ending_step(struct h1 *h)
{
	if (buf_len(&h->down) > 0)
		return H1_WAIT;
	if (h->cut)
		inspect_cut(h->in);
	else
		inspect_close(h->in);
	return H1_STOP;
}

/* Handles all that has come of a response: head and body so far become one
 * piece for the client, and one packet. */
static enum h1_step upstream_steps(struct h1 *h)
{
	enum h1_step sum = H1_WAIT, one;

	do {
		one = h1_upstream_step(h);
		if (one == H1_STOP)
			return H1_STOP;
		if (one == H1_GO)
			sum = H1_GO;
	} while (one == H1_GO &&
		 (h->state == H1_EXCHANGE || h->state == H1_FRAMES) &&
		 !inspect_spent(h->in));
	return sum;
}

/* Tries all movements once; H1_STOP ends the round. */
static enum h1_step round_step(struct h1 *h)
{
	enum h1_step (*const steps[])(struct h1 * h) = {
		h1_client_step,
		up_flush,
		upstream_steps,
		down_flush,
	};
	enum h1_step sum = H1_WAIT, one;

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		one = steps[i](h);
		if (one == H1_STOP)
			return H1_STOP;
		if (one == H1_GO)
			sum = H1_GO;
	}
	return sum == H1_WAIT && h->state == H1_ENDING ? ending_step(h) : sum;
}

static bool h1_step(struct inspect *in)
{
	struct h1 *h = in->state;
	enum h1_step step = H1_GO;

	for (unsigned i = 0; i < ROUNDS_MAX && step == H1_GO; i++) {
		if (i > 0 && inspect_spent(in))
			break;
		step = round_step(h);
	}
	if (step == H1_GO)
		inspect_defer(in);
	return !in->gone;
}

static void h1_fail(struct inspect *in, int status, enum reason why)
{
	struct h1 *h = in->state;

	in->head_due = 0;
	/* Without a request there is nothing to answer. */
	if (h->state == H1_HEAD && buf_len(&h->cin) == 0) {
		inspect_close(in);
	} else if (h->state == H1_ENDING || h->state == H1_FRAMES) {
		conn_refuse(in->c, why, NULL);
		inspect_cut(in);
	} else {
		h1_refuse(h, status, why);
	}
}

static int h1_begin(struct inspect *in)
{
	const struct timeouts *t = agent_policy_timeouts(in->c->policy);
	struct h1 *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->in = in;
	buf_init(&h->cin, INSPECT_IO_MAX);
	buf_init(&h->uin, INSPECT_IO_MAX);
	buf_init(&h->up, H1_QUEUE_MAX);
	buf_init(&h->down, H1_QUEUE_MAX);
	buf_init(&h->again, IHEAD_BYTES_MAX);
	buf_secret(&h->up); /* both hold credentials */
	buf_secret(&h->again);
	buf_init(&h->rs.trailers, HTTP1_TRAILERS_MAX);
	in->head_due = in->c->worker->now_ms + t->request_header;
	in->state = h;
	return 0;
}

static unsigned h1_busy(const struct inspect *in)
{
	const struct h1 *h = in->state;

	return h->rq.open || h->state != H1_HEAD;
}

static void h1_over(struct inspect *in)
{
	struct h1 *h = in->state;

	request_tell(h, h->rs.status);
}

static size_t h1_held(const struct inspect *in)
{
	const struct h1 *h = in->state;

	return h->cin.cap + h->up.cap + h->uin.cap + h->down.cap +
	       h->again.cap + h->rs.trailers.cap +
	       (h->rq.head ? sizeof(*h->rq.head) : 0) +
	       (h->rq.open ? h->rq.r.held.cap : 0);
}

static void h1_free(struct inspect *in)
{
	struct h1 *h = ptr_take(&in->state);

	h1_request_end(h, 0);
	h1_wipe(&h->up);
	h1_wipe(&h->cin);
	buf_done(&h->uin);
	buf_done(&h->down);
	free(h);
}

const struct inspect_engine inspect_h1 = {
	.begin = h1_begin,
	.step = h1_step,
	.busy = h1_busy,
	.over = h1_over,
	.free = h1_free,
	.fail = h1_fail,
	.held = h1_held,
};
