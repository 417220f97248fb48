/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jsonr.c - a strict, bounded reader of whole JSON texts (RFC 8259)
 */
#include "lib/jsonr.h"

#include <string.h>

#include "lib/str.h"

void jsonr_init(struct jsonr *j, struct slice text)
{
	*j = (struct jsonr){ .in = text };
}

static void advance(struct slice *s, size_t n)
{
	s->ptr += n;
	s->len -= n;
}

static void blanks(struct jsonr *j)
{
	while (j->in.len && (j->in.ptr[0] == ' ' || j->in.ptr[0] == '\t' ||
			     j->in.ptr[0] == '\n' || j->in.ptr[0] == '\r'))
		advance(&j->in, 1);
}

static bool take(struct jsonr *j, char c)
{
	blanks(j);
	if (j->in.len == 0 || j->in.ptr[0] != (uint8_t)c)
		return false;
	advance(&j->in, 1);
	return true;
}

static bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

int jsonr_peek(struct jsonr *j)
{
	blanks(j);
	if (j->in.len == 0)
		return -EBADMSG;
	switch (j->in.ptr[0]) {
	case '{':
		return JSONR_OBJECT;
	case '[':
		return JSONR_ARRAY;
	case '"':
		return JSONR_STRING;
	case 't':
	case 'f':
		return JSONR_BOOL;
	case 'n':
		return JSONR_NULL;
	case '-':
		return JSONR_NUMBER;
	default:
		return is_digit(j->in.ptr[0]) ? JSONR_NUMBER : -EBADMSG;
	}
}

int jsonr_open(struct jsonr *j, char bracket)
{
	if (j->depth >= JSONR_DEPTH_MAX || !take(j, bracket))
		return -EBADMSG;
	j->depth++;
	j->first = true;
	return 0;
}

int jsonr_next(struct jsonr *j, struct slice *ret_key)
{
	if (j->depth == 0)
		return -EBADMSG;
	if (take(j, ret_key ? '}' : ']')) {
		j->depth--;
		j->first = false;
		return 0;
	}
	if (!j->first && !take(j, ','))
		return -EBADMSG;
	j->first = false;
	if (!ret_key)
		return 1;
	return jsonr_string(j, ret_key) < 0 || !take(j, ':') ? -EBADMSG : 1;
}

/* --- strings ------------------------------------------------------------- */

/* The unit behind "\u", -1: none. */
static int hex4(const uint8_t *p, size_t len)
{
	int v = 0;

	for (size_t i = 0; i < 4; i++) {
		int d = i < len ? str_hex_digit(p[i]) : -1;

		if (d < 0)
			return -1;
		v = v << 4 | d;
	}
	return v;
}

/* The code point of the escape at the front of @s ("\n", "\u00e9", a pair of
 * surrogates), which is taken; -EBADMSG: none that may be. */
static int escape_take(struct slice *s, uint32_t *ret)
{
	static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	const char *at = s->len > 1 && s->ptr[1] ? strchr(names, s->ptr[1]) :
						   NULL;
	int high, low;

	if (at) {
		*ret = (uint8_t)values[at - names];
		advance(s, 2);
		return 0;
	}
	if (s->len < 6 || s->ptr[1] != 'u')
		return -EBADMSG;
	high = hex4(s->ptr + 2, 4);
	if (high < 0 || (high >= 0xdc00 && high <= 0xdfff))
		return -EBADMSG;
	*ret = (uint32_t)high;
	advance(s, 6);
	if (high < 0xd800 || high > 0xdbff)
		return 0;
	if (s->len < 6 || s->ptr[0] != '\\' || s->ptr[1] != 'u')
		return -EBADMSG;
	low = hex4(s->ptr + 2, 4);
	if (low < 0xdc00 || low > 0xdfff)
		return -EBADMSG;
	*ret = 0x10000u +
	       (((uint32_t)high & 0x3ff) << 10 | ((uint32_t)low & 0x3ff));
	advance(s, 6);
	return 0;
}

int jsonr_string(struct jsonr *j, struct slice *ret)
{
	struct slice s, from;
	uint32_t c;

	if (!take(j, '"'))
		return -EBADMSG;
	from = s = j->in;
	while (s.len && s.ptr[0] != '"') {
		if (s.ptr[0] < 0x20)
			return -EBADMSG;
		if (s.ptr[0] != '\\')
			advance(&s, 1);
		else if (escape_take(&s, &c) < 0)
			return -EBADMSG;
	}
	if (s.len == 0)
		return -EBADMSG;
	*ret = slice_of(from.ptr, from.len - s.len);
	advance(&s, 1);
	j->in = s;
	return 0;
}

