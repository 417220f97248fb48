/* SPDX-License-Identifier: Apache-2.0 */
/*
 * escape.h - one character at a time out of JSON escapes, entities and percents
 *
 * Reads \uXXXX, \xXX and the short escapes of JSON; the entities &#N; and &#xN;
 * (any number of zeros before them, the semicolon may be missing) and the names
 * that HTML has for ASCII; and %XX. What is none of them stays as it is. Code
 * points beyond ASCII come as UTF-8. Pure, and bounded: what has begun is at
 * most ESCAPE_RAW_MAX bytes, or a number.
 */
#ifndef OTTERGATE_INSPECT_MASK_ESCAPE_H
#define OTTERGATE_INSPECT_MASK_ESCAPE_H

#include <stdbool.h>
#include <stdint.h>

#define ESCAPE_RAW_MAX 16u

struct escape { /* accepts zeroed: nothing has begun */
	uint8_t kind, n_raw, n_out;
	uint8_t raw[ESCAPE_RAW_MAX]; /* that which has begun, as it came */
	uint8_t out[4];
	uint32_t value;
};

enum escape_did {
	ESCAPE_NONE, /* the byte is one like any other */
	ESCAPE_BEGUN, /* with this byte */
	ESCAPE_MORE, /* the byte belongs to it */
	ESCAPE_DONE, /* the byte ended it: out[0..n_out) */
	/* The byte does not belong to it; it has to be fed again. */
	ESCAPE_DONE_BEFORE, /* out[0..n_out) */
	ESCAPE_FAILED, /* it was none: raw[0..n_raw) */
};
enum escape_did escape_feed(struct escape *e, uint8_t c);
/* Nothing more comes: ESCAPE_NONE, ESCAPE_DONE_BEFORE or ESCAPE_FAILED. */
enum escape_did escape_end(struct escape *e);

static inline bool escape_begins(uint8_t c)
{
	return c == '\\' || c == '&' || c == '%';
}

static inline bool escape_is_idle(const struct escape *e)
{
	return e->kind == 0;
}

#endif
