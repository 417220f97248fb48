/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reveal_impl.h - shared by reveal.c, reveal_skip.c and reveal_value.c
 */
#ifndef OTTERGATE_INSPECT_MASK_REVEAL_IMPL_H
#define OTTERGATE_INSPECT_MASK_REVEAL_IMPL_H

#include "ottergate/inspect/mask/escape.h"
#include "ottergate/inspect/mask/mask.h"
#include "ottergate/inspect/mask/reveal.h"
#include "ottergate/inspect/mask/trie.h"

#define LEVELS (REVEAL_DEPTH + 1)
#define PHASES 4u /* offsets at which a group of Base64 digits may begin */
#define RUNS (REVEAL_DEPTH - 1) /* levels with room for two more layers */

enum { BLANK = 64, OTHER = 65 }; /* not digits of Base64 */

#define INTERESTING 0x80u /* flag in class[]: may begin something */

/* What a byte may begin (begins[]) or be the second byte of (follows[]). */
enum {
	BEGINS_BACKSLASH = 1,
	BEGINS_ENTITY = 2,
	BEGINS_PERCENT = 4,
	BEGINS_ESCAPE = 7,
	BEGINS_WORD = 8,
	BEGINS_DIGITS = 16,
};

struct reveal {
	struct trie words; /* the value */
	struct trie digits; /* Base64 of the value, as values of digits */
	uint8_t class[256]; /* a digit's value, BLANK, OTHER; INTERESTING */
	uint8_t begins[256], follows[256]; /* of BEGINS_* */
	/* Bit d of pairs[c]: a byte that the digits c and d are part of is
	 * INTERESTING. */
	uint64_t pairs[64];
	bool plain; /* the value has only bytes of tokens */
	uint32_t run_min; /* digits from which a run is decoded */
	size_t hold_max;
};

/* One search in a trie. */
struct seek {
	uint32_t at; /* node */
	uint32_t n; /* characters since `open` */
	uint64_t open; /* place where a possible match begins; 0: none */
	uint64_t from[MASK_BEGIN]; /* places of the last characters */
	uint32_t next; /* index in from[] */
};

struct search {
	struct seek word, digits;
};

struct branch;
struct run { /* of Base64 digits, on one level */
	uint32_t n;
	uint32_t line; /* digits since the last blank */
	struct branch *branch; /* NULL: too short to be decoded */
	uint8_t digit[REVEAL_RUN_MAX];
};

struct level {
	struct search now;
	struct escape escape; /* being read on this level */
	uint64_t escape_at; /* its place */
};

struct view {
	const struct reveal *r;
	struct run *run, *run_before; /* RUNS of each; NULL: not decoded */
	uint8_t top, deepest;
	uint8_t layers; /* of encoding around this view */
	struct level level[LEVELS];
	/* The topmost level as it was before the escape that is open on it.
	 * If that escape interrupted another one, which failed, the level
	 * before that one, and so on. */
	struct level before[REVEAL_DEPTH];
};

struct branch {
	struct branch *next; /* in the list of spare ones */
	uint32_t n; /* digits */
	uint8_t last; /* digit */
	uint8_t busy; /* bits of the views that are not idle */
	uint64_t last_at; /* its place */
	struct view view[PHASES];
};

struct reveal_stream {
	struct view view;
	struct run run[RUNS], run_before[RUNS];
	struct branch *spare; /* for reuse; owned */
	uint64_t at; /* bytes so far; the first place is 1 */
	bool no_memory;
};

/* Returns true if @in, which is not empty, may begin with what is searched for;
 * also if it is too short to tell. */
bool reveal_begins(const struct reveal *r, struct slice in);
/* Return how many bytes of @in, on an idle stream, begin nothing. The first is
 * for no run being decoded and stops at a digit that makes one long enough; the
 * second is for a run and stops at what is no digit. */
size_t reveal_skip(struct reveal_stream *s, struct slice in);
size_t reveal_skip_digits(struct reveal_stream *s, struct slice in);

#endif
