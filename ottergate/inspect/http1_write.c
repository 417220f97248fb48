/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_write.c - writes heads from their parsed parts
 *
 * Fields that frame, route or govern the connection come from the parsed head,
 * never from its bytes.
 */
#include "ottergate/inspect/http1.h"

#include <inttypes.h>
#include <string.h>

#include "ottergate/inspect/http1_head.h"

static int put(struct buf *out, struct slice s)
{
	return s.len > 0 ? buf_append(out, s.ptr, s.len) : 0;
}

static int put_text(struct buf *out, const char *s)
{
	return buf_append(out, s, strlen(s));
}

static int put_field(struct buf *out, const struct http1_field *f)
{
	if (put(out, f->name) < 0 || put_text(out, ": ") < 0 ||
	    put(out, f->value) < 0)
		return -ENOBUFS;
	return put_text(out, "\r\n");
}

static bool in_list(struct slice name, const char *const *list)
{
	/* The first letter decides in nearly all cases. */
	for (; *list && name.len > 0; list++)
		if ((name.ptr[0] | 0x20) == ((uint8_t) * *list | 0x20) &&
		    http1_is(name, *list))
			return true;
	return false;
}

bool http1_hop_by_hop(struct slice name, const struct http1_members *named)
{
	static const char *const list[] = {
		"Connection",
		"Close",
		"Keep-Alive",
		"Upgrade",
		"TE",
		"Transfer-Encoding",
		"Content-Length",
		"HTTP2-Settings",
		NULL,
	};

	if (in_list(name, list) || http1_begins(name, "Proxy-"))
		return true;
	for (size_t i = 0; i < named->n; i++)
		if (http1_same(name, named->v[i]))
			return true;
	return false;
}

bool http1_not_for_upstream(struct slice name)
{
	static const char *const list[] = { "Host", "Trailer", "Expect",
					    "Forwarded", NULL };

	return in_list(name, list) || http1_begins(name, "X-Forwarded-");
}

static int put_connection(struct buf *out, const char *connection)
{
	if (!connection)
		return put_text(out, "\r\n");
	if (http1_is(slice_str(connection), "Upgrade") &&
	    put_text(out, "Upgrade: websocket\r\n") < 0)
		return -ENOBUFS;
	if (put_text(out, "Connection: ") < 0 || put_text(out, connection) < 0)
		return -ENOBUFS;
	return put_text(out, "\r\n\r\n");
}

static int put_framing(struct buf *out, const struct http1_message *m)
{
	if (m->chunked)
		return put_text(out, "Transfer-Encoding: chunked\r\n");
	if (m->has_length)
		return buf_printf(out, "Content-Length: %" PRIu64 "\r\n",
				  m->length);
	return 0;
}

static int put_request_line(const struct http1_request *rq,
			    const char *authority, struct buf *out)
{
	if (put(out, rq->method) < 0 || put_text(out, " ") < 0 ||
	    put(out, rq->path) < 0)
		return -ENOBUFS;
	return buf_printf(out, " HTTP/1.%u\r\nHost: %s\r\n",
			  (unsigned)rq->m.minor, authority);
}

int http1_request_write(const struct http1_request *rq, const char *authority,
			const char *connection, struct buf *out)
{
	struct http1_members named;

	if (http1_connection_members(rq->m.fields, rq->m.n_fields, &named) < 0)
		return -EBADMSG;
	if (put_request_line(rq, authority, out) < 0)
		return -ENOBUFS;
	for (size_t i = 0; i < rq->m.n_fields; i++) {
		const struct http1_field *f = &rq->m.fields[i];

		if (!http1_hop_by_hop(f->name, &named) &&
		    !http1_not_for_upstream(f->name) && put_field(out, f) < 0)
			return -ENOBUFS;
	}
	if (rq->expect_continue &&
	    put_text(out, "Expect: 100-continue\r\n") < 0)
		return -ENOBUFS;
	if (put_framing(out, &rq->m) < 0)
		return -ENOBUFS;
	return put_connection(out, connection);
}

int http1_response_write(const struct http1_response *rs,
			 const char *connection, struct buf *out)
{
	struct http1_members named;
	/* RFC 9110 §8.6: neither 1xx nor 204 has a length. With HEAD or 304 it
	 * describes a body that is not sent. */
	bool framed = rs->status >= 200 && rs->status != 204;

	if (http1_connection_members(rs->m.fields, rs->m.n_fields, &named) < 0)
		return -EBADMSG;
	if (buf_printf(out, "HTTP/1.1 %u ", rs->status) < 0 ||
	    put(out, rs->reason) < 0 || put_text(out, "\r\n") < 0)
		return -ENOBUFS;
	for (size_t i = 0; i < rs->m.n_fields; i++) {
		const struct http1_field *f = &rs->m.fields[i];

		if (!http1_hop_by_hop(f->name, &named) && put_field(out, f) < 0)
			return -ENOBUFS;
	}
	if (framed && put_framing(out, &rs->m) < 0)
		return -ENOBUFS;
	return put_connection(out, connection);
}
