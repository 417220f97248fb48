/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reveal.h - finds an encoded credential in what a server answers
 *
 * mask.h handles the forms that show the value as such. This finds it where
 * only a decoder sees it. A layer of encoding is one of:
 *
 *	escapes	of JSON, HTML entities and percents (escape.h), of all or some
 *		characters, in any mixture
 *	Base64	of either alphabet or both, at each of the three alignments,
 *		alone or within more of it, with any white space between digits
 *
 * Up to REVEAL_DEPTH layers may be nested, two of them Base64. A run of Base64
 * that may hold more layers than the credential is decoded from REVEAL_RUN_MAX
 * digits on (fewer for a short credential), if its lines but the last have
 * REVEAL_LINE_MIN digits: so words of text are left alone. Of the first and the
 * last character of the credential, only bits in digits of their own count.
 *
 * Bytes come in pieces of any size and are decoded as they come. A stream has a
 * fixed size (1.5 KiB), and 4.5 KiB more for each run of Base64 that is being
 * decoded, at most four.
 */
#ifndef OTTERGATE_INSPECT_MASK_REVEAL_H
#define OTTERGATE_INSPECT_MASK_REVEAL_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/slice.h"

#define REVEAL_DEPTH 3u
#define REVEAL_RUN_MAX 32u
#define REVEAL_LINE_MIN 16u

struct reveal; /* immutable; the value is in locked memory */
/* Makes the search for @value, which is copied. Returns 0 or -ENOMEM. */
int reveal_new(struct slice value, struct reveal **ret) ATTR_WUR;
void reveal_free(struct reveal *r); /* NULL is fine */

struct reveal_stream;
/* Begins a stream; @r is borrowed. Returns 0 or -ENOMEM. */
int reveal_begin(const struct reveal *r, struct reveal_stream **ret) ATTR_WUR;
void reveal_stream_free(struct reveal_stream *s); /* NULL is fine */
/* Takes bytes of @in and returns how many: all, with *@ret_found false, or
 * those up to the byte that completes the credential, with *@ret_found true;
 * the caller feeds the rest then. Fails with -ENOMEM, now and from then on;
 * *@ret_found is unchanged. */
ssize_t reveal_feed(struct reveal_stream *s, struct slice in,
		    bool *ret_found) ATTR_WUR;
/* Ends the input. Returns true if the end completes the credential. */
bool reveal_end(struct reveal_stream *s);

/* Return how many of the last bytes must be held back: those that may decode to
 * MASK_BEGIN or more characters of the credential; and the most that this can
 * be. */
size_t reveal_holds(const struct reveal_stream *s);
size_t reveal_holds_max(const struct reveal *r);

#endif
