/* SPDX-License-Identifier: Apache-2.0 */
/*
 * str.h - strings, string vectors, sizes, durations
 */
#ifndef LIB_STR_H
#define LIB_STR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/attr.h"

/* Returns formatted text on the heap, which the caller frees; NULL when out of
 * memory. */
char *str_printf(const char *fmt, ...) ATTR_PRINTF(1, 2) ATTR_WUR;
bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);
/* Returns true if @s has a control character of ASCII. */
bool str_has_control(const char *s);
/* Returns 0 to 15 for a hexadecimal digit of either case, else -1. */
int str_hex_digit(unsigned char c);

/* Copies @in with every byte outside printable ASCII, and the backslash, as
 * \xNN, so that text from a sandbox can go to a terminal or a log. Cuts to
 * @out_size with the NUL, never within an escape. Returns @out. */
char *str_escape(char *out, size_t out_size, const void *in, size_t in_len);
/* Like str_escape(), but keeps well-formed UTF-8 except control, invisible and
 * direction-changing characters. */
char *str_escape_utf8(char *out, size_t out_size, const void *in,
		      size_t in_len);

/*
 * Parse a number with up to six decimals; the result is unchanged on failure.
 * -EINVAL for a bad format, -ERANGE when the value is too large.
 *
 * Sizes in bytes: "512m", "1.5g", "64k", "1073741824"; the units b k m g t are
 * powers of 1024, and "ib" or "b" may follow.
 */
int str_parse_size(const char *s, uint64_t *ret_bytes) ATTR_WUR;
/* Durations in milliseconds: "90" and "90s" (seconds), "250ms", "2m", "1.5h",
 * "1d". */
int str_parse_duration(const char *s, uint64_t *ret_ms) ATTR_WUR;
/* Parses a whole decimal number without sign or blanks. Returns 0, -EINVAL for
 * a bad format, or -ERANGE outside [min, max]. */
int str_parse_u64(const char *s, uint64_t min, uint64_t max,
		  uint64_t *ret) ATTR_WUR;
/* CPUs in thousandths: "1.5" is 1500. Also -ERANGE for 0. */
int str_parse_milli(const char *s, uint64_t *ret) ATTR_WUR;
/* Writes "1.2 GiB" for people. Returns @out, which has at least 16 bytes. */
char *str_format_size(char *out, size_t out_size, uint64_t bytes);
/* Writes "3 min", "2 h" or "5 d" for people. Returns @out, which has at least
 * 16 bytes. */
char *str_format_age(char *out, size_t out_size, uint64_t seconds);

/* Copies @s (NULL is ""), cut to @size - 1 bytes, and a NUL. @size is at least
 * 1. */
void str_copy(char *out, size_t size, const char *s);

/* A NULL-terminated vector of owned strings. Pushing returns 0, -ENOMEM, or
 * -ENOBUFS beyond STRV_MAX entries. */
#define STRV_MAX 65536u
struct strv {
	char **v; /* NULL while empty */
	size_t n;
};
int strv_push(struct strv *sv, const char *s) ATTR_WUR; /* copies */
int strv_pushf(struct strv *sv, const char *fmt, ...) ATTR_PRINTF(2, 3);
bool strv_has(const struct strv *sv, const char *s);
/* Returns the place of the entry NAME=VALUE that has the name of @entry, which is
 * such a one, too; -ENOENT if there is none. */
ssize_t strv_find_env(const struct strv *sv, const char *entry);
/* Puts a copy of @entry in the place of that one, or pushes it. */
int strv_put_env(struct strv *sv, const char *entry) ATTR_WUR;
/* Frees all strings and empties the vector. NULL and zeroed are fine. */
void strv_done(struct strv *sv);

/* The value of a digit of Base64 (RFC 4648, section 4), 0 to 63; -1: it is
 * none. */
int str_base64_value(unsigned char c);

#endif
