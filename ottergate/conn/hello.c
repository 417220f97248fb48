/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hello.c - the TLS ClientHello, over segments and records
 *
 * Theory of operation, two steps:
 *
 * walk() goes from record header to record header, across calls, until the
 * records hold a whole handshake message. It looks only at the headers and the
 * first four bytes of the message, so feeding byte by byte costs no more than
 * feeding at once, and it refuses an error as soon as that is visible: a client
 * that will never send a hello is told at its first byte.
 *
 * parse() then reads the message once, through a cursor that steps over the
 * record headers. The bytes stay where they are; a message in fifty records is
 * never copied together.
 *
 * Trust: what is accepted must mean the same to the server behind us. So this
 * is stricter than a server has to be (no other record between two fragments,
 * no empty record, no extension twice, one name of one type) and never more
 * tolerant; tests/fuzz/ottergate/hello_diff_fuzz.c compares it with OpenSSL.
 */
#include "ottergate/conn/hello.h"

#include <string.h>

#define RECORD_HEADER 5u
#define RECORD_MAX (1u << 14) /* RFC 8446 §5.1 */
#define RECORD_CHANGE_CIPHER 20
#define RECORD_ALERT 21
#define RECORD_HANDSHAKE 22
#define MESSAGE_HEADER 4u
#define MESSAGE_CLIENT_HELLO 1
#define RANDOM_LEN 32u
#define SESSION_ID_MAX 32u
#define ALERT_FATAL 2
#define VERSION_1_0 0x0301
#define VERSION_1_2 0x0303
#define VERSION_1_3 0x0304

enum extension {
	EXT_SERVER_NAME = 0,
	EXT_ALPN = 16,
	EXT_EARLY_DATA = 42,
	EXT_SUPPORTED_VERSIONS = 43,
	EXT_ECH = 0xfe0d,
	/* The draft before ECH, which hides a name just as well. */
	EXT_ESNI = 0xffce,
};
#define SNI_TYPE_HOST 0

/* A position within the handshake bytes, wherever they are; copy it to return
 * to the position. */
struct cursor {
	struct slice raw; /* the stream, records included */
	uint32_t in_record; /* bytes before the next header */
	uint32_t left; /* bytes left in this view */
};

static int refuse(struct hello_reader *r, enum hello_why why)
{
	r->why = why;
	return -EBADMSG;
}

/* Returns the length of a record whose header walk() has accepted. */
static int cursor_enter_record(struct cursor *c)
{
	struct slice skip;
	uint16_t len;

	if (slice_take(&c->raw, RECORD_HEADER - sizeof(len), &skip) < 0 ||
	    slice_u16(&c->raw, &len) < 0)
		return -EBADMSG;
	c->in_record = len;
	return 0;
}

/* Takes @len bytes; skips them if @out is NULL. */
static int cursor_read(struct cursor *c, void *out, uint32_t len)
{
	uint8_t *to = out;
	struct slice part;

	if (len > c->left)
		return -EBADMSG;
	c->left -= len;
	while (len > 0) {
		uint32_t n = len < c->in_record ? len : c->in_record;

		if (slice_take(&c->raw, n, &part) < 0)
			return -EBADMSG;
		if (to && n > 0) {
			memcpy(to, part.ptr, n);
			to += n;
		}
		c->in_record -= n;
		len -= n;
		if (len > 0 && cursor_enter_record(c) < 0)
			return -EBADMSG;
	}
	return 0;
}

static int cursor_u8(struct cursor *c, uint8_t *ret)
{
	return cursor_read(c, ret, 1);
}

static int cursor_u16(struct cursor *c, uint16_t *ret)
{
	uint8_t b[2];

	if (cursor_read(c, b, sizeof(b)) < 0)
		return -EBADMSG;
	*ret = (uint16_t)(b[0] << 8 | b[1]);
	return 0;
}

/* Takes @len bytes as a view. */
static int cursor_sub(struct cursor *c, uint32_t len, struct cursor *ret)
{
	struct cursor sub = *c;

	if (cursor_read(c, NULL, len) < 0)
		return -EBADMSG;
	sub.left = len;
	*ret = sub;
	return 0;
}

static int cursor_vec8(struct cursor *c, struct cursor *ret)
{
	uint8_t len;

	return cursor_u8(c, &len) < 0 ? -EBADMSG : cursor_sub(c, len, ret);
}

static int cursor_vec16(struct cursor *c, struct cursor *ret)
{
	uint16_t len;

	return cursor_u16(c, &len) < 0 ? -EBADMSG : cursor_sub(c, len, ret);
}

/* RFC 6066 §3. The list can hold several names and other types; no client sends
 * them, and servers differ in which they use (N7). */
static enum hello_why parse_sni(struct cursor *ext, struct hello *h)
{
	uint8_t text[NAME_LEN_MAX + 1], type;
	struct cursor list, host;
	uint32_t len;
	int rc;

