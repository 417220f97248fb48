/* SPDX-License-Identifier: Apache-2.0 */
/*
 * escape.h - decodes JSON escapes, HTML entities and percents byte by byte
 *
 * Reads \uXXXX, \xXX and the short escapes of JSON; the entities &#N; and &#xN;
 * (with any number of leading zeros, with or without the semicolon) and HTML's
 * names for ASCII characters; and %XX. Everything else is left as it is. Code
 * points beyond ASCII come out as UTF-8. Has no side effects and is bounded: it
 * keeps at most ESCAPE_RAW_MAX bytes, or a number.
 */
#ifndef OTTERGATE_INSPECT_MASK_ESCAPE_H
#define OTTERGATE_INSPECT_MASK_ESCAPE_H

#include <stdbool.h>
#include <stdint.h>

#define ESCAPE_RAW_MAX 16u

struct escape { /* zeroed: idle */
	uint8_t kind, n_raw, n_out; /* kind 0: idle, no escape is open */
	uint8_t raw[ESCAPE_RAW_MAX]; /* bytes of the open escape */
	uint8_t out[4]; /* the character it stands for, in UTF-8 */
	uint32_t value; /* of a number that is being read */
};

enum escape_did {
	ESCAPE_NONE, /* the byte is not part of an escape */
	ESCAPE_BEGUN, /* an escape begins with this byte */
	ESCAPE_MORE, /* the byte continues it */
	ESCAPE_DONE, /* the byte completes it: result in out[0..n_out) */
	/* It was complete before this byte: result in out[0..n_out). The caller
	 * feeds the byte again. */
	ESCAPE_DONE_BEFORE,
	/* It is no escape: its bytes are in raw[0..n_raw). The caller feeds the
	 * byte again. */
	ESCAPE_FAILED,
};
/* Takes the next byte. raw and out are valid until the next call. */
enum escape_did escape_feed(struct escape *e, uint8_t c);
/* Ends the input. Returns ESCAPE_NONE, ESCAPE_DONE_BEFORE or ESCAPE_FAILED. */
enum escape_did escape_end(struct escape *e);

/* Returns true if an escape may begin with @c. */
static inline bool escape_begins(uint8_t c)
{
	return c == '\\' || c == '&' || c == '%';
}

/* Returns true if no escape is open. */
static inline bool escape_is_idle(const struct escape *e)
{
	return e->kind == 0;
}

#endif
