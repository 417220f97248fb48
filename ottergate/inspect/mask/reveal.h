/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reveal.h - a secret in what a server answers, seen by who decodes it
 *
 * What shows the secret to a reader is mask.h's business. This finds it where
 * only a decoded view of the bytes has it. A layer is one of:
 *
 *	escapes	JSON's, HTML's entities and percents (escape.h), of all or some
 *		characters, in any mixture
 *	Base64	of either alphabet or both, at each of the three alignments,
 *		alone or within more of it, with any white space between digits
 *
 * and REVEAL_DEPTH of them may be one in the other; two of these may be Base64.
 * Base64 that has more layers in it than the secret is decoded from runs of
 * REVEAL_RUN_MAX digits on (fewer for a secret so short that it would fit), in
 * lines of REVEAL_LINE_MIN at least but for the last: words are none. Of the first
 * and the last character, only the bits count that are in digits of their own.
 *
 * Bytes come in pieces of any size and are decoded as they come. A stream has a
 * fixed size (1.5 KiB), and 4.5 KiB more for each run of Base64 that is being
 * decoded, of which there are four at most.
 */
#ifndef OTTERGATE_INSPECT_MASK_REVEAL_H
#define OTTERGATE_INSPECT_MASK_REVEAL_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/slice.h"

#define REVEAL_DEPTH 3u
#define REVEAL_RUN_MAX 32u
#define REVEAL_LINE_MIN 16u

struct reveal; /* immutable; what has the secret in it is locked */
int reveal_new(struct slice value, struct reveal **ret) ATTR_WUR;
void reveal_free(struct reveal *r); /* NULL is fine */

struct reveal_stream;
/* @r is borrowed. -ENOMEM. */
int reveal_begin(const struct reveal *r, struct reveal_stream **ret) ATTR_WUR;
void reveal_stream_free(struct reveal_stream *s); /* NULL is fine */
/* Returns how many bytes were taken: all, or, with *@ret_found, up to the one
 * that completes the secret. -ENOMEM. */
ssize_t reveal_feed(struct reveal_stream *s, struct slice in,
		    bool *ret_found) ATTR_WUR;
/* Nothing more comes. True: its end completes the secret. */
bool reveal_end(struct reveal_stream *s);

/* How many of the last bytes may be more than MASK_BEGIN - 1 characters of a
 * secret in a decoded view, and so are to wait; at most reveal_holds_max(). As
 * mask.c does it: from there on a right guess and a wrong one look the same. */
size_t reveal_holds(const struct reveal_stream *s);
size_t reveal_holds_max(const struct reveal *r);

#endif