static size_t utf8_put(uint8_t out[4], uint32_t c)
{
	if (c < 0x80) {
		out[0] = (uint8_t)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (uint8_t)(0xc0 | c >> 6);
		out[1] = (uint8_t)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (uint8_t)(0xe0 | c >> 12);
		out[1] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
		out[2] = (uint8_t)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (uint8_t)(0xf0 | c >> 18);
	out[1] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
	out[2] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
	out[3] = (uint8_t)(0x80 | (c & 0x3f));
	return 4;
}

ssize_t jsonr_unescape(struct slice raw, void *out, size_t size)
{
	uint8_t *to = out, unit[4];
	size_t n = 0, len;
	uint32_t c;

	while (raw.len) {
		unit[0] = raw.ptr[0];
		len = 1;
		if (raw.ptr[0] != '\\')
			advance(&raw, 1);
		else if (escape_take(&raw, &c) < 0)
			return -EBADMSG;
		else
			len = utf8_put(unit, c);
		if (len > size - n)
			return -ENOBUFS;
		memcpy(to + n, unit, len);
		n += len;
	}
	return (ssize_t)n;
}

bool jsonr_is(struct slice raw, const char *text)
{
	char word[64];
	ssize_t n = jsonr_unescape(raw, word, sizeof(word));

	return n >= 0 && slice_eq(slice_of(word, (size_t)n), slice_str(text));
}

/* --- the rest ------------------------------------------------------------ */

static size_t digits(struct slice s, size_t from)
{
	size_t n = 0;

	while (from + n < s.len && is_digit(s.ptr[from + n]))
		n++;
	return n;
}

/* -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)? */
static int number(struct jsonr *j, struct slice *ret)
{
	struct slice s;
	size_t n = 0, run;

	blanks(j);
	s = j->in;
	n += s.len && s.ptr[0] == '-';
	run = digits(s, n);
	if (run == 0 || (run > 1 && s.ptr[n] == '0'))
		return -EBADMSG;
	n += run;
	if (n < s.len && s.ptr[n] == '.') {
		run = digits(s, n + 1);
		if (run == 0)
			return -EBADMSG;
		n += 1 + run;
	}
	if (n < s.len && (s.ptr[n] | 0x20) == 'e') {
		n++;
		n += n < s.len && (s.ptr[n] == '+' || s.ptr[n] == '-');
		run = digits(s, n);
		if (run == 0)
			return -EBADMSG;
		n += run;
	}
	*ret = slice_of(s.ptr, n);
	advance(&j->in, n);
	return 0;
}

int jsonr_u64(struct jsonr *j, uint64_t *ret)
{
	struct slice s;
	uint64_t v = 0;

	if (number(j, &s) < 0 || digits(s, 0) != s.len)
		return -EBADMSG;
	for (size_t i = 0; i < s.len; i++) {
		uint8_t d = (uint8_t)(s.ptr[i] - '0');

		if (v > (UINT64_MAX - d) / 10)
			return -ERANGE;
		v = v * 10 + d;
	}
	*ret = v;
	return 0;
}

static int word(struct jsonr *j)
{
	static const char *const words[] = { "true", "false", "null" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		size_t n = strlen(words[i]);

		if (j->in.len >= n && memcmp(j->in.ptr, words[i], n) == 0) {
			advance(&j->in, n);
			return 0;
		}
	}
	return -EBADMSG;
}

static int skip_plain(struct jsonr *j, int kind)
{
	struct slice s;

	if (kind == JSONR_STRING)
		return jsonr_string(j, &s);
	if (kind == JSONR_NUMBER)
		return number(j, &s);
	return word(j);
}

int jsonr_skip(struct jsonr *j)
{
	bool object[JSONR_DEPTH_MAX + 1] = { 0 }; /* what is open, by depth */
	unsigned base = j->depth;
	struct slice key;
	int rc;

	do {
		int kind = jsonr_peek(j);

		if (kind < 0)
			return kind;
		if (kind == JSONR_OBJECT || kind == JSONR_ARRAY) {
			if (jsonr_open(j, kind == JSONR_OBJECT ? '{' : '[') < 0)
				return -EBADMSG;
			object[j->depth] = kind == JSONR_OBJECT;
		} else if (skip_plain(j, kind) < 0) {
			return -EBADMSG;
		}
		for (rc = 0; rc == 0 && j->depth > base;)
			rc = jsonr_next(j, object[j->depth] ? &key : NULL);
		if (rc < 0)
			return rc;
	} while (j->depth > base);
	return 0;
}

int jsonr_end(struct jsonr *j)
{
	blanks(j);
	return j->in.len || j->depth ? -EBADMSG : 0;
}
