/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h1_head.c - converts heads of HTTP/1.1 to struct ihead and back
 *
 * What is written is what was judged: a head has no slice of the client's bytes
 * left by then, and the engine writes the framing. A status line's phrase is
 * free text from the server in a place that is not masked, so ours replaces it.
 */
#include "ottergate/inspect/h1.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ottergate/inspect/http1_head.h"

/* Bytes for version, framing, Connection and Expect of a request. */
#define REQUEST_WORDS_MAX 256u
#define RESPONSE_USUAL 4096u

/* --- reading -------------------------------------------------------------- */

static int fields_keep(const struct http1_message *m, bool request,
		       struct ihead *ret)
{
	struct http1_members named;
	int rc = http1_connection_members(m->fields, m->n_fields, &named);

	for (size_t i = 0; i < m->n_fields && rc == 0; i++) {
		const struct http1_field *f = &m->fields[i];

		if (http1_hop_by_hop(f->name, &named) ||
		    (request && http1_not_for_upstream(f->name)))
			continue;
		rc = ihead_add(ret, f->name, f->value);
	}
	return rc;
}

static int keep(struct ihead *h, struct slice *to, struct slice from)
{
	*to = slice_of(NULL, 0);
	if (from.len == 0)
		return 0;
	*to = ihead_keep(h, from);
	return to->ptr ? 0 : -ENOMEM;
}

int h1_request_head(const struct http1_request *rq, struct ihead *ret)
{
	struct slice authority = rq->authority.len > 0 ? rq->authority :
							 rq->host;

	if (keep(ret, &ret->method, rq->method) < 0 ||
	    keep(ret, &ret->path, rq->path) < 0 ||
	    keep(ret, &ret->authority, authority) < 0)
		return -ENOMEM;
	ret->length = rq->m.has_length ? rq->m.length : IHEAD_NO_LENGTH;
	ret->has_body = rq->m.chunked || (rq->m.has_length && rq->m.length > 0);
	ret->websocket = http1_request_websocket(rq);
	return fields_keep(&rq->m, true, ret);
}

int h1_response_head(const struct http1_response *rs, struct ihead *ret)
{
	ret->status = rs->status;
	ret->length = rs->m.has_length ? rs->m.length : IHEAD_NO_LENGTH;
	ret->has_body = !rs->no_body &&
			(rs->until_close || rs->m.chunked || rs->m.length > 0);
	ret->websocket = rs->websocket;
	return fields_keep(&rs->m, false, ret);
}

/* RFC 9110 §6.5.1: a field that frames, routes, authenticates or says how to
 * read the content must come before it. */
static bool is_no_trailer(struct slice name)
{
	static const char *const list[] = {
		"Transfer-Encoding",
		"Content-Length",
		"Content-Encoding",
		"Content-Type",
		"Content-Range",
		"Trailer",
		"Host",
		"Set-Cookie",
		"Location",
		"Authorization",
		"WWW-Authenticate",
		"Cache-Control",
		"Alt-Svc",
		"Connection",
		"Keep-Alive",
		"Upgrade",
		"TE",
	};

	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		if (http1_is(name, list[i]))
			return true;
	return http1_begins(name, "Proxy-");
}

static bool is_field(struct slice name, struct slice value)
{
	for (size_t i = 0; i < name.len; i++)
		if (!http1_token_byte(name.ptr[i]))
			return false;
	for (size_t i = 0; i < value.len; i++)
		if ((value.ptr[i] < 0x20 && value.ptr[i] != '\t') ||
		    value.ptr[i] == 0x7f)
			return false;
	return name.len > 0;
}

/* Adds one trailer line, without its CRLF. */
static int trailer_read(struct slice line, struct ihead *ret)
{
	const uint8_t *colon = memchr(line.ptr, ':', line.len);
	struct slice name, value;

	if (!colon)
		return -EBADMSG;
	name = slice_of(line.ptr, (size_t)(colon - line.ptr));
	value = slice_of(colon + 1, line.len - name.len - 1);
	while (value.len > 0 && (value.ptr[0] == ' ' || value.ptr[0] == '\t')) {
		value.ptr++;
		value.len--;
	}
	while (value.len > 0 && (value.ptr[value.len - 1] == ' ' ||
				 value.ptr[value.len - 1] == '\t'))
		value.len--;
	if (!is_field(name, value))
		return -EBADMSG;
	return is_no_trailer(name) ? 0 : ihead_add(ret, name, value);
}

int h1_trailers_read(struct slice lines, struct ihead *ret)
{
	int rc = 0;

	while (lines.len > 2 && rc == 0) {
		const uint8_t *end = memchr(lines.ptr, '\r', lines.len);
		size_t len = end ? (size_t)(end - lines.ptr) : 0;

		if (len == 0 || len + 2 > lines.len)
			return -EBADMSG;
		rc = trailer_read(slice_of(lines.ptr, len), ret);
		lines = slice_of(lines.ptr + len + 2, lines.len - len - 2);
	}
	return rc;
}

/* --- writing -------------------------------------------------------------- */

/* Appends @s; refuses bytes that would end a line or the head early. */
static int put(struct buf *out, struct slice s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] == '\r' || s.ptr[i] == '\n' || s.ptr[i] == 0)
			return -EBADMSG;
	return s.len > 0 ? buf_append(out, s.ptr, s.len) : 0;
}

static int put_text(struct buf *out, const char *s)
{
	return buf_append(out, s, strlen(s));
}

