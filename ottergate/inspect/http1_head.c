/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_head.c - parses the head of a message, twice
 *
 * Theory of operation: smuggling works when two readers see different messages.
 * So a head passes only if two readers agree on it here: a walk over its bytes,
 * which knows lines and nothing of their meaning, and llhttp with every
 * leniency off, which must accept exactly the same bytes. The framing fields
 * are then read a third time, by rules stricter than RFC 9112 §6.3. Heads that
 * pass are written from their parts by http1_write.c.
 */
#include "ottergate/inspect/http1_head.h"

#include <llhttp.h>
#include <string.h>
#include <strings.h>

static bool head_byte_bad(uint8_t b, uint8_t before)
{
	if (before == '\r') /* a bare CR (RFC 9112 §2.2) */
		return true;
	if (before == '\n' && (b == ' ' || b == '\t')) /* obs-fold, §5.2 */
		return true;
	return (b < 0x20 && b != '\t' && b != '\r') || b == 0x7f;
}

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Returns how many bytes from @at on, in steps of eight, are visible, blank or
 * above ASCII; such a byte may follow any of these. */
static size_t plain_run(const uint8_t *at, size_t len)
{
	size_t n = 0;
	uint64_t v, del;

	for (; len - n >= sizeof(v); n += sizeof(v)) {
		memcpy(&v, at + n, sizeof(v));
		del = v ^ EACH(0x7f);
		/* The top bit of each byte below 0x20 or DEL. */
		if ((((v - EACH(0x20)) & ~v) | ((del - EACH(1)) & ~del)) &
		    EACH(0x80))
			break;
	}
	while (n < len && at[n] >= 0x20 && at[n] != 0x7f)
		n++;
	return n;
}

ssize_t http1_head_end(struct slice raw, size_t *pos)
{
	size_t max = raw.len < HTTP1_HEAD_MAX ? raw.len : HTTP1_HEAD_MAX;

	for (size_t i = *pos; i < raw.len; i++) {
		uint8_t b = raw.ptr[i];
		/* The first byte begins a line. */
		uint8_t before = i > 0 ? raw.ptr[i - 1] : '\n';

		if (i >= HTTP1_HEAD_MAX)
			return -E2BIG;
		if (b != '\n') {
			if (head_byte_bad(b, before))
				return -EBADMSG;
			if (b != '\r' && i < max)
				i += plain_run(raw.ptr + i + 1, max - i - 1);
			continue;
		}
		if (before != '\r' || i < 2)
			return -EBADMSG;
		if (raw.ptr[i - 2] == '\n') {
			*pos = i + 1;
			return (ssize_t)(i + 1);
		}
	}
	*pos = raw.len;
	return raw.len >= HTTP1_HEAD_MAX ? -E2BIG : -EAGAIN;
}

bool http1_is(struct slice s, const char *text)
{
	return http1_same(s, slice_str(text));
}

bool http1_same(struct slice a, struct slice b)
{
	return a.len == b.len &&
	       (a.len == 0 || strncasecmp((const char *)a.ptr,
					  (const char *)b.ptr, a.len) == 0);
}

bool http1_begins(struct slice s, const char *text)
{
	size_t len = strlen(text);

	return s.len >= len && http1_is(slice_of(s.ptr, len), text);
}

bool http1_token_byte(uint8_t b)
{
	if ((b >= '0' && b <= '9') || (b >= 'a' && b <= 'z') ||
	    (b >= 'A' && b <= 'Z'))
		return true;
	return b != 0 && strchr("!#$%&'*+-.^_`|~", b) != NULL;
}

static bool is_token(struct slice s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!http1_token_byte(s.ptr[i]))
			return false;
	return s.len > 0;
}

