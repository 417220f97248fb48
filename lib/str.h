/* SPDX-License-Identifier: Apache-2.0 */
/*
 * str.h - strings, string vectors, sizes, durations
 */
#ifndef LIB_STR_H
#define LIB_STR_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/attr.h"

/* printf into a new heap string (caller frees); NULL without memory. */
char *str_printf(const char *fmt, ...) ATTR_PRINTF(1, 2) ATTR_WUR;
bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);
/* 0 to 15 for a hexadecimal digit of either case, else -1. */
int str_hex_digit(unsigned char c);

/*
 * Copies @in with every byte outside printable ASCII (and the backslash)
 * as \xNN, so that text from a sandbox can go to a terminal or a log.
 * Always terminates; returns @out.
 */
char *str_escape(char *out, size_t out_size, const void *in, size_t in_len);
/* The same, but well-formed UTF-8 stays, unless it is a control character or
 * one that changes the order or the sight of others. */
char *str_escape_utf8(char *out, size_t out_size, const void *in,
		      size_t in_len);

/* "512m", "1.5g", "64k", "1073741824", suffixes b k m g t (powers of 1024,
 * an "ib"/"b" after them is accepted). -EINVAL, -ERANGE. */
int str_parse_size(const char *s, uint64_t *ret_bytes) ATTR_WUR;
/* "90", "90s", "1.5h", "2m", "1d", "250ms" -> milliseconds. -EINVAL,
 * -ERANGE. */
int str_parse_duration(const char *s, uint64_t *ret_ms) ATTR_WUR;
/* A whole decimal number in [min, max]; no sign, no space. */
int str_parse_u64(const char *s, uint64_t min, uint64_t max,
		  uint64_t *ret) ATTR_WUR;
/* "1.5" cpus -> thousandths of a CPU (1500), > 0. -EINVAL, -ERANGE. */
int str_parse_milli(const char *s, uint64_t *ret) ATTR_WUR;
/* "1.2 GiB" for people; @out at least 16 bytes. */
char *str_format_size(char *out, size_t out_size, uint64_t bytes);
/* "3 min", "2 h", "5 d" for people; @out at least 16 bytes. */
char *str_format_age(char *out, size_t out_size, uint64_t seconds);

/* Copies what of @s fits, and its end; @size at least 1. NULL is "". */
void str_copy(char *out, size_t size, const char *s);

/*
 * A NULL-terminated vector of owned strings. Pushing past STRV_MAX entries
 * fails with -ENOBUFS.
 */
#define STRV_MAX 65536u
struct strv {
	char **v; /* NULL while empty */
	size_t n;
};
int strv_push(struct strv *sv, const char *s) ATTR_WUR; /* copies */
int strv_pushf(struct strv *sv, const char *fmt, ...) ATTR_PRINTF(2, 3);
bool strv_has(const struct strv *sv, const char *s);
void strv_done(struct strv *sv); /* accepts zeroed */

#endif