	if (cursor_vec16(ext, &list) < 0 || ext->left > 0 ||
	    cursor_u8(&list, &type) < 0 || type != SNI_TYPE_HOST ||
	    cursor_vec16(&list, &host) < 0)
		return HELLO_MALFORMED;
	if (list.left > 0)
		return HELLO_DUPLICATE;
	len = host.left;
	if (len > sizeof(text))
		return HELLO_BAD_NAME;
	if (cursor_read(&host, text, len) < 0)
		return HELLO_MALFORMED;
	rc = name_canon(slice_of(text, len), &h->sni);
	if (rc < 0)
		return rc == -EAFNOSUPPORT ? HELLO_IP_NAME : HELLO_BAD_NAME;
	h->has_sni = true;
	return HELLO_OK;
}

/* RFC 7301 §3.1. */
static enum hello_why parse_alpn(struct cursor *ext, struct hello *h)
{
	static const char h2[] = { 'h', '2' };
	static const char h1[] = { 'h', 't', 't', 'p', '/', '1', '.', '1' };
	struct cursor list, proto;
	char text[sizeof(h1)];

	if (cursor_vec16(ext, &list) < 0 || ext->left > 0 || list.left == 0)
		return HELLO_MALFORMED;
	while (list.left > 0) {
		uint32_t len;

		if (cursor_vec8(&list, &proto) < 0 || proto.left == 0)
			return HELLO_MALFORMED;
		len = proto.left;
		if (len <= sizeof(text) && cursor_read(&proto, text, len) < 0)
			return HELLO_MALFORMED;
		if (len == sizeof(h2) && memcmp(text, h2, len) == 0)
			h->alpn_h2 = true;
		else if (len == sizeof(h1) && memcmp(text, h1, len) == 0)
			h->alpn_h1 = true;
		else
			h->alpn_other = true;
	}
	return HELLO_OK;
}

/* RFC 8446 §4.2.1: if present, legacy_version is ignored. Unknown versions are
 * GREASE (RFC 8701) or drafts. */
static enum hello_why parse_versions(struct cursor *ext, struct hello *h)
{
	struct cursor list;
	uint16_t v;

	if (cursor_vec8(ext, &list) < 0 || ext->left > 0 || list.left == 0)
		return HELLO_MALFORMED;
	h->version = 0;
	while (list.left > 0) {
		if (cursor_u16(&list, &v) < 0)
			return HELLO_MALFORMED;
		if (v >= VERSION_1_0 && v <= VERSION_1_3 && v > h->version)
			h->version = v;
	}
	return HELLO_OK;
}

static enum hello_why parse_extension(uint16_t type, struct cursor *ext,
				      struct hello *h)
{
	switch (type) {
	case EXT_SERVER_NAME:
		return parse_sni(ext, h);
	case EXT_ALPN:
		return parse_alpn(ext, h);
	case EXT_SUPPORTED_VERSIONS:
		return parse_versions(ext, h);
	case EXT_EARLY_DATA:
		h->early_data = true;
		return HELLO_OK;
	case EXT_ECH:
	case EXT_ESNI:
		h->ech = true;
		return HELLO_OK;
	default:
		return HELLO_OK;
	}
}

/* RFC 8446 §4.2: no type may appear twice. */
static enum hello_why parse_extensions(struct cursor *list, struct hello *h)
{
	uint16_t seen[HELLO_EXTENSIONS_MAX];
	struct cursor ext;
	enum hello_why why;

	for (size_t n = 0; list->left > 0; n++) {
		if (n == ARRAY_SIZE(seen))
			return HELLO_TOO_LONG;
		if (cursor_u16(list, &seen[n]) < 0 ||
		    cursor_vec16(list, &ext) < 0)
			return HELLO_MALFORMED;
		for (size_t i = 0; i < n; i++)
			if (seen[i] == seen[n])
				return HELLO_DUPLICATE;
		why = parse_extension(seen[n], &ext, h);
		if (why != HELLO_OK)
			return why;
	}
	return HELLO_OK;
}

/* RFC 8446 §4.1.2; RFC 5246 §7.4.1.2 allows the extensions to be absent. */
static enum hello_why parse(struct cursor *c, struct hello *h)
{
	struct cursor session, suites, compression, extensions;
	uint16_t legacy;

	if (cursor_read(c, NULL, MESSAGE_HEADER) < 0 ||
	    cursor_u16(c, &legacy) < 0)
		return HELLO_MALFORMED;
	if (legacy < VERSION_1_0 || legacy > VERSION_1_3)
		return HELLO_VERSION;
	h->version = legacy < VERSION_1_2 ? legacy : VERSION_1_2;
	if (cursor_read(c, NULL, RANDOM_LEN) < 0 ||
	    cursor_vec8(c, &session) < 0 || session.left > SESSION_ID_MAX ||
	    cursor_vec16(c, &suites) < 0 || suites.left == 0 ||
	    suites.left % 2 != 0 || cursor_vec8(c, &compression) < 0 ||
	    compression.left == 0)
		return HELLO_MALFORMED;
	if (c->left == 0)
		return HELLO_OK;
	if (cursor_vec16(c, &extensions) < 0 || c->left > 0)
		return HELLO_MALFORMED;
	return parse_extensions(&extensions, h);
}

