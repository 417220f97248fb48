/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice.c - bounded readers: the only way through bytes from a sandbox
 *
 * Every reader asks slice_take(), the one place that moves a slice. An empty
 * slice may have a null pointer, on which C allows no arithmetic.
 */
#include "lib/slice.h"

#include <string.h>

int slice_take(struct slice *s, size_t len, struct slice *ret)
{
	struct slice taken = { .ptr = s->ptr, .len = len };

	if (len > s->len)
		return -EBADMSG;
	if (len > 0) {
		s->ptr += len;
		s->len -= len;
	}
	*ret = taken;
	return 0;
}

/* Takes a big-endian integer of @size bytes, at most 8. */
static int slice_uint(struct slice *s, size_t size, uint64_t *ret)
{
	struct slice bytes;
	uint64_t v = 0;

	if (slice_take(s, size, &bytes) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < size; i++)
		v = v << 8 | bytes.ptr[i];
	*ret = v;
	return 0;
}

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t';
}

struct slice slice_trim(struct slice s)
{
	while (s.len > 0 && is_blank(s.ptr[0])) {
		s.ptr++;
		s.len--;
	}
	while (s.len > 0 && is_blank(s.ptr[s.len - 1]))
		s.len--;
	return s;
}

struct slice slice_line(struct slice *s)
{
	const uint8_t *end = s->len ? memchr(s->ptr, '\n', s->len) : NULL;
	struct slice line =
		slice_of(s->ptr, end ? (size_t)(end - s->ptr) : s->len);

	s->ptr += line.len + (end != NULL);
	s->len -= line.len + (end != NULL);
	return line;
}

bool slice_skip(struct slice *s, const char *text)
{
	const size_t len = strlen(text);

	if (s->len < len || memcmp(s->ptr, text, len) != 0)
		return false;
	s->ptr += len;
	s->len -= len;
	return true;
}

int slice_u8(struct slice *s, uint8_t *ret)
{
	uint64_t v;

	if (slice_uint(s, sizeof(*ret), &v) < 0)
		return -EBADMSG;
	*ret = (uint8_t)v;
	return 0;
}

int slice_u16(struct slice *s, uint16_t *ret)
{
	uint64_t v;

	if (slice_uint(s, sizeof(*ret), &v) < 0)
		return -EBADMSG;
	*ret = (uint16_t)v;
	return 0;
}

int slice_u32(struct slice *s, uint32_t *ret)
{
	uint64_t v;

	if (slice_uint(s, sizeof(*ret), &v) < 0)
		return -EBADMSG;
	*ret = (uint32_t)v;
	return 0;
}

int slice_u64(struct slice *s, uint64_t *ret)
{
	return slice_uint(s, sizeof(*ret), ret);
}

int slice_lstr(struct slice *s, size_t max, struct slice *ret)
{
	struct slice rest = *s;
	uint32_t len;

	if (slice_u32(&rest, &len) < 0 || len > max ||
	    slice_take(&rest, len, ret) < 0)
		return -EBADMSG;
	*s = rest;
	return 0;
}

int slice_lstr_copy(struct slice *s, size_t max, char *ret)
{
	struct slice v;

	if (slice_lstr(s, max, &v) < 0 ||
	    (v.len > 0 && memchr(v.ptr, 0, v.len)))
		return -EBADMSG;
	if (v.len > 0)
		memcpy(ret, v.ptr, v.len);
	ret[v.len] = '\0';
	return 0;
}

int slice_dup_str(struct slice s, char **ret)
{
	char *copy;

	if (s.len > 0 && memchr(s.ptr, 0, s.len))
		return -EBADMSG;
	copy = s.len < SIZE_MAX ? malloc(s.len + 1) : NULL;
	if (!copy)
		return -ENOMEM;
	if (s.len > 0)
		memcpy(copy, s.ptr, s.len);
	copy[s.len] = '\0';
	*ret = copy;
	return 0;
}
