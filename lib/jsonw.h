/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jsonw.h - writes JSON into a buf; the caller keeps the structure right
 *
 * Strings are escaped so that the result is ASCII without control bytes;
 * bytes that are no UTF-8 become \u00XX. Errors stick: check jw->r once.
 */
#ifndef LIB_JSONW_H
#define LIB_JSONW_H

#include <stdbool.h>

#include "lib/buf.h"

struct jsonw {
	struct buf *out;
	int r; /* 0, or the first error */
	bool comma;
};

void jsonw_init(struct jsonw *w, struct buf *out);
/* @key NULL within arrays and at the top. */
void jsonw_open(struct jsonw *w, const char *key, char bracket); /* { or [ */
void jsonw_close(struct jsonw *w, char bracket); /* } or ] */
void jsonw_str(struct jsonw *w, const char *key,
	       const char *s); /* NULL: null */
void jsonw_strn(struct jsonw *w, const char *key, const void *p, size_t len);
void jsonw_u64(struct jsonw *w, const char *key, uint64_t v);
void jsonw_bool(struct jsonw *w, const char *key, bool v);

/* The decimal digits of @v, no NUL; returns the end. At most 20 bytes. */
#define JSONW_U64_MAX 20u
char *jsonw_put_u64(char *out, uint64_t v);
/* @len bytes escaped, without quotes or NUL; returns the end. For each byte
 * of the input @out has room for JSONW_ESCAPE_MAX. */
#define JSONW_ESCAPE_MAX 6u
char *jsonw_put_escaped(char *out, const void *p, size_t len);

#endif
