/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice.h - bounded readers: the only way through bytes from a sandbox
 *
 * A slice is a borrowed view and never outlives its buffer. The readers take
 * from the front. They return 0, or -EBADMSG if fewer bytes are left than asked
 * for; then slice and result are unchanged. Integers are big-endian.
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

/* Inline because they run for each word of an HTTP head: the compiler knows the
 * arguments, the lengths included. clang's analyzer, if it looks into them,
 * assumes everywhere that a pointer may be NULL. */
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
/* Returns @s without the blanks and tabs at its ends. */
struct slice slice_trim(struct slice s);
/* Takes the next line and its newline; the rest of @s if there is none. Returns
 * the line without the newline. */
struct slice slice_line(struct slice *s);
/* Takes @text if @s begins with it. Returns whether it did. */
bool slice_skip(struct slice *s, const char *text);
int slice_u8(struct slice *s, uint8_t *ret) ATTR_WUR;
int slice_u16(struct slice *s, uint16_t *ret) ATTR_WUR;
int slice_u32(struct slice *s, uint32_t *ret) ATTR_WUR;
int slice_u64(struct slice *s, uint64_t *ret) ATTR_WUR;
/* Takes @len bytes; *@ret is a view of them. */
int slice_take(struct slice *s, size_t len, struct slice *ret) ATTR_WUR;
/* Takes a u32 length and that many bytes; also -EBADMSG beyond @max. */
int slice_lstr(struct slice *s, size_t max, struct slice *ret) ATTR_WUR;
/* Copies @s, with a NUL after it, to the heap; the caller frees it. Returns 0,
 * -EBADMSG if the bytes contain a NUL, or -ENOMEM. */
int slice_dup_str(struct slice s, char **ret) ATTR_WUR;
/* Like slice_lstr(), but copies to an array of @max + 1 bytes and adds a NUL.
 * Also -EBADMSG if the bytes contain a NUL; @s is then advanced. */
int slice_lstr_copy(struct slice *s, size_t max, char *ret) ATTR_WUR;

#endif
