/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name.c - the one canonicaliser of host names
 *
 * Theory of operation: a name is put together label by label, and only
 * append_label() and finish() know what a label and a name are. Text
 * (name_canon) and wire form (name_wire_label, name_wire_end) are two ways of
 * finding labels, so they cannot come to different rules.
 *
 * What is refused as an address is chosen by what any resolver might make of
 * it, not by what ours does: inet_aton() takes "127.1", "0x7f.1" and
 * "017700000001", browsers take whatever has a number as its last label
 * (WHATWG URL, "ends in a number checker"). No top-level domain is a number,
 * so nothing is lost.
 */
#include "ottergate/policy/net/name.h"

#include <string.h>

#define PORT_DIGITS_MAX 5u

static bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit((uint8_t)c) || (c >= 'a' && c <= 'f');
}

/* The canonical byte, 0: not in the alphabet. No locale has a say. */
static char canon_byte(uint8_t c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	if ((c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_')
		return (char)c;
	return 0;
}

/* Bytes by which a URL or a socket address shows that it is IPv6. */
static bool is_address_byte(uint8_t c)
{
	return c == ':' || c == '[' || c == ']';
}

static int append_label(struct name *n, struct slice label)
{
	size_t dot = n->len > 0, at = n->len + dot;

	if (label.len == 0 || label.len > NAME_LABEL_MAX ||
	    at + label.len > NAME_LEN_MAX)
		return -EBADMSG;
	for (size_t i = 0; i < label.len; i++) {
		char c = canon_byte(label.ptr[i]);

		if (!c)
			return is_address_byte(label.ptr[i]) ? -EAFNOSUPPORT :
							       -EBADMSG;
		n->s[at + i] = c; /* beyond n->len: no part of it yet */
	}
	if (dot)
		n->s[n->len] = '.';
	n->len = (uint8_t)(at + label.len);
	n->s[n->len] = '\0';
	return 0;
}

/* Decimal and octal are digits alone; "0x" with nothing behind it is a zero
 * to WHATWG. */
static bool is_number(const char *label)
{
	const char *s = label;

	if (s[0] == '0' && s[1] == 'x') {
		for (s += 2; is_hex(*s); s++)
			;
		return *s == '\0';
	}
	while (is_digit((uint8_t)*s))
		s++;
	return *s == '\0';
}

static int finish(const struct name *n)
{
	const char *dot;

	if (n->len == 0)
		return -EBADMSG;
	dot = strrchr(n->s, '.');
	return is_number(dot ? dot + 1 : n->s) ? -EAFNOSUPPORT : 0;
}

int name_canon(struct slice in, struct name *ret)
{
	struct name n = { 0 };
	const uint8_t *dot;
	struct slice part;
	int rc;

	if (in.len > NAME_LEN_MAX + 1)
		return -EBADMSG;
	if (in.len > 1 && in.ptr[in.len - 1] == '.')
		in.len--;
	do {
		dot = in.len > 0 ? memchr(in.ptr, '.', in.len) : NULL;
		rc = slice_take(&in, dot ? (size_t)(dot - in.ptr) : in.len,
				&part);
		if (rc == 0)
			rc = append_label(&n, part);
		if (rc == 0 && dot)
			rc = slice_take(&in, 1, &part);
	} while (rc == 0 && dot);
	if (rc == 0)
		rc = finish(&n);
	if (rc < 0)
		return rc;
	*ret = n;
	return 0;
}

int name_wire_label(struct name *ret, struct slice label)
{
	return append_label(ret, label);
}

int name_wire_end(struct name *ret)
{
	return finish(ret);
}

/* ":443", and nothing that another reader might take for another number. */
static int read_port(struct slice in, uint16_t *ret)
{
	uint32_t port = 0;
	uint8_t c;

	if (slice_u8(&in, &c) < 0 || c != ':' || in.len == 0 ||
	    in.len > PORT_DIGITS_MAX || in.ptr[0] == '0')
		return -EBADMSG;
	while (slice_u8(&in, &c) == 0) {
		if (!is_digit(c))
			return -EBADMSG;
		port = port * 10 + (c - (uint32_t)'0');
	}
	if (port > UINT16_MAX)
		return -EBADMSG;
	*ret = (uint16_t)port;
	return 0;
}

/* An address in exactly the spelling that addr_text() gives it. */
static int read_address(struct slice in, uint8_t family, struct addr *ret)
{
	char text[ADDR_TEXT_MAX];
	struct addr a;

	if (addr_parse(in, &a) < 0 || a.family != family ||
	    !slice_eq(in, slice_str(addr_text(&a, text))))
		return -EBADMSG;
	*ret = a;
	return 0;
}

/* "[v6]" is taken from the front of @in. */
static int take_brackets(struct slice *in, struct addr *ret)
{
	const uint8_t *end = memchr(in->ptr, ']', in->len);
	struct slice bracket, text;

	if (!end || slice_take(in, 1, &bracket) < 0 ||
	    slice_take(in, (size_t)(end - in->ptr), &text) < 0 ||
	    slice_take(in, 1, &bracket) < 0)
		return -EBADMSG;
	return read_address(text, 6, ret);
}

/* A name or an IPv4 address, up to the first colon, from the front of @in. */
static int take_host(struct slice *in, struct name *ret_name,
		     struct addr *ret_addr)
{
	const uint8_t *colon = memchr(in->ptr, ':', in->len);
	struct slice host;
	int rc;

	if (slice_take(in, colon ? (size_t)(colon - in->ptr) : in->len, &host))
		return -EBADMSG;
	rc = name_canon(host, ret_name);
	if (rc == -EAFNOSUPPORT)
		rc = read_address(host, 4, ret_addr);
	return rc;
}

int name_authority(struct slice in, uint16_t port, struct name *ret_name,
		   struct addr *ret_addr, uint16_t *ret_port)
{
	struct name name = { 0 };
	struct addr addr = { 0 };
	int rc;

	if (in.len == 0)
		return -EBADMSG;
	rc = in.ptr[0] == '[' ? take_brackets(&in, &addr) :
				take_host(&in, &name, &addr);
	if (rc == 0 && in.len > 0)
		rc = read_port(in, &port);
	if (rc < 0)
		return rc;
	*ret_name = name;
	*ret_addr = addr;
	*ret_port = port;
	return 0;
}
