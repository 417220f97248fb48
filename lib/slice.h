/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice.h - bounded readers: the only way through bytes from a sandbox
 *
 * A slice is a borrowed view and never outlives its buffer. Readers take
 * from the front. They return 0, or -EBADMSG when fewer bytes are left than
 * asked for; then neither the slice nor the result is touched. Integers are
 * big-endian.
 */
#ifndef LIB_SLICE_H
#define LIB_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/attr.h"

struct slice {
	const uint8_t *ptr;
	size_t len;
};

/* These three are asked for each word of a head: in line, what they are given
 * is known, its length as well. An analyzer that looks into them supposes that
 * a pointer which is looked at may be NULL, everywhere. */
#ifdef __clang_analyzer__
struct slice slice_of(const void *ptr, size_t len);
struct slice slice_str(const char *s);
bool slice_eq(struct slice a, struct slice b);
#else
static inline struct slice slice_of(const void *ptr, size_t len)
{
	return (struct slice){ .ptr = (const uint8_t *)ptr, .len = len };
}
static inline struct slice slice_str(const char *s)
{
	return slice_of(s, s ? strlen(s) : 0);
}
static inline bool slice_eq(struct slice a, struct slice b)
{
	return a.len == b.len &&
	       (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}
#endif
int slice_u8(struct slice *s, uint8_t *ret) ATTR_WUR;
int slice_u16(struct slice *s, uint16_t *ret) ATTR_WUR;
int slice_u32(struct slice *s, uint32_t *ret) ATTR_WUR;
int slice_u64(struct slice *s, uint64_t *ret) ATTR_WUR;
/* Takes @len bytes as a view of their own. */
int slice_take(struct slice *s, size_t len, struct slice *ret) ATTR_WUR;
/* Takes a u32 length and that many bytes, at most @max. */
int slice_lstr(struct slice *s, size_t max, struct slice *ret) ATTR_WUR;
/*
 * A NUL-terminated copy on the heap (caller frees), -EBADMSG if the bytes
 * contain a NUL, -ENOMEM.
 */
int slice_dup_str(struct slice s, char **ret) ATTR_WUR;
/* slice_lstr() into an array of @max + 1 bytes, ended by a NUL. -EBADMSG: the
 * bytes contain one, or as slice_lstr(). */
int slice_lstr_copy(struct slice *s, size_t max, char *ret) ATTR_WUR;

#endif
