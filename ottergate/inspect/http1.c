/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1.c - requests and responses: what a head that passed means
 *
 * http1_head.c has checked the bytes. Here the request target gets one of its
 * four forms (RFC 9112 §3.2), Host is required and compared with it, and
 * whatever could be read in two ways is refused.
 */
#include "ottergate/inspect/http1.h"

#include <string.h>

#include "ottergate/inspect/http1_head.h"
#include "ottergate/inspect/judge/ihead.h"

/* Returns true if @s has only bytes of a host, an address or a port;
 * name_authority() parses it. No userinfo, no list (H3). */
static bool authority_bytes(struct slice s)
{
	for (size_t i = 0; i < s.len; i++) {
		uint8_t b = s.ptr[i];
		bool alnum = (b >= '0' && b <= '9') || (b >= 'a' && b <= 'z') ||
			     (b >= 'A' && b <= 'Z');

		if (!alnum && (b == 0 || !strchr("-._:[]", b)))
			return false;
	}
	return s.len > 0;
}

/* Visible ASCII but "#": a fragment is never sent (RFC 9112 §3.2). */
static bool target_bytes(struct slice s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] <= 0x20 || s.ptr[i] >= 0x7f || s.ptr[i] == '#')
			return false;
	return s.len > 0;
}

static int target_absolute(struct http1_request *rq)
{
	const uint8_t *end = rq->target.ptr + rq->target.len;
	const uint8_t *p = memmem(rq->target.ptr, rq->target.len, "://", 3);
	const uint8_t *host;

	if (!p || p == rq->target.ptr)
		return -EBADMSG;
	rq->form = HTTP1_ABSOLUTE;
	rq->scheme = slice_of(rq->target.ptr, (size_t)(p - rq->target.ptr));
	host = p + 3;
	for (p = host; p < end && *p != '/' && *p != '?'; p++)
		;
	rq->authority = slice_of(host, (size_t)(p - host));
	if (!authority_bytes(rq->authority))
		return -EBADMSG;
	rq->path = slice_of(p, (size_t)(end - p));
	if (p < end)
		return *p == '/' ? 0 : -EBADMSG;
	/* RFC 9112 §3.2.4: an empty path stands for "*" here. */
	rq->path = slice_str(http1_is(rq->method, "OPTIONS") ? "*" : "/");
	return 0;
}

static int target_read(struct http1_request *rq)
{
	if (rq->target.len > HTTP1_TARGET_MAX)
		return -ENAMETOOLONG;
	if (!target_bytes(rq->target))
		return -EBADMSG;
	if (http1_is(rq->method, "CONNECT")) {
		rq->form = HTTP1_AUTHORITY;
		rq->authority = rq->target;
		return authority_bytes(rq->target) ? 0 : -EBADMSG;
	}
	if (rq->target.ptr[0] == '/') {
		rq->form = HTTP1_ORIGIN;
		rq->path = rq->target;
		return 0;
	}
	if (http1_is(rq->target, "*")) {
		rq->form = HTTP1_ASTERISK;
		rq->path = rq->target;
		return http1_is(rq->method, "OPTIONS") ? 0 : -EBADMSG;
	}
	return target_absolute(rq);
}

static int fields_read(struct http1_request *rq)
{
	for (size_t i = 0; i < rq->m.n_fields; i++) {
		const struct http1_field *f = &rq->m.fields[i];

		if (ihead_shadows(f->name))
			return -EBADMSG;
		if (http1_is(f->name, "Host")) {
			if (rq->host.len > 0 || !authority_bytes(f->value))
				return -EBADMSG;
			rq->host = f->value;
		} else if (http1_is(f->name, "Expect")) {
			/* RFC 9110 §10.1.1 has no other value. */
			if (!http1_is(f->value, "100-continue"))
				return -EBADMSG;
			rq->expect_continue = rq->m.minor > 0;
		}
	}
	return rq->host.len == 0 && rq->m.minor > 0 ? -EBADMSG : 0;
}

static bool has_field(const struct http1_field *fields, size_t n,
		      const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (http1_is(fields[i].name, name))
			return true;
	return false;
}

/* Returns true for "METHOD target HTTP/1.x" with single blanks and nothing
 * more; llhttp accepts several blanks, and the request line of HTTP/0.9. */
static bool line_exact(struct slice raw, const struct http1_head *h)
{
	const uint8_t *end = h->target.ptr + h->target.len;
	size_t left = (size_t)(raw.ptr + h->len - end);

	return h->method.ptr == raw.ptr &&
	       h->target.ptr == h->method.ptr + h->method.len + 1 &&
	       left > 11 && memcmp(end, " HTTP/1.", 8) == 0 &&
	       memcmp(end + 9, "\r\n", 2) == 0;
}

/* Reads where the message ends and whether the connection stays; *ret_upgrade:
 * Connection names another protocol. */
static int message_read(const struct http1_head *h, struct http1_message *ret,
			bool *ret_upgrade)
{
	struct http1_framing fr;

	if (http1_framing_read(h, &fr) < 0)
		return -EBADMSG;
	ret->minor = h->minor;
	/* HTTP/1.0 can ask for it, but not through a proxy (§9.3). */
	ret->keep_alive = h->minor > 0 && !fr.close;
	ret->chunked = fr.chunked;
	ret->has_length = fr.has_length;
	ret->length = fr.length;
	ret->n_fields = h->n_fields;
	ret->head_len = h->len;
	*ret_upgrade = fr.upgrade;
	return 0;
}

