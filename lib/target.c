/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target.c - what people write for a host: HOST[:PORT], or a URL
 *
 * An ASCII name that passes here is a name to the gateway as well
 * (ottergate/policy/net/name.c), so that no run fails late for a word that was
 * taken early.
 */
#include "lib/target.h"

#include <arpa/inet.h>
#include <errno.h>
#include <strings.h>

#define PORT_DIGITS_MAX 5u
#define NAME_LEN_MAX 253u /* RFC 1035 §2.3.4, as text */
#define LABEL_MAX 63u

static const struct {
	const char *prefix;
	enum target_scheme scheme;
	uint16_t port;
} schemes[] = {
	{ "https://", TARGET_HTTPS, 443 }, { "wss://", TARGET_HTTPS, 443 },
	{ "http://", TARGET_HTTP, 80 },    { "ws://", TARGET_HTTP, 80 },
	{ "tcp://", TARGET_TCP, 0 },
};

struct reader {
	enum target_form form;
	struct target t;
	enum target_fault fault;
};

static int refuse(struct reader *r, enum target_fault fault)
{
	r->fault = fault;
	return -EBADMSG;
}

/* The first @n bytes of @s, of which there are as many. */
static struct slice head(struct slice s, size_t n)
{
	return slice_of(s.ptr, n);
}

static struct slice tail(struct slice s, size_t n)
{
	return slice_of(s.ptr + n, s.len - n);
}

static bool is_in(uint8_t c, const char *set)
{
	return c && strchr(set, c);
}

/* How many bytes of @s come before the first one of @set. */
static size_t span_to(struct slice s, const char *set)
{
	size_t n = 0;

	while (n < s.len && !is_in(s.ptr[n], set))
		n++;
	return n;
}

/* How many bytes at the beginning of @s are of @set. */
static size_t span_of(struct slice s, const char *set)
{
	size_t n = 0;

	while (n < s.len && is_in(s.ptr[n], set))
		n++;
	return n;
}

#define DIGITS "0123456789"
#define HEX DIGITS "abcdefABCDEF"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* "https://" and its like from the front of @s. */
static int take_scheme(struct reader *r, struct slice *s)
{
	size_t n = span_to(*s, ":/?#");

	if (s->len < n + 3 || memcmp(s->ptr + n, "://", 3) != 0)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
		if (strlen(schemes[i].prefix) != n + 3 ||
		    strncasecmp((const char *)s->ptr, schemes[i].prefix, n) !=
			    0)
			continue;
		r->t.scheme = schemes[i].scheme;
		*s = tail(*s, n + 3);
		return 0;
	}
	return refuse(r, TARGET_BAD_SCHEME);
}

/* Digits that no reader takes for another number: no zero before others. */
static bool read_number(struct slice s, size_t digits, unsigned max,
			unsigned *ret)
{
	unsigned v = 0;

	if (s.len == 0 || s.len > digits || (s.len > 1 && s.ptr[0] == '0') ||
	    span_of(s, DIGITS) != s.len)
		return false;
	for (size_t i = 0; i < s.len; i++)
		v = v * 10 + (s.ptr[i] - (unsigned)'0');
	*ret = v;
	return v <= max;
}

static int read_ports(struct reader *r, struct slice s)
{
	size_t n = r->form == TARGET_RULE ? span_to(s, "-") : s.len;
	unsigned first = 0, last;

	if (memchr(s.ptr, '/', s.len))
		return refuse(r, TARGET_BAD_PATH);
	if (!read_number(head(s, n), PORT_DIGITS_MAX, UINT16_MAX, &first) ||
	    first == 0)
		return refuse(r, TARGET_BAD_PORT);
	last = first;
	if (n < s.len &&
	    (!read_number(tail(s, n + 1), PORT_DIGITS_MAX, UINT16_MAX, &last) ||
	     last < first))
		return refuse(r, TARGET_BAD_PORT);
	r->t.first = (uint16_t)first;
	r->t.last = (uint16_t)last;
	return 0;
}

/* All bits of @b but the first @bits are 0. */
static bool rest_is_zero(const uint8_t *b, size_t size, unsigned bits)
{
	for (size_t i = 0; i < size; i++) {
		unsigned keep = i * 8 >= bits     ? 0 :
				bits - i * 8 >= 8 ? 8 :
						    bits - (unsigned)i * 8;

		if (b[i] & (0xffu >> keep))
			return false;
	}
	return true;
}

/* An address, or in a rule a range of them. */
static int read_address(struct reader *r, struct slice s, enum target_kind kind)
{
	char text[INET6_ADDRSTRLEN];
	size_t n = r->form == TARGET_RULE ? span_to(s, "/") : s.len;
	unsigned bits, most = kind == TARGET_V6 ? 128 : 32;
	uint8_t b[16];

	/* inet_pton() would stop at a NUL and not see what follows. */
	if (n >= sizeof(text) || memchr(s.ptr, 0, n))
		return refuse(r, TARGET_BAD_HOST);
	memcpy(text, s.ptr, n);
	text[n] = '\0';
	if (inet_pton(kind == TARGET_V6 ? AF_INET6 : AF_INET, text, b) != 1)
		return refuse(r, TARGET_BAD_HOST);
	if (n < s.len) {
		struct slice rest = tail(s, n + 1);

		if (memchr(rest.ptr, '/', rest.len))
			return refuse(r, TARGET_BAD_PATH);
		if (!read_number(rest, 3, most, &bits) ||
		    !rest_is_zero(b, most / 8, bits))
			return refuse(r, TARGET_BAD_RANGE);
	}
	r->t.kind = kind;
	r->t.host = s;
	return 0;
}