/* Returns a cursor at the first handshake byte, over @len of them. */
static struct cursor cursor_first(struct slice stream, uint32_t len)
{
	return (struct cursor){ .raw = stream, .left = len };
}

/* Checks one header, of which @head may have only the beginning. Returns 0 with
 * the record's length. */
static int check_header(struct hello_reader *r, struct slice head,
			uint16_t *ret)
{
	uint8_t type, major, minor;

	if (slice_u8(&head, &type) < 0)
		return -EAGAIN;
	if (type != RECORD_HANDSHAKE &&
	    (r->records > 0 || type == RECORD_CHANGE_CIPHER ||
	     type == RECORD_ALERT))
		return refuse(r, HELLO_NOT_HELLO);
	/* SSLv2 has a length there, with its highest bit set. */
	if (type != RECORD_HANDSHAKE)
		return refuse(r, type & 0x80 ? HELLO_SSL2 : HELLO_NOT_TLS);
	if (slice_u8(&head, &major) < 0)
		return -EAGAIN;
	if (major != VERSION_1_0 >> 8)
		return refuse(r, HELLO_VERSION);
	if (slice_u8(&head, &minor) < 0)
		return -EAGAIN;
	if (minor < (VERSION_1_0 & 0xff) || minor > (VERSION_1_3 & 0xff))
		return refuse(r, HELLO_VERSION);
	if (slice_u16(&head, ret) < 0)
		return -EAGAIN;
	if (*ret == 0 || r->records == HELLO_RECORDS_MAX)
		return refuse(r, HELLO_RECORDS);
	if (*ret > RECORD_MAX)
		return refuse(r, HELLO_MALFORMED);
	return 0;
}

/* Returns how many handshake bytes are here; the last record may be
 * incomplete. */
static uint32_t available(const struct hello_reader *r, struct slice stream)
{
	uint32_t missing = r->pos > stream.len ? r->pos - (uint32_t)stream.len :
						 0;

	return r->have - missing;
}

/* Checks type and length of the message once they are here. */
static int check_message(struct hello_reader *r, struct slice stream)
{
	uint32_t max = r->max_kib ? r->max_kib * 1024u : HELLO_MAX_DEFAULT;
	uint32_t here = available(r, stream);
	struct cursor c;
	uint8_t b[MESSAGE_HEADER];

	if (here > sizeof(b))
		here = sizeof(b);
	c = cursor_first(stream, here);
	if (here == 0)
		return 0;
	if (cursor_read(&c, b, here) < 0)
		return refuse(r, HELLO_MALFORMED);
	if (b[0] != MESSAGE_CLIENT_HELLO)
		return refuse(r, HELLO_NOT_HELLO);
	if (here < sizeof(b))
		return 0;
	r->want = MESSAGE_HEADER +
		  ((uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3]);
	if (r->want > (max < HELLO_MAX_HARD ? max : HELLO_MAX_HARD))
		return refuse(r, HELLO_TOO_LONG);
	return 0;
}

/* Returns 0 if the whole message is here. */
static int walk(struct hello_reader *r, struct slice stream)
{
	uint16_t len;
	int rc;

	for (;;) {
		rc = r->want ? 0 : check_message(r, stream);
		if (rc < 0)
			return rc;
		if (r->want && available(r, stream) >= r->want)
			return 0;
		if ((r->want && r->have >= r->want) || r->pos > stream.len)
			return -EAGAIN; /* within a record */
		rc = check_header(
			r, slice_of(stream.ptr + r->pos, stream.len - r->pos),
			&len);
		if (rc < 0)
			return rc;
		r->pos += RECORD_HEADER + len;
		r->have += len;
		r->records++;
	}
}

int hello_read(struct hello_reader *r, struct slice stream, struct hello *ret)
{
	struct hello h = { 0 };
	struct cursor c;
	enum hello_why why;
	int res;

	if (r->why != HELLO_OK)
		return -EBADMSG; /* an error is final */
	if (stream.len == 0)
		return -EAGAIN;
	res = walk(r, stream);
	if (res < 0)
		return res;
	c = cursor_first(stream, r->want);
	why = parse(&c, &h);
	if (why != HELLO_OK)
		return refuse(r, why);
	*ret = h;
	return 0;
}

/* RFC 8446 §6. An alert before a version is agreed on has version 3.3 in its
 * record (§5.1), which clients of all versions accept. */
void hello_alert(uint8_t description, uint8_t ret[HELLO_ALERT_LEN])
{
	const uint8_t alert[HELLO_ALERT_LEN] = {
		RECORD_ALERT, 3, 3, 0, 2, ALERT_FATAL, description
	};

	memcpy(ret, alert, sizeof(alert));
}
