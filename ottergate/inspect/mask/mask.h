/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mask.h - masks injected credentials in what a server answers
 *
 * A server may send back what it was sent. While the bytes pass, every form of
 * a value that a client could turn back into it is searched for: raw, base64
 * (both alphabets, all three alignments, also of "user:value"), percent-encoded
 * (both cases of hex), JSON-escaped, and with HTML entities as libraries write
 * them. Each byte of a match becomes '*', so lengths stay.
 *
 * Held back are bytes that may begin a match. From MASK_BEGIN of them on, so is
 * what follows, up to the longest form or the next byte that no token has. So a
 * stream of events is not delayed. Fewer than MASK_BEGIN bytes pass after
 * MASK_REST_MS without more: a message may end with them.
 *
 * One automaton (Aho-Corasick) has all forms of a credential; it is made once.
 * A value that a client can see only after decoding (reveal.h) raises an alarm:
 * the rest of the message must not pass.
 */
#ifndef OTTERGATE_INSPECT_MASK_MASK_H
#define OTTERGATE_INSPECT_MASK_MASK_H

#include "lib/buf.h"
#include "ottergate/inspect/mask/secrets.h"

/* How many bytes of a form may show in what is held back. Beyond that, a right
 * guess and a wrong one look the same. */
#define MASK_BEGIN 4u
#define MASK_REST_MS 10u
#define MASK_VALUE_MIN 8u /* bytes; shorter values would match by chance */

struct reveal_stream;
struct mask; /* immutable, reference-counted, in locked memory */
/* Makes the forms of one credential, which is borrowed for the call; the caller
 * owns the reference in *@ret. Returns 0, -EINVAL for a value shorter than
 * MASK_VALUE_MIN or longer than SECRET_VALUE_MAX, or -ENOMEM. */
int mask_new(const struct secret *s, struct mask **ret) ATTR_WUR;
/* Takes a reference and returns @m, which is not NULL. */
struct mask *mask_ref(struct mask *m);
void mask_unref(struct mask *m); /* NULL is fine */

/* Returns true if tokens, or encoded forms of them, may have this byte. */
bool mask_is_word(uint8_t c);

#define MASK_ALARM (-EKEYREVOKED) /* the value is there, encoded */

struct mask_stream { /* of one direction of one message */
	const struct mask *mask; /* borrowed */
	struct reveal_stream *views;
	int failed; /* 0, or what every further mask_feed() returns */
	uint32_t state; /* of the automaton */
	uint32_t n_held; /* bytes in held */
	uint32_t n_gone; /* of these, the first, which have passed already */
	uint8_t *held; /* sodium_malloc, as long as the longest form */
	uint64_t hits; /* matches */
};
/* Initialises @m, to be released with mask_end(). Returns 0 or -ENOMEM. */
int mask_begin(struct mask_stream *m, const struct mask *mask) ATTR_WUR;
/* Takes @in and appends to @out what may pass. @end: no more comes, so nothing
 * is held back. Returns 0, -ENOBUFS, -ENOMEM or MASK_ALARM; on failure @out has
 * nothing of this call, and the caller must cut the message. */
int mask_feed(struct mask_stream *m, struct slice in, bool end,
	      struct buf *out) ATTR_WUR;
/* Returns true if so little is held back that mask_rest() may pass it. */
bool mask_waits(const struct mask_stream *m);
/* Appends that to @out; to be called after MASK_REST_MS without input. Later
 * bytes are still masked as if it had been held. Returns 0, -ENOBUFS or
 * -ENOMEM. */
int mask_rest(struct mask_stream *m, struct buf *out) ATTR_WUR;
/* Wipes and frees what @m holds; zeroes are fine. */
void mask_end(struct mask_stream *m);
/* Masks a whole value in place (of a header field) and adds the matches to
 * *@hits. Returns 0. Fails with MASK_ALARM or -ENOMEM: the value, which may be
 * masked in part, must not pass. */
int mask_bytes(const struct mask *m, uint8_t *p, size_t len,
	       uint64_t *hits) ATTR_WUR;

#endif
