/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_body.c - where a body ends (RFC 9112 §6, §7.1)
 *
 * Theory of operation: chunked bodies are read byte by byte by a state machine,
 * since their bytes may pass on unchanged and a laxer upstream must not find
 * another end. Sizes are hexadecimal digits alone; lines end in CRLF.
 */
#include "ottergate/inspect/http1.h"

#include "lib/str.h"
#include "ottergate/inspect/http1_head.h"

enum chunk_state {
	CHUNK_SIZE_FIRST,
	CHUNK_SIZE,
	CHUNK_EXTENSION,
	CHUNK_SIZE_LF,
	CHUNK_DATA,
	CHUNK_DATA_CR,
	CHUNK_DATA_LF,
	TRAILER_FIRST,
	TRAILER_NAME,
	TRAILER_VALUE,
	TRAILER_LF,
	TRAILER_END_LF,
};

#define SIZE_DIGITS_MAX 15u /* 60 bits */

static const struct http1_body no_body = { .kind = BODY_NONE, .done = true };

static struct http1_body body_of(const struct http1_message *m)
{
	if (m->chunked)
		return (struct http1_body){ .kind = BODY_CHUNKED };
	if (m->has_length && m->length > 0)
		return (struct http1_body){ .kind = BODY_LENGTH,
					    .left = m->length };
	return no_body;
}

void http1_body_of_request(struct http1_body *b, const struct http1_request *rq)
{
	*b = body_of(&rq->m);
	b->plain = true;
}

void http1_body_of_response(struct http1_body *b,
			    const struct http1_response *rs)
{
	if (rs->no_body)
		*b = no_body;
	else if (rs->until_close)
		*b = (struct http1_body){ .kind = BODY_UNTIL_CLOSE };
	else
		*b = body_of(&rs->m);
}

/* Returns the state after @c in a line of text, or -EBADMSG. */
static int text_byte(uint8_t c, enum chunk_state here, enum chunk_state at_cr)
{
	if (c == '\r')
		return at_cr;
	return (c < 0x20 && c != '\t') || c == 0x7f ? -EBADMSG : (int)here;
}

static int size_byte(struct http1_body *b, uint8_t c)
{
	int digit = str_hex_digit(c);

	if (digit >= 0) {
		if (b->head > SIZE_DIGITS_MAX)
			return -EBADMSG;
		b->left = b->left << 4 | (uint64_t)digit;
		return CHUNK_SIZE;
	}
	if (b->state == CHUNK_SIZE_FIRST)
		return -EBADMSG;
	if (c == '\r')
		return CHUNK_SIZE_LF;
	/* Blanks here are padding by old servers (§7.1.1, BWS). */
	if (!b->plain && (c == ';' || c == ' ' || c == '\t'))
		return CHUNK_EXTENSION;
	return -EBADMSG;
}

static int lf_byte(struct http1_body *b, uint8_t c)
{
	if (c != '\n')
		return -EBADMSG;
	switch (b->state) {
	case CHUNK_SIZE_LF:
		b->head = 0;
		return b->left > 0 ? CHUNK_DATA : TRAILER_FIRST;
	case CHUNK_DATA_LF:
		b->head = 0;
		return CHUNK_SIZE_FIRST;
	case TRAILER_END_LF:
		b->done = true;
		return TRAILER_END_LF;
	default:
		return TRAILER_FIRST;
	}
}

static int trailer_byte(struct http1_body *b, uint8_t c)
{
	switch (b->state) {
	case TRAILER_FIRST:
		if (c == '\r')
			return TRAILER_END_LF;
		return !b->plain && http1_token_byte(c) ? TRAILER_NAME :
							  -EBADMSG;
	case TRAILER_NAME:
		if (c == ':')
			return TRAILER_VALUE;
		return http1_token_byte(c) ? TRAILER_NAME : -EBADMSG;
	default:
		return text_byte(c, TRAILER_VALUE, TRAILER_LF);
	}
}

/* Takes a byte that is not chunk data. Returns 0 or -EBADMSG. */
static int chunk_byte(struct http1_body *b, uint8_t c)
{
	int next;

	b->head++;
	if (b->head > (b->state >= TRAILER_FIRST ? HTTP1_TRAILERS_MAX :
						   HTTP1_CHUNK_HEAD_MAX))
		return -EBADMSG;
	switch (b->state) {
	case CHUNK_SIZE_FIRST:
	case CHUNK_SIZE:
		next = size_byte(b, c);
		break;
	case CHUNK_EXTENSION:
		next = text_byte(c, CHUNK_EXTENSION, CHUNK_SIZE_LF);
		break;
	case CHUNK_DATA_CR:
		next = c == '\r' ? CHUNK_DATA_LF : -EBADMSG;
		break;
	case CHUNK_SIZE_LF:
	case CHUNK_DATA_LF:
	case TRAILER_LF:
	case TRAILER_END_LF:
		next = lf_byte(b, c);
		break;
	default:
		next = trailer_byte(b, c);
	}
	if (next < 0)
		return -EBADMSG;
	b->state = (uint8_t)next;
	return 0;
}

static size_t data_take(struct http1_body *b, size_t len)
{
	size_t n = b->left < len ? (size_t)b->left : len;

	b->left -= n;
	return n;
}

static ssize_t chunked_feed(struct http1_body *b, struct slice raw)
{
	size_t i = 0;

	while (i < raw.len && !b->done) {
		if (b->state == CHUNK_DATA) {
			i += data_take(b, raw.len - i);
			if (b->left == 0)
				b->state = CHUNK_DATA_CR;
		} else if (chunk_byte(b, raw.ptr[i++]) < 0) {
			return -EBADMSG;
		}
	}
	return (ssize_t)i;
}

static ssize_t chunked_take(struct http1_body *b, struct slice raw,
			    struct slice *ret_data, struct buf *trailers)
{
	size_t i = 0, n;
	int rc;

	while (i < raw.len && !b->done) {
		bool trailer = b->state >= TRAILER_FIRST;

		if (b->state == CHUNK_DATA) {
			n = data_take(b, raw.len - i);
			*ret_data = slice_of(raw.ptr + i, n);
			if (b->left == 0)
				b->state = CHUNK_DATA_CR;
			return (ssize_t)(i + n);
		}
		if (chunk_byte(b, raw.ptr[i]) < 0)
			return -EBADMSG;
		rc = trailer ? buf_append(trailers, raw.ptr + i, 1) : 0;
		if (rc < 0)
			return rc;
		i++;
	}
	return (ssize_t)i;
}

ssize_t http1_body_take(struct http1_body *b, struct slice raw,
			struct slice *ret_data, struct buf *trailers)
{
	ssize_t n;

	*ret_data = slice_of(NULL, 0);
	if (b->kind == BODY_CHUNKED)
		return chunked_take(b, raw, ret_data, trailers);
	n = http1_body_feed(b, raw);
	if (n > 0)
		*ret_data = slice_of(raw.ptr, (size_t)n);
	return n;
}

ssize_t http1_body_feed(struct http1_body *b, struct slice raw)
{
	size_t n;

	if (b->done)
		return 0;
	switch (b->kind) {
	case BODY_CHUNKED:
		return chunked_feed(b, raw);
	case BODY_LENGTH:
		n = data_take(b, raw.len);
		b->done = b->left == 0;
		return (ssize_t)n;
	case BODY_UNTIL_CLOSE:
		return (ssize_t)raw.len;
	case BODY_NONE:
		break;
	}
	return 0;
}
