/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire_fuzz.c - what the shim takes for a verdict keeps its bounds
 *
 * The input is an answer to one question, 198.18.10.100 with id 0x1234. What
 * is accepted is written anew in the plainest form, and read again the same.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "net-preload/dest.h"
#include "net-preload/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct wire_ask ask = { .address = 0xc6120a64,
				     .port = 8443,
				     .protocol = DEST_TCP,
				     .id = 0x1234,
				     .pid = 7 };

static bool inside(const uint8_t *p, size_t len, const uint8_t *data,
		   size_t size)
{
	return len == 0 || (p >= data && len <= size && p + len <= data + size);
}

static bool readable(const struct wire_answer *a)
{
	for (size_t i = 0; i < a->text_len; i++) {
		if (a->text[i] != '\n' &&
		    (a->text[i] < ' ' || a->text[i] > '~'))
			return false;
	}
	return a->text_len == 0 || a->text[a->text_len - 1] == '\n';
}

static size_t plain(const struct wire_answer *a, uint8_t *out)
{
	uint8_t *p = out + wire_ask(&ask, out) - 13;
	size_t len = 7 + a->name_len + a->text_len;

	out[2] |= 0x80;
	p[-2] = (uint8_t)((len + 4) >> 8);
	p[-1] = (uint8_t)(len + 4);
	p[2] = (uint8_t)(len >> 8);
	p[3] = (uint8_t)len;
	p += 4;
	*p++ = 1;
	*p++ = (uint8_t)a->verdict;
	*p++ = 0;
	*p++ = (uint8_t)a->keep;
	*p++ = (uint8_t)a->name_len;
	if (a->name_len > 0)
		memcpy(p, a->name, a->name_len);
	p += a->name_len;
	*p++ = (uint8_t)(a->text_len >> 8);
	*p++ = (uint8_t)a->text_len;
	if (a->text_len > 0)
		memcpy(p, a->text, a->text_len);
	return (size_t)(p - out) + a->text_len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_answer a = { .keep = 99 }, again;
	uint8_t out[WIRE_ANSWER_MAX];
	int rc = wire_answer(&ask, data, size, &a);

	if (rc != 0 && rc != -EAGAIN && rc != -EBADMSG)
		abort();
	if (rc != 0 && a.keep != 99)
		abort();
	if (rc != 0)
		return 0;
	if (a.keep > WIRE_KEEP_MAX || a.name_len > WIRE_NAME_MAX ||
	    a.text_len > WIRE_TEXT_MAX || a.verdict > WIRE_DENY ||
	    !inside(a.name, a.name_len, data, size) ||
	    !inside(a.text, a.text_len, data, size) || !readable(&a))
		abort();
	if (wire_answer(&ask, out, plain(&a, out), &again) != 0 ||
	    again.verdict != a.verdict || again.keep != a.keep ||
	    again.name_len != a.name_len || again.text_len != a.text_len)
		abort();
	return 0;
}
