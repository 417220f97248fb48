/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path.c - the one canonicaliser of request paths
 */
#include "ottergate/policy/request/path.h"

#include <string.h>

#include "lib/str.h"

static bool is_unreserved(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' ||
	       c == '~';
}

/* What may stand in a path as it is, but for unreserved ones and the slash:
 * sub-delims, ':' and '@' (RFC 3986 §3.3). */
static bool is_pchar(uint8_t c)
{
	return is_unreserved(c) || (c && strchr("!$&'()*+,;=:@", c));
}

static bool is_bad_decoded(uint8_t c)
{
	return c < 0x20 || c == 0x7f || c == '\\';
}

/* The byte that "%XX" at the front of @p stands for, -1: none. */
static int decode_at(const uint8_t *p, size_t len)
{
	int high = len > 2 && p[0] == '%' ? str_hex_digit(p[1]) : -1;
	int low = high >= 0 ? str_hex_digit(p[2]) : -1;

	return low >= 0 ? high << 4 | low : -1;
}

/* "%25" with two more digits, in a canonical path: a server that decodes twice
 * sees another one, if they stand for what says where segments end, or for what
 * a pattern names. */
static bool is_bad_twice(const char *p, size_t len)
{
	uint8_t again[3] = { '%' };
	int c;

	if (len < 5 || memcmp(p, "%25", 3) != 0)
		return false;
	memcpy(again + 1, p + 3, 2);
	c = decode_at(again, sizeof(again));
	return c == '/' || c == '%' || c == ';' || c == '?' || c == '#' ||
	       (c >= 0 &&
		(is_unreserved((uint8_t)c) || is_bad_decoded((uint8_t)c)));
}

/* One character of a path at the front of @s, canonical; returns how many
 * bytes of it were taken, 0: refused. */
static size_t canon_char(struct slice s, struct ipath *p)
{
	static const char hex[] = "0123456789ABCDEF";
	int c = decode_at(s.ptr, s.len);

	if (s.ptr[0] != '%') {
		if (s.ptr[0] != '/' && !is_pchar(s.ptr[0]))
			return 0;
		p->s[p->len++] = (char)s.ptr[0];
		return 1;
	}
	if (c < 0 || is_bad_decoded((uint8_t)c))
		return 0;
	if (is_unreserved((uint8_t)c)) {
		p->s[p->len++] = (char)c;
	} else {
		p->s[p->len++] = '%';
		p->s[p->len++] = hex[c >> 4];
		p->s[p->len++] = hex[c & 0xf];
	}
	return 3;
}

static bool is_at(const char *s, size_t len, const char *what)
{
	return len >= strlen(what) && memcmp(s, what, strlen(what)) == 0;
}

/* Where the segment at the front of @s ends; *ret_next: where the next one
 * begins. An encoded slash ends it too if @encoded. */
static size_t segment_end(const char *s, size_t len, bool encoded,
			  size_t *ret_next)
{
	for (size_t i = 0; i < len; i++) {
		bool is_encoded = encoded && is_at(s + i, len - i, "%2F");

		if (s[i] == '/' || is_encoded) {
			*ret_next = i + (is_encoded ? 3 : 1);
			return i;
		}
	}
	*ret_next = len;
	return len;
}

/* ".", "..", and these with parameters, which some servers take off first. */
static bool is_dots(const char *s, size_t len)
{
	size_t n = 0;

	while (n < len && s[n] == '.')
		n++;
	if (n == 0 || n > 2)
		return false;
	return n == len || s[n] == ';' || is_at(s + n, len - n, "%3B");
}

/*
 * "%C0%AE" is no UTF-8 (RFC 3629 §3), but a lenient decoder takes it for the
 * ASCII character that such a sequence is too long for. Lone %C0 and %C1 of
 * older encodings are let be.
 */
static bool is_overlong(const char *s, size_t len)
{
	static const char *const starts[] = { "%C0%8", "%C0%9", "%C0%A",
					      "%C0%B", "%C1%8", "%C1%9",
					      "%C1%A", "%C1%B", "%E0%8",
					      "%E0%9", "%F0%8" };

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if (is_at(s, len, starts[i]))
			return true;
	return false;
}

