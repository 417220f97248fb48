/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admin.c - codec of the admin socket
 *
 * A message is taken whole or not at all: the length is looked at first and
 * refused at once when it is too large, so that no reader collects more than
 * the limit. Encoders reserve nothing unless all of it fits.
 */
#include "ottergate/admin.h"

#define HEAD 4u /* u32 length */

/* Takes the whole message that @in begins with; @max bounds its length. */
static int admin_take(struct slice *in, size_t max, struct slice *ret)
{
	struct slice rest = *in;
	uint32_t len;

	if (slice_u32(&rest, &len) < 0)
		return -EAGAIN;
	if (len > max)
		return -EBADMSG;
	if (slice_take(&rest, len, ret) < 0)
		return -EAGAIN;
	*in = rest;
	return 0;
}

int admin_request_read(struct slice *in, struct admin_request *ret)
{
	struct slice rest = *in, body;
	struct admin_request rq;
	uint8_t verb;
	int rc = admin_take(&rest, ADMIN_REQUEST_MAX, &body);

	if (rc < 0)
		return rc;
	if (slice_u8(&body, &verb) < 0 || verb < ADMIN_PING ||
	    verb > ADMIN_VERB_LAST ||
	    slice_lstr(&body, ADMIN_REQUEST_MAX, &rq.a) < 0 ||
	    slice_lstr(&body, ADMIN_REQUEST_MAX, &rq.b) < 0 || body.len > 0)
		return -EBADMSG;
	rq.verb = (enum admin_verb)verb;
	*in = rest;
	*ret = rq;
	return 0;
}

int admin_frame_read(struct slice *in, struct admin_frame *ret)
{
	struct slice rest = *in, body;
	uint8_t kind;
	int rc = admin_take(&rest, ADMIN_FRAME_MAX + 1, &body);

	if (rc < 0)
		return rc;
	if (slice_u8(&body, &kind) < 0 || kind < ADMIN_DATA ||
	    kind > ADMIN_ERROR)
		return -EBADMSG;
	ret->kind = (enum admin_kind)kind;
	ret->payload = body;
	*in = rest;
	return 0;
}

int admin_request_put(struct buf *out, enum admin_verb verb, struct slice a,
		      struct slice b)
{
	size_t room = ADMIN_REQUEST_MAX - 1 - 2 * HEAD, len;

	if (a.len > room || b.len > room - a.len)
		return -EMSGSIZE;
	len = 1 + 2 * HEAD + a.len + b.len;
	if (buf_room(out) < HEAD + len)
		return -ENOBUFS;
	if (!buf_reserve(out, HEAD + len) ||
	    buf_put_u32(out, (uint32_t)len) < 0 ||
	    buf_put_u8(out, (uint8_t)verb) < 0 ||
	    buf_put_lstr(out, a.ptr, a.len) < 0 ||
	    buf_put_lstr(out, b.ptr, b.len) < 0)
		return -ENOMEM;
	return 0;
}

int admin_frame_put(struct buf *out, enum admin_kind kind, struct slice payload)
{
	size_t len = 1 + payload.len;

	if (payload.len > ADMIN_FRAME_MAX)
		return -EMSGSIZE;
	if (buf_room(out) < HEAD + len)
		return -ENOBUFS;
	if (!buf_reserve(out, HEAD + len) ||
	    buf_put_u32(out, (uint32_t)len) < 0 ||
	    buf_put_u8(out, (uint8_t)kind) < 0 ||
	    buf_append(out, payload.ptr, payload.len) < 0)
		return -ENOMEM;
	return 0;
}
