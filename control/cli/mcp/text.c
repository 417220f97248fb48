/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.c - bytes of a sandbox as text of JSON
 */
#include "control/cli/mcp/text.h"

#include <stdlib.h>

#include "lib/attr.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
#define REPLACEMENT_LEN 3u

/* Returns the length of the character that @s begins with, 0 if it is none
 * (RFC 3629, section 4). @s is not empty. */
static size_t char_len(struct slice s)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint8_t first = s.ptr[0];
	size_t n = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	uint32_t c = n == 1 ? first : first & (0x7fu >> n);

	if (n == 1)
		return 1;
	if (first < 0xc2 || first > 0xf4 || n > s.len)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((s.ptr[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s.ptr[i] & 0x3fu);
	}
	if (c < least[n] || (c >= 0xd800 && c <= 0xdfff) || c > 0x10ffff)
		return 0;
	return n;
}

json_t *text_json(struct slice bytes)
{
	SCOPED_MEM mem = NULL;
	uint8_t *to;
	json_t *plain;

	if (bytes.len == 0)
		return json_string("");
	plain = json_stringn((const char *)bytes.ptr, bytes.len);
	if (plain)
		return plain;
	mem = malloc(bytes.len * REPLACEMENT_LEN);
	to = mem;
	if (!to)
		return NULL;
	while (bytes.len > 0) {
		size_t n = char_len(bytes);
		size_t took = n ? n : 1;
		size_t put = n ? n : REPLACEMENT_LEN;

		memcpy(to, n ? (const void *)bytes.ptr : REPLACEMENT, put);
		to += put;
		bytes = slice_of(bytes.ptr + took, bytes.len - took);
	}
	return json_stringn(mem, (size_t)(to - (uint8_t *)mem));
}

bool text_is_utf8(struct slice bytes)
{
	while (bytes.len > 0) {
		size_t n = char_len(bytes);

		if (n == 0 || bytes.ptr[0] == 0)
			return false;
		bytes = slice_of(bytes.ptr + n, bytes.len - n);
	}
	return true;
}

json_t *text_base64(struct slice bytes)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t len = (bytes.len + 2) / 3 * 4, n = 0;
	SCOPED_MEM mem = malloc(len + 1);
	char *to = mem;

	if (!to)
		return NULL;
	for (size_t i = 0; i < bytes.len; i += 3) {
		size_t left = bytes.len - i;
		uint32_t v = (uint32_t)bytes.ptr[i] << 16 |
			     (left > 1 ? (uint32_t)bytes.ptr[i + 1] << 8 : 0) |
			     (left > 2 ? bytes.ptr[i + 2] : 0u);

		to[n++] = digits[v >> 18];
		to[n++] = digits[v >> 12 & 63];
		to[n++] = left > 1 ? digits[v >> 6 & 63] : '=';
		to[n++] = left > 2 ? digits[v & 63] : '=';
	}
	return json_stringn(to, n);
}