/* No dot segment and no empty one, but at the end, whatever is taken for a
 * separator, and none after one more decoding. */
static bool segments_are_clear(const char *path, size_t len)
{
	for (size_t at = 0; at < len; at++) {
		if (path[at] == '%' && (is_bad_twice(path + at, len - at) ||
					is_overlong(path + at, len - at)))
			return false;
	}
	for (unsigned encoded = 0; encoded < 2; encoded++) {
		size_t next;

		for (size_t at = 1; at < len; at += next) {
			size_t n = segment_end(path + at, len - at, encoded,
					       &next);

			if (n == 0 || is_dots(path + at, n))
				return false;
		}
	}
	return true;
}

/* Verbatim: what can be a query at all, and no fragment. */
static int canon_query(struct slice s, struct ipath *p)
{
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] <= 0x20 || s.ptr[i] >= 0x7f || s.ptr[i] == '#')
			return -EBADMSG;
		p->s[p->len++] = (char)s.ptr[i];
	}
	p->s[p->len] = '\0';
	return 0;
}

/* Also with an encoded slash some server ends a segment. */
static bool has_many_segments(const char *path, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += path[i] == '/' || is_at(path + i, len - i, "%2F");
	return n > IPATH_SEGMENTS_MAX;
}

int ipath_canon(struct slice target, struct ipath *ret)
{
	struct ipath *p = ret;

	p->len = p->path_len = 0;
	if (target.len > IPATH_MAX)
		return -E2BIG;
	if (target.len == 0)
		return -EBADMSG;
	if (target.ptr[0] != '/') {
		if (target.len != 1 || target.ptr[0] != '*')
			return -EBADMSG;
		p->path_len = 1;
		return canon_query(target, p);
	}
	while (target.len && target.ptr[0] != '?') {
		size_t n = canon_char(target, p);

		if (n == 0)
			return -EBADMSG;
		target.ptr += n;
		target.len -= n;
	}
	p->path_len = p->len;
	if (p->len > IPATH_PATH_MAX || has_many_segments(p->s, p->len))
		return -E2BIG;
	if (!segments_are_clear(p->s, p->path_len))
		return -EBADMSG;
	return canon_query(target, p);
}

size_t ipath_decode(struct slice in, char *out, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < in.len && n < size; n++) {
		int c = decode_at(in.ptr + i, in.len - i);

		out[n] = (char)(c < 0 ? in.ptr[i] : c);
		i += c < 0 ? 1 : 3;
	}
	return n;
}

void ipath_param(struct slice name, char *out, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < name.len && n + 1 < size;) {
		int c = decode_at(name.ptr + i, name.len - i);

		i += c < 0 ? 1 : 3;
		if (c < 0)
			c = name.ptr[i - 1] == '+' ? ' ' : name.ptr[i - 1];
		if (n == 0 && (c == ' ' || c == '[' || c == ']' || c == '$' ||
			       c == '\t' || c == '\r' || c == '\n'))
			continue;
		if (c == '[' || c == ']' || c == 0)
			break;
		if (c >= 'A' && c <= 'Z')
			c |= 0x20;
		out[n++] = (char)(c == '-' || c == '.' || c == ' ' ? '_' : c);
	}
	out[n] = '\0';
}

size_t ipath_plain(struct slice path, char *out)
{
	bool skip = false;
	size_t n = 0, step;

	for (size_t i = 0; i < path.len; i += step) {
		int c = decode_at(path.ptr + i, path.len - i);
		bool slash = c == '/' || path.ptr[i] == '/';

		step = c < 0 ? 1 : 3;
		if (c == '?' || c == '#')
			break;
		if (slash || c == ';' || path.ptr[i] == ';')
			skip = !slash;
		if (skip)
			continue;
		if (c >= 0 && is_pchar((uint8_t)c)) {
			out[n++] = (char)c;
			continue;
		}
		memcpy(out + n, path.ptr + i, step);
		n += step;
	}
	for (;;) {
		if (n > 1 && out[n - 1] == '/')
			n--;
		else if (n > 3 && is_at(out + n - 3, 3, "%2F"))
			n -= 3;
		else
			return n;
	}
}
