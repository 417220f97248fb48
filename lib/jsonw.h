/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jsonw.h - writes JSON into a buf
 *
 * Strings are escaped so that the output is ASCII without control bytes; a byte
 * that is not UTF-8 becomes \u00XX. The caller keeps brackets balanced. After a
 * failure nothing more is written, but what came before it stays in the buf:
 * check rc once, at the end.
 */
#ifndef LIB_JSONW_H
#define LIB_JSONW_H

#include <stdbool.h>

#include "lib/buf.h"

struct jsonw {
	struct buf *out;
	int rc; /* 0, or the first error of buf_append() */
	bool comma; /* the next value needs one before it */
};

/* Starts writing at the end of @out, which must outlive the writer. */
void jsonw_init(struct jsonw *w, struct buf *out);
/* Each writes one value. @key is its key in an object, and NULL in an array and
 * at the top. */
void jsonw_open(struct jsonw *w, const char *key, char bracket); /* { or [ */
void jsonw_close(struct jsonw *w, char bracket); /* } or ] */
void jsonw_str(struct jsonw *w, const char *key,
	       const char *s); /* NULL becomes null */
/* Writes the @len bytes at @p as a string. */
void jsonw_strn(struct jsonw *w, const char *key, const void *p, size_t len);
void jsonw_u64(struct jsonw *w, const char *key, uint64_t v);
/* @text is a number as JSON has it: "1.2". */
void jsonw_number(struct jsonw *w, const char *key, const char *text);
void jsonw_bool(struct jsonw *w, const char *key, bool v);

/* Writes the decimal digits of @v, at most JSONW_U64_MAX bytes and no NUL.
 * Returns the end of what was written. */
#define JSONW_U64_MAX 20u
char *jsonw_put_u64(char *out, uint64_t v);
/* Writes @len bytes escaped, without quotes or NUL. Returns the end of what was
 * written. @out must have room for JSONW_ESCAPE_MAX bytes for each byte of
 * input. */
#define JSONW_ESCAPE_MAX 6u
char *jsonw_put_escaped(char *out, const void *p, size_t len);

#endif
