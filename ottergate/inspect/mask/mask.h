/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mask.h - takes injected secrets out of what a server answers
 *
 * A server may send back what it was sent. Every form of a value that a
 * client could turn back into it is looked for while the bytes stream by: raw,
 * base64 (both alphabets, all three alignments, also of "user:value"),
 * percent-encoded (both cases of hex), JSON-escaped, and with the entities of
 * HTML in the ways that libraries write them; each byte of a match becomes '*', so lengths hold. Only bytes that may be the beginning of a
 * match are held back, and what follows MASK_BEGIN of them, up to the longest
 * form or the next byte that tokens do not have: a stream of events is not
 * delayed. Fewer than MASK_BEGIN, with nothing behind them for MASK_REST_MS, go
 * on as they are: a message that happens to end with them is waited for. One
 * automaton for all patterns of a request (Aho-Corasick), made once for a
 * secret. What would show the value only to who decodes it (reveal.h) is an
 * alarm: nothing more of the message may go on.
 */
#ifndef OTTERGATE_INSPECT_MASK_MASK_H
#define OTTERGATE_INSPECT_MASK_MASK_H

#include "lib/buf.h"
#include "ottergate/inspect/mask/secrets.h"

/* Bytes of a form's beginning that what is held back may give away; from there
 * on it is the same for a right guess and a wrong one. */
#define MASK_BEGIN 4u
#define MASK_REST_MS 10u
#define MASK_VALUE_MIN 8u /* shorter values cannot be told from noise */

struct reveal_stream;
struct mask; /* immutable, counted; memory with secrets in it is locked */
/* The forms of one secret. -EINVAL: shorter than MASK_VALUE_MIN. */
int mask_new(const struct secret *s, struct mask **ret) ATTR_WUR;
struct mask *mask_ref(struct mask *m);
void mask_unref(struct mask *m); /* NULL is fine */

/* May a token have this byte, or what is made of one? */
bool mask_is_word(uint8_t c);

#define MASK_ALARM (-EKEYREVOKED) /* the value, but for its encoding */

struct mask_stream { /* of one direction of one message */
	const struct mask *mask; /* borrowed */
	struct reveal_stream *views;
	int failed; /* 0, or what each call returns from then on */
	uint32_t state;
	uint32_t n_held;
	uint32_t n_gone; /* of these: the first ones have gone on already */
	uint8_t *held; /* sodium_malloc, as long as the longest form */
	uint64_t hits;
};
int mask_begin(struct mask_stream *m, const struct mask *mask) ATTR_WUR;
/* Appends to @out what may go on of all that was fed. @end: nothing more
 * comes, so nothing is held. -ENOBUFS, -ENOMEM, MASK_ALARM: the caller must cut
 * off; nothing of this call is in @out. */
int mask_feed(struct mask_stream *m, struct slice in, bool end,
	      struct buf *out) ATTR_WUR;
/* Is so little held back that mask_rest() may let it go? */
bool mask_waits(const struct mask_stream *m);
/* Appends that to @out: nothing has followed for MASK_REST_MS. What follows
 * later is masked as if it had not been let go. -ENOBUFS, -ENOMEM. */
int mask_rest(struct mask_stream *m, struct buf *out) ATTR_WUR;
void mask_end(struct mask_stream *m); /* wipes; accepts zeroed */
/* In place, for header values; adds the matches to *@hits. MASK_ALARM, -ENOMEM:
 * they must not go on. */
int mask_bytes(const struct mask *m, uint8_t *p, size_t len,
	       uint64_t *hits) ATTR_WUR;

#endif