/* Decimal, octal, or hexadecimal: an address to some resolver. */
static bool is_number(struct slice label)
{
	if (label.len >= 2 && label.ptr[0] == '0' &&
	    (label.ptr[1] | 0x20) == 'x')
		return span_of(tail(label, 2), HEX) == label.len - 2;
	return span_of(label, DIGITS) == label.len;
}

/* A name in ASCII is a host name (RFC 1123 §2.1, and '_'). */
static bool is_name(struct slice s)
{
	if (s.len > 1 && s.ptr[s.len - 1] == '.')
		s.len--;
	if (s.len > NAME_LEN_MAX)
		return false;
	for (;;) {
		size_t n = span_to(s, ".");

		if (n == 0 || n > LABEL_MAX)
			return false;
		if (n == s.len)
			return !is_number(s);
		s = tail(s, n + 1);
	}
}

bool target_is_foreign(struct slice host)
{
	for (size_t i = 0; i < host.len; i++)
		if (host.ptr[i] & 0x80)
			return true;
	return false;
}

static int read_name(struct reader *r, struct slice s)
{
	for (size_t i = 0; i < s.len; i++) {
		uint8_t c = s.ptr[i];

		if (c == '*')
			return refuse(r, TARGET_BAD_STAR);
		if (c < 0x80 && !is_in(c, LETTERS DIGITS "-_."))
			return refuse(r, TARGET_BAD_BYTE);
	}
	if (!target_is_foreign(s) && !is_name(s))
		return refuse(r, TARGET_BAD_HOST);
	r->t.kind = TARGET_NAME;
	r->t.host = s;
	return 0;
}

/* ".x", "+x" and "*.x" from the front of @s. */
static void take_pattern(struct reader *r, struct slice *s)
{
	if (s->len > 1 && s->ptr[0] == '*' && s->ptr[1] == '.')
		*s = tail(*s, 1);
	if (s->len == 0 || !is_in(s->ptr[0], ".+"))
		return;
	r->t.pattern = (char)s->ptr[0];
	*s = tail(*s, 1);
}

/* Without brackets and port. */
static int read_host(struct reader *r, struct slice s)
{
	if (r->form == TARGET_RULE)
		take_pattern(r, &s);
	if (s.len == 0)
		return refuse(r, TARGET_NO_HOST);
	if (s.len > TARGET_HOST_MAX)
		return refuse(r, TARGET_LONG);
	if (memchr(s.ptr, ':', s.len) && !r->t.pattern)
		return read_address(r, s, TARGET_V6);
	if (span_of(s, DIGITS ".") == span_to(s, "/") && s.ptr[0] != '/' &&
	    !r->t.pattern)
		return read_address(r, s, TARGET_V4);
	if (memchr(s.ptr, '/', s.len))
		return refuse(r, TARGET_BAD_PATH);
	return read_name(r, s);
}

/* "[v6]" or "[v6]:port". */
static int read_brackets(struct reader *r, struct slice s)
{
	size_t n = span_to(s, "]");
	struct slice rest;
	int rc;

	if (n == s.len)
		return refuse(r, TARGET_BAD_HOST);
	rest = tail(s, n + 1);
	rc = read_address(r, slice_of(s.ptr + 1, n - 1), TARGET_V6);
	if (rc < 0 || rest.len == 0)
		return rc;
	if (rest.ptr[0] == '/')
		return refuse(r, TARGET_BAD_PATH);
	return rest.ptr[0] == ':' ? read_ports(r, tail(rest, 1)) :
				    refuse(r, TARGET_BAD_HOST);
}

static int read_authority(struct reader *r, struct slice s)
{
	size_t n = span_to(s, ":");
	int rc;

	if (s.len && s.ptr[0] == '[')
		return read_brackets(r, s);
	/* Hexadecimal digits and several colons: IPv6 as a whole. */
	if (n < s.len && memchr(s.ptr + n + 1, ':', s.len - n - 1) &&
	    span_of(s, HEX ":.") == span_to(s, "/"))
		return read_host(r, s);
	rc = read_host(r, head(s, n));
	return rc < 0 || n == s.len ? rc : read_ports(r, tail(s, n + 1));
}

static int read_target(struct reader *r, struct slice s)
{
	size_t n;
	int rc = take_scheme(r, &s);

	if (rc < 0)
		return rc;
	n = span_to(s, "/?#");
	if (memchr(s.ptr, '@', n))
		return refuse(r, TARGET_BAD_USER);
	if (r->form == TARGET_URL) {
		struct slice path = tail(s, n);

		if (path.len && path.ptr[0] == '/')
			r->t.path = head(path, span_to(path, "#"));
		s = head(s, n);
	} else if (s.len > 1 && s.ptr[s.len - 1] == '/') {
		s.len--; /* what a browser shows */
	}
	rc = read_authority(r, s);
	if (rc == 0 && r->t.scheme == TARGET_TCP && !r->t.first)
		return refuse(r, TARGET_NO_PORT);
	return rc;
}

int target_parse(struct slice in, enum target_form form, struct target *ret,
		 enum target_fault *ret_fault)
{
	struct reader r = { .form = form };
	int rc;

	if (in.len == 0)
		in = slice_str(""); /* whose pointer is none of NULL */
	rc = read_target(&r, in);
	if (rc < 0)
		*ret_fault = r.fault;
	else
		*ret = r.t;
	return rc;
}

uint16_t target_port(const struct target *t)
{
	if (t->first)
		return t->first;
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (schemes[i].scheme == t->scheme)
			return schemes[i].port;
	return 443;
}