int http1_request_read(struct slice raw, struct http1_request *ret)
{
	struct http1_head h = { .fields = ret->m.fields };
	int rc = http1_head_read(raw, false, &h);
	bool upgrade;

	if (rc < 0)
		return rc;
	if (!h.method.ptr || !h.target.ptr || !line_exact(raw, &h) ||
	    message_read(&h, &ret->m, &upgrade) < 0)
		return -EBADMSG;
	ret->method = h.method;
	ret->target = h.target;
	ret->path = ret->authority = ret->scheme = ret->host =
		slice_of(NULL, 0);
	ret->upgrade = upgrade && has_field(h.fields, h.n_fields, "Upgrade");
	ret->expect_continue = false;
	rc = target_read(ret);
	if (rc < 0)
		return rc;
	if (fields_read(ret) < 0)
		return -EBADMSG;
	/* RFC 9110 §9.3.6: content of a CONNECT has no meaning. Bytes that may
	 * be content or the tunnel's first bytes are refused. */
	if (ret->form == HTTP1_AUTHORITY &&
	    (ret->m.chunked || ret->m.length > 0))
		return -EBADMSG;
	return 0;
}

int http1_bad_status(int refusal, enum reason *ret_why)
{
	*ret_why = refusal == -ENAMETOOLONG ? REASON_PATH_LONG :
					      REASON_BAD_HTTP;
	switch (refusal) {
	case -ENAMETOOLONG:
		return 414;
	case -E2BIG:
		return 431;
	case -EOPNOTSUPP:
		return 501;
	default:
		return 400;
	}
}

int http1_request_authority(const struct http1_request *rq, uint16_t port,
			    struct name *ret_name, struct addr *ret_addr,
			    uint16_t *ret_port)
{
	struct slice who = rq->authority.len > 0 ? rq->authority : rq->host;
	struct name name = { .len = 0 }, host = { .len = 0 };
	struct addr addr = { .family = 0 }, host_addr = { .family = 0 };
	uint16_t want = 0, host_port = 0;

	if (who.len == 0)
		return -ENOENT;
	if (name_authority(who, port, &name, &addr, &want) < 0 || want == 0)
		return -EBADMSG;
	if (rq->authority.len > 0 && rq->host.len > 0) {
		/* Many clients omit the port in CONNECT's Host. */
		if (rq->form == HTTP1_AUTHORITY)
			port = want;
		if (name_authority(rq->host, port, &host, &host_addr,
				   &host_port) < 0)
			return -EBADMSG;
		if (host_port != want || host.len != name.len ||
		    memcmp(host.s, name.s, name.len) != 0 ||
		    !addr_eq(&host_addr, &addr))
			return -EPROTO;
	}
	*ret_name = name;
	*ret_addr = addr;
	*ret_port = want;
	return 0;
}

bool http1_request_websocket(const struct http1_request *rq)
{
	size_t n = 0;

	if (!rq->upgrade || rq->m.minor == 0 || !http1_is(rq->method, "GET") ||
	    rq->m.chunked || rq->m.length > 0)
		return false;
	for (size_t i = 0; i < rq->m.n_fields; i++) {
		if (!http1_is(rq->m.fields[i].name, "Upgrade"))
			continue;
		if (n++ > 0 || !http1_is(rq->m.fields[i].value, "websocket"))
			return false;
	}
	return n == 1;
}

/* Methods are case-sensitive (RFC 9110 §9.1). */
bool http1_request_idempotent(const struct http1_request *rq)
{
	static const char *const methods[] = { "GET", "HEAD", "PUT", "DELETE",
					       "OPTIONS" };

	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (slice_eq(rq->method, slice_str(methods[i])))
			return true;
	return false;
}

/* RFC 9112 §6.3, in its order. */
static void response_framing(struct http1_response *rs, bool head_request)
{
	rs->no_body = head_request || rs->status < 200 || rs->status == 204 ||
		      rs->status == 304;
	rs->until_close = !rs->no_body && !rs->m.chunked && !rs->m.has_length;
	rs->m.keep_alive = rs->m.keep_alive && !rs->until_close;
}

int http1_response_read(struct slice raw, bool head_request,
			struct http1_response *ret)
{
	struct http1_head h = { .fields = ret->m.fields };
	int rc = http1_head_read(raw, true, &h);
	bool upgrade;

	if (rc < 0)
		return rc;
	if (message_read(&h, &ret->m, &upgrade) < 0 || h.status < 100 ||
	    h.status > 599)
		return -EBADMSG;
	ret->status = h.status;
	ret->reason = h.reason;
	ret->websocket = false;
	for (size_t i = 0; i < h.n_fields; i++)
		if (h.status == 101 && upgrade &&
		    http1_is(h.fields[i].name, "Upgrade"))
			ret->websocket =
				http1_is(h.fields[i].value, "websocket");
	response_framing(ret, head_request);
	return 0;
}
