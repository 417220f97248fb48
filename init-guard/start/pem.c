/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pem.c - reads PEM certificates; no side effects
 *
 * RFC 7468, strict within a block and lax around it, as bundles have comments.
 * Programs that use a certificate decide whether they trust it; this only
 * ensures that text appended to the system's certificates cannot change how
 * those are read.
 */
#include "init-guard/start/pem.h"

#include <string.h>

#include "lib/str.h"

#define MARK "-----"
#define BEGIN_CERT "-----BEGIN CERTIFICATE-----"
#define END_CERT "-----END CERTIFICATE-----"

/* Takes the next line without its newline. Returns false at the end. */
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

struct base64 {
	uint8_t *out;
	size_t len;
	uint32_t bits;
	unsigned chars, pad; /* characters of the current group of four */
};

static int base64_char(struct base64 *b, uint8_t c)
{
	int v = str_base64_value(c);

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
	/* keeps pad, so that nothing can follow */
	return b->pad > 2 ? -EBADMSG : 0;
}

/* Returns true if the bytes are exactly one sequence. */
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
	int rc;

	while (line_take(rest, &line)) {
		if (line_is(line, END_CERT)) {
			if (b.chars > 0 || !der_is_whole(out, b.len))
				return -EBADMSG;
			return (int)b.len;
		}
		for (i = 0; i < line.len; i++) {
			rc = base64_char(&b, line.ptr[i]);
			if (rc < 0)
				return rc;
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
	int rc;

	if (text.len > 0 && memchr(text.ptr, 0, text.len))
		return -EBADMSG;
	while ((rc = pem_next(&text, der)) > 0) {
		if (++n > PEM_CERTS_MAX)
			return -E2BIG;
	}
	if (rc < 0)
		return rc;
	return n > 0 ? (int)n : -EBADMSG;
}
