/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reveal_impl.h - what reveal.c, reveal_skip.c and reveal_value.c share
 */
#ifndef OTTERGATE_INSPECT_MASK_REVEAL_IMPL_H
#define OTTERGATE_INSPECT_MASK_REVEAL_IMPL_H

#include "ottergate/inspect/mask/escape.h"
#include "ottergate/inspect/mask/mask.h"
#include "ottergate/inspect/mask/reveal.h"
#include "ottergate/inspect/mask/trie.h"

#define LEVELS (REVEAL_DEPTH + 1)
#define PHASES 4u
#define RUNS (REVEAL_DEPTH - 1) /* levels with room for two more layers */

enum { BLANK = 64, OTHER = 65 }; /* no digits of Base64 */

#define INTERESTING 0x80u

/* What a byte may begin, and of what it may be the second. */
enum {
	BEGINS_BACKSLASH = 1,
	BEGINS_ENTITY = 2,
	BEGINS_PERCENT = 4,
	BEGINS_ESCAPE = 7,
	BEGINS_WORD = 8,
	BEGINS_DIGITS = 16,
};

struct reveal {
	struct trie words; /* the secret */
	struct trie digits; /* values of its digits */
	uint8_t class[256]; /* a digit's value, BLANK, OTHER; INTERESTING */
	uint8_t begins[256], follows[256]; /* of BEGINS_* */
	/* By the values of two digits: is one of the bytes that they may be in
	 * INTERESTING? */
	uint64_t pairs[64];
	bool plain; /* the secret is made of what tokens are made of */
	uint32_t run_min;
	size_t hold_max;
};

/* One search. */
struct seek {
	uint32_t at;
	uint32_t n; /* characters since `open` */
	uint64_t open; /* where what may be the secret begins; 0: nothing */
	uint64_t from[MASK_BEGIN]; /* places of the last ones */
	uint32_t next;
};

struct search {
	struct seek word, digits;
};

struct branch;
struct run { /* of digits, on one level */
	uint32_t n;
	uint32_t line; /* of these, since the last blank */
	struct branch *branch; /* NULL: not long enough yet */
	uint8_t digit[REVEAL_RUN_MAX];
};

struct level {
	struct search now;
	struct escape escape; /* the one being read here */
	uint64_t escape_at;
};

struct view {
	const struct reveal *r;
	struct run *run, *run_before; /* RUNS of each; NULL: none is decoded */
	uint8_t top, deepest;
	uint8_t layers; /* outside of it */
	struct level level[LEVELS];
	/* The topmost level as it was before the escape that has begun on it;
	 * if another was being read, which that came to nothing by, the level
	 * as it was before that one, and so on. */
	struct level before[REVEAL_DEPTH];
};

struct branch {
	struct branch *next; /* of those that are spare */
	uint32_t n; /* digits */
	uint8_t last;
	uint8_t busy; /* bits of the views that are not idle */
	uint64_t last_at;
	struct view view[PHASES];
};

struct reveal_stream {
	struct view view;
	struct run run[RUNS], run_before[RUNS];
	struct branch *spare;
	uint64_t at; /* bytes so far: places begin at 1 */
	bool no_memory;
};

/* Says whether the first bytes of @in can be those of what is looked for; true
 * when @in, which is not empty, is too short to tell. */
bool reveal_begins(const struct reveal *r, struct slice in);
/* Bytes of an idle stream that begin nothing: how many there are at most. If no
 * run is decoded, up to a digit that makes one long enough; else up to what is
 * no digit. */
size_t reveal_skip(struct reveal_stream *s, struct slice in);
size_t reveal_skip_digits(struct reveal_stream *s, struct slice in);

#endif