static struct slice trim(struct slice s)
{
	while (s.len > 0 && (s.ptr[0] == ' ' || s.ptr[0] == '\t')) {
		s.ptr++;
		s.len--;
	}
	while (s.len > 0 &&
	       (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
		s.len--;
	return s;
}

/* --- llhttp ------------------------------------------------------------- */

struct collect { /* llhttp's data pointer */
	struct http1_head *head;
	struct http1_field field; /* being read */
	bool many, complete;
};

/* Extends @s; llhttp reports a span in parts, which are adjacent here. */
static int extend(struct slice *s, const char *at, size_t len)
{
	const uint8_t *p = (const uint8_t *)at;

	if (!s->ptr)
		s->ptr = p;
	if (s->ptr + s->len != p)
		return HPE_USER;
	s->len += len;
	return HPE_OK;
}

static int on_method(llhttp_t *p, const char *at, size_t len)
{
	struct collect *c = p->data;

	return extend(&c->head->method, at, len);
}

static int on_url(llhttp_t *p, const char *at, size_t len)
{
	struct collect *c = p->data;

	return extend(&c->head->target, at, len);
}

static int on_status(llhttp_t *p, const char *at, size_t len)
{
	struct collect *c = p->data;

	return extend(&c->head->reason, at, len);
}

static int on_field(llhttp_t *p, const char *at, size_t len)
{
	struct collect *c = p->data;

	return extend(&c->field.name, at, len);
}

static int on_value(llhttp_t *p, const char *at, size_t len)
{
	struct collect *c = p->data;

	return extend(&c->field.value, at, len);
}

static int on_value_complete(llhttp_t *p)
{
	struct collect *c = p->data;
	struct http1_head *h = c->head;

	if (h->n_fields == HTTP1_HEADERS_MAX) {
		c->many = true;
		return HPE_USER;
	}
	/* No blank between a name and its colon (RFC 9112 §5.1). The byte after
	 * a name exists, since the head ends in CRLF. */
	if (!is_token(c->field.name) ||
	    c->field.name.ptr[c->field.name.len] != ':')
		return HPE_USER;
	c->field.value = trim(c->field.value);
	h->fields[h->n_fields++] = c->field;
	c->field = (struct http1_field){ 0 };
	return HPE_OK;
}

static int on_headers_complete(llhttp_t *p)
{
	struct collect *c = p->data;

	c->complete = true;
	return HPE_PAUSED; /* http1_body.c reads bodies */
}

static const llhttp_settings_t settings = {
	.on_method = on_method,
	.on_url = on_url,
	.on_status = on_status,
	.on_header_field = on_field,
	.on_header_value = on_value,
	.on_header_value_complete = on_value_complete,
	.on_headers_complete = on_headers_complete,
};

static int llhttp_why(const llhttp_t *p, const struct collect *c)
{
	switch (llhttp_get_errno(p)) {
	case HPE_INVALID_METHOD:
	case HPE_INVALID_VERSION:
	case HPE_PAUSED_H2_UPGRADE:
		return -EOPNOTSUPP;
	default:
		return c->many ? -E2BIG : -EBADMSG;
	}
}

int http1_head_read(struct slice raw, bool response, struct http1_head *ret)
{
	struct collect c = { .head = ret };
	size_t pos = 0;
	ssize_t len = http1_head_end(raw, &pos);
	llhttp_t p;

	if (len < 0)
		return (int)len;
	llhttp_init(&p, response ? HTTP_RESPONSE : HTTP_REQUEST, &settings);
	p.data = &c;
	if (llhttp_execute(&p, (const char *)raw.ptr, (size_t)len) !=
	    HPE_PAUSED)
		return llhttp_why(&p, &c);
	/* Both readers must have seen the same head. */
	if (!c.complete ||
	    llhttp_get_error_pos(&p) != (const char *)raw.ptr + len)
		return -EBADMSG;
	if (llhttp_get_http_major(&p) != 1 || llhttp_get_http_minor(&p) > 1)
		return -EOPNOTSUPP;
	ret->minor = llhttp_get_http_minor(&p);
	ret->status = response ? (unsigned)llhttp_get_status_code(&p) : 0;
	ret->len = (size_t)len;
	return 0;
}

/* --- framing ------------------------------------------------------------ */

/* Reads digits and nothing else, at most 18 of them. */
static int length_read(struct slice s, uint64_t *ret)
{
	uint64_t v = 0;

	if (s.len == 0 || s.len > 18)
		return -EBADMSG;
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] < '0' || s.ptr[i] > '9')
			return -EBADMSG;
		v = v * 10 + (uint64_t)(s.ptr[i] - '0');
	}
	*ret = v;
	return 0;
}

static int members_add(struct slice list, struct http1_members *ret)
{
	while (list.len > 0) {
		const uint8_t *comma = memchr(list.ptr, ',', list.len);
		size_t len = comma ? (size_t)(comma - list.ptr) : list.len;
		struct slice member = trim(slice_of(list.ptr, len));

		/* RFC 9110 §5.6.1: empty members are allowed. */
		if (member.len > 0) {
			if (ret->n == HTTP1_CONNECTION_MAX || !is_token(member))
				return -EBADMSG;
			ret->v[ret->n++] = member;
		}
		len += comma != NULL;
		list = slice_of(list.ptr + len, list.len - len);
	}
	return 0;
}

int http1_connection_members(const struct http1_field *fields, size_t n,
			     struct http1_members *ret)
{
	ret->n = 0;
	for (size_t i = 0; i < n; i++) {
		if (!http1_is(fields[i].name, "Connection"))
			continue;
		if (members_add(fields[i].value, ret) < 0)
			return -EBADMSG;
	}
	return 0;
}

static int framing_field(const struct http1_field *f, struct http1_framing *ret)
{
	if (http1_is(f->name, "Content-Length")) {
		if (ret->has_length || length_read(f->value, &ret->length) < 0)
			return -EBADMSG;
		ret->has_length = true;
	} else if (http1_is(f->name, "Transfer-Encoding")) {
		if (ret->chunked || !http1_is(f->value, "chunked"))
			return -EBADMSG;
		ret->chunked = true;
	}
	return 0;
}

int http1_framing_read(const struct http1_head *head, struct http1_framing *ret)
{
	struct http1_members m;

	*ret = (struct http1_framing){ 0 };
	for (size_t i = 0; i < head->n_fields; i++)
		if (framing_field(&head->fields[i], ret) < 0)
			return -EBADMSG;
	/* RFC 9112 §6.1: both may be an attack; HTTP/1.0 has no chunks. */
	if (ret->chunked && (ret->has_length || head->minor == 0))
		return -EBADMSG;
	if (http1_connection_members(head->fields, head->n_fields, &m) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < m.n; i++) {
		ret->close |= http1_is(m.v[i], "close");
		ret->upgrade |= http1_is(m.v[i], "upgrade");
	}
	return 0;
}