int h1_fields_write(const struct ihead *h, struct buf *out)
{
	int rc = 0;

	for (size_t i = 0; i < h->n_fields && rc == 0; i++) {
		const struct ifield *f = &h->fields[i];

		rc = put(out, f->name);
		if (rc == 0)
			rc = put_text(out, ": ");
		if (rc == 0)
			rc = put(out, f->value);
		if (rc == 0)
			rc = put_text(out, "\r\n");
	}
	return rc;
}

static int request_line(const struct h1_request *rq, struct buf *out)
{
	const struct ihead *h = rq->head;
	int rc = put(out, h->method);

	if (rc == 0)
		rc = put_text(out, " ");
	if (rc == 0)
		rc = put(out, h->path);
	if (rc == 0)
		rc = put_text(out, rq->old ? " HTTP/1.0\r\nHost: " :
					     " HTTP/1.1\r\nHost: ");
	if (rc == 0)
		rc = put(out, h->authority);
	return rc == 0 ? put_text(out, "\r\n") : rc;
}

static int request_framing(const struct h1_request *rq, struct buf *out)
{
	if (rq->chunked)
		return put_text(out, "Transfer-Encoding: chunked\r\n");
	if (rq->head->length != IHEAD_NO_LENGTH)
		return buf_printf(out, "Content-Length: %" PRIu64 "\r\n",
				  rq->head->length);
	return 0;
}

/* Returns at least the size of what h1_request_write() writes, and of a piece
 * of the body. */
static size_t request_size(const struct ihead *h)
{
	size_t n = REQUEST_WORDS_MAX + h->method.len + h->path.len +
		   h->authority.len + (h->has_body ? H1_READ_MAX : 0);

	for (size_t i = 0; i < h->n_fields; i++)
		n += h->fields[i].name.len + h->fields[i].value.len + 4;
	return n;
}

int h1_request_write(const struct h1_request *rq, struct buf *out)
{
	int rc;

	/* Reserved at once: a buffer that grows copies, and wipes, the
	 * credential each time. */
	if (!buf_reserve(out, request_size(rq->head)))
		return -ENOMEM;
	rc = request_line(rq, out);
	if (rc == 0)
		rc = h1_fields_write(rq->head, out);
	if (rc == 0 && rq->expect)
		rc = put_text(out, "Expect: 100-continue\r\n");
	if (rc == 0)
		rc = request_framing(rq, out);
	if (rc < 0)
		return rc;
	return put_text(out, rq->websocket ? "Upgrade: websocket\r\n"
					     "Connection: Upgrade\r\n\r\n" :
			     rq->keep      ? "Connection: keep-alive\r\n\r\n" :
					     "Connection: close\r\n\r\n");
}

static const char *phrase(unsigned status)
{
	static const struct {
		unsigned status;
		const char *phrase;
	} list[] = {
		{ 100, "Continue" },
		{ 101, "Switching Protocols" },
		{ 103, "Early Hints" },
		{ 200, "OK" },
		{ 201, "Created" },
		{ 202, "Accepted" },
		{ 204, "No Content" },
		{ 206, "Partial Content" },
		{ 301, "Moved Permanently" },
		{ 302, "Found" },
		{ 304, "Not Modified" },
		{ 307, "Temporary Redirect" },
		{ 308, "Permanent Redirect" },
		{ 400, "Bad Request" },
		{ 401, "Unauthorized" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 409, "Conflict" },
		{ 422, "Unprocessable Content" },
		{ 429, "Too Many Requests" },
		{ 500, "Internal Server Error" },
		{ 502, "Bad Gateway" },
		{ 503, "Service Unavailable" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		if (list[i].status == status)
			return list[i].phrase;
	return ""; /* RFC 9112 §4: it may be missing */
}

static int length_write(uint64_t length, struct buf *out)
{
	char line[48];

	snprintf(line, sizeof(line), "Content-Length: %" PRIu64 "\r\n", length);
	return put_text(out, line);
}

int h1_response_write(const struct ihead *h, const struct h1_response *rs,
		      const char *connection, struct buf *out)
{
	/* RFC 9110 §8.6: neither 1xx nor 204 has a length. With HEAD or 304 it
	 * describes a body that is not sent. */
	bool framed = h->status >= 200 && h->status != 204;
	char line[64];
	int rc = 0;

	/* Room for a typical head and the first bytes of its body. */
	if (buf_len(out) == 0 && !buf_reserve(out, RESPONSE_USUAL))
		rc = -ENOMEM;
	snprintf(line, sizeof(line), "HTTP/1.1 %u %s\r\n", h->status,
		 phrase(h->status));
	if (rc == 0)
		rc = put_text(out, line);
	if (rc == 0)
		rc = h1_fields_write(h, out);
	if (rc == 0 && framed && rs->chunked)
		rc = put_text(out, "Transfer-Encoding: chunked\r\n");
	else if (rc == 0 && framed && h->length != IHEAD_NO_LENGTH)
		rc = length_write(h->length, out);
	if (rc == 0 && connection)
		rc = put_text(out, connection);
	return rc == 0 ? put_text(out, "\r\n") : rc;
}

int h1_chunk_write(struct slice data, struct buf *out)
{
	int rc;

	if (data.len == 0)
		return 0;
	rc = buf_printf(out, "%zx\r\n", data.len);
	if (rc == 0)
		rc = buf_append(out, data.ptr, data.len);
	return rc == 0 ? put_text(out, "\r\n") : rc;
}
