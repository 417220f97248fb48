/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pem.c - certificates as text: a bounded, pure reader
 *
 * RFC 7468, strict within a block and lax around it: bundles have comments.
 * Whether a certificate is worth anything is for those to judge who use it;
 * here it is made sure that what is appended to the system's roots cannot
 * change how these are read.
 */
#include "init-guard/pem.h"

#include <string.h>

#define MARK "-----"
#define BEGIN_CERT "-----BEGIN CERTIFICATE-----"
#define END_CERT "-----END CERTIFICATE-----"

/* The next line without its end; false at the end of the text. */
static bool line_take(struct slice *rest, struct slice *ret)
{
	const uint8_t *nl;
	size_t len;

	if (rest->len == 0)
		return false;
	nl = memchr(rest->ptr, '\n', rest->len);
	len = nl ? (size_t)(nl - rest->ptr) : rest->len;
	*ret = slice_of(rest->ptr, len);
	rest->ptr += nl ? len + 1 : len;
	rest->len -= nl ? len + 1 : len;
	while (ret->len > 0 && (ret->ptr[ret->len - 1] == '\r' ||
				ret->ptr[ret->len - 1] == ' '))
		ret->len--;
	return true;
}

static bool line_is(struct slice line, const char *text)
{
	return slice_eq(line, slice_str(text));
}

static bool line_starts(struct slice line, const char *text)
{
	return line.len >= strlen(text) &&
	       memcmp(line.ptr, text, strlen(text)) == 0;
}

static int base64_value(uint8_t c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : -1;
}

struct base64 {
	uint8_t *out;
	size_t len;
	uint32_t bits;
	unsigned chars, pad; /* of the group of four that is open */
};

static int base64_char(struct base64 *b, uint8_t c)
{
	int v = base64_value(c);

	if (c == '=') {
		if (b->chars + b->pad < 2)
			return -EBADMSG;
		b->pad++;
	} else if (v < 0 || b->pad > 0) {
		return -EBADMSG;
	} else {
		b->chars++;
		b->bits = b->bits << 6 | (uint32_t)v;
	}
	if (b->chars + b->pad < 4)
		return 0;
	if (b->len + 3 > PEM_DER_MAX)
		return -E2BIG;
	b->bits <<= 6 * b->pad;
	b->out[b->len] = (uint8_t)(b->bits >> 16);
	b->out[b->len + 1] = (uint8_t)(b->bits >> 8);
	b->out[b->len + 2] = (uint8_t)b->bits;
	b->len += 3 - b->pad;
	b->chars = 0;
	b->bits = 0;
	/* pad stays, so that nothing can follow */
	return b->pad > 2 ? -EBADMSG : 0;
}

/* One sequence, from the first byte to the last. */
static bool der_is_whole(const uint8_t *p, size_t len)
{
	size_t n, i, size = 0;

	if (len < 2 || p[0] != 0x30)
		return false;
	if (p[1] < 0x80)
		return len == 2u + p[1];
	n = p[1] & 0x7fu;
	if (n == 0 || n > 2 || len < 2 + n)
		return false;
	for (i = 0; i < n; i++)
		size = size << 8 | p[2 + i];
	return len == 2 + n + size;
}

static int block_read(struct slice *rest, uint8_t *out)
{
	struct base64 b = { .out = out };
	struct slice line;
	size_t i;
	int ret;

	while (line_take(rest, &line)) {
		if (line_is(line, END_CERT)) {
			if (b.chars > 0 || !der_is_whole(out, b.len))
				return -EBADMSG;
			return (int)b.len;
		}
		for (i = 0; i < line.len; i++) {
			ret = base64_char(&b, line.ptr[i]);
			if (ret < 0)
				return ret;
		}
	}
	return -EBADMSG; /* no end */
}

int pem_next(struct slice *rest, uint8_t out[PEM_DER_MAX])
{
	struct slice line;

	while (line_take(rest, &line)) {
		if (line_is(line, BEGIN_CERT))
			return block_read(rest, out);
		if (line_starts(line, MARK))
			return -EBADMSG;
	}
	return 0;
}

int pem_count(struct slice text)
{
	uint8_t der[PEM_DER_MAX];
	unsigned n = 0;
	int ret;

	if (text.len > 0 && memchr(text.ptr, 0, text.len))
		return -EBADMSG;
	while ((ret = pem_next(&text, der)) > 0) {
		if (++n > PEM_CERTS_MAX)
			return -E2BIG;
	}
	if (ret < 0)
		return ret;
	return n > 0 ? (int)n : -EBADMSG;
}
