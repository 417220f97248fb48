/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jsonw.c - writes JSON into a buf; the caller keeps the structure right
 *
 * Most of what is written needs no escape, so runs of plain bytes are copied
 * in one piece. What is UTF-8 is written as \uXXXX with surrogates where
 * needed (RFC 8259 §7): the result is ASCII, so no terminal, no editor and no
 * other parser can see in it what we did not.
 */
#include "lib/jsonw.h"

#include <string.h>

#define UNIT_MAX 12 /* "\uD83D\uDE00" */

/* Printable ASCII but the quote and the backslash; DEL is none. */
static bool is_plain(uint8_t c)
{
	return c - 0x20u < 0x5fu && c != '"' && c != '\\';
}

static size_t plain_run(const uint8_t *p, size_t len)
{
	size_t n = 0;

	while (n < len && is_plain(p[n]))
		n++;
	return n;
}

/* Bytes of the sequence that @c begins, 0: it begins none. */
static size_t utf8_len(uint8_t c)
{
	if (c < 0x80)
		return 1;
	if ((c & 0xe0) == 0xc0)
		return 2;
	if ((c & 0xf0) == 0xe0)
		return 3;
	return (c & 0xf8) == 0xf0 ? 4 : 0;
}

/*
 * The code point at the front of @p and how many bytes it takes; 0 bytes:
 * no UTF-8 (RFC 3629 §4: no overlong forms, no surrogates, nothing above
 * U+10FFFF).
 */
static size_t utf8_decode(const uint8_t *p, size_t len, uint32_t *ret)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = utf8_len(p[0]);
	uint32_t c;

	if (n == 0 || n > len)
		return 0;
	c = n == 1 ? p[0] : p[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3fu);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*ret = c;
	return n;
}

static char *put_u16(char *out, uint32_t v)
{
	static const char hex[] = "0123456789abcdef";

	*out++ = '\\';
	*out++ = 'u';
	for (int shift = 12; shift >= 0; shift -= 4)
		*out++ = hex[v >> shift & 0xf];
	return out;
}

/* Escapes what stands at the front of @p; returns how many bytes it was. */
static size_t put_unit(char **out, const uint8_t *p, size_t len)
{
	uint32_t c = 0;
	size_t n = utf8_decode(p, len, &c);

	if (n == 0) {
		*out = put_u16(*out, p[0]);
		return 1;
	}
	if (c == '"' || c == '\\') {
		*(*out)++ = '\\';
		*(*out)++ = (char)c;
	} else if (c == '\n') {
		*(*out)++ = '\\';
		*(*out)++ = 'n';
	} else if (c == '\t') {
		*(*out)++ = '\\';
		*(*out)++ = 't';
	} else if (c > 0xffff) {
		*out = put_u16(*out, 0xd800 + ((c - 0x10000) >> 10));
		*out = put_u16(*out, 0xdc00 + ((c - 0x10000) & 0x3ff));
	} else {
		*out = put_u16(*out, c);
	}
	return n;
}

char *jsonw_put_escaped(char *out, const void *p, size_t len)
{
	const uint8_t *from = p;

	while (len > 0) {
		size_t n = plain_run(from, len);

		if (n > 0) {
			memcpy(out, from, n);
			out += n;
		} else {
			n = put_unit(&out, from, len);
		}
		from += n;
		len -= n;
	}
	return out;
}

char *jsonw_put_u64(char *out, uint64_t v)
{
	char digits[JSONW_U64_MAX];
	size_t n = 0;

	do {
		digits[n++] = (char)('0' + v % 10);
		v /= 10;
	} while (v > 0);
	while (n > 0)
		*out++ = digits[--n];
	return out;
}

void jsonw_init(struct jsonw *w, struct buf *out)
{
	*w = (struct jsonw){ .out = out };
}

static void jsonw_raw(struct jsonw *w, const void *p, size_t len)
{
	if (w->rc == 0)
		w->rc = buf_append(w->out, p, len);
}

static void jsonw_quoted(struct jsonw *w, const uint8_t *p, size_t len)
{
	jsonw_raw(w, "\"", 1);
	while (len > 0 && w->rc == 0) {
		size_t n = plain_run(p, len);
		char unit[UNIT_MAX], *end = unit;

		if (n > 0) {
			jsonw_raw(w, p, n);
		} else {
			n = put_unit(&end, p, len);
			jsonw_raw(w, unit, (size_t)(end - unit));
		}
		p += n;
		len -= n;
	}
	jsonw_raw(w, "\"", 1);
}

/* The comma and the key before a value. */
static void jsonw_begin(struct jsonw *w, const char *key)
{
	if (w->comma)
		jsonw_raw(w, ",", 1);
	w->comma = true;
	if (!key)
		return;
	jsonw_quoted(w, (const uint8_t *)key, strlen(key));
	jsonw_raw(w, ":", 1);
}

void jsonw_open(struct jsonw *w, const char *key, char bracket)
{
	jsonw_begin(w, key);
	jsonw_raw(w, &bracket, 1);
	w->comma = false;
}

void jsonw_close(struct jsonw *w, char bracket)
{
	jsonw_raw(w, &bracket, 1);
	w->comma = true;
}

void jsonw_str(struct jsonw *w, const char *key, const char *s)
{
	if (s) {
		jsonw_strn(w, key, s, strlen(s));
		return;
	}
	jsonw_begin(w, key);
	jsonw_raw(w, "null", 4);
}

void jsonw_strn(struct jsonw *w, const char *key, const void *p, size_t len)
{
	jsonw_begin(w, key);
	jsonw_quoted(w, p, len);
}

void jsonw_u64(struct jsonw *w, const char *key, uint64_t v)
{
	char digits[JSONW_U64_MAX];

	jsonw_begin(w, key);
	jsonw_raw(w, digits, (size_t)(jsonw_put_u64(digits, v) - digits));
}

void jsonw_bool(struct jsonw *w, const char *key, bool v)
{
	jsonw_begin(w, key);
	jsonw_raw(w, v ? "true" : "false", v ? 4 : 5);
}

void jsonw_number(struct jsonw *w, const char *key, const char *text)
{
	jsonw_begin(w, key);
	jsonw_raw(w, text, strlen(text));
}
