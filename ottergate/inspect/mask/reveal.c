/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reveal.c - finds an encoded credential in what a server answers
 *
 * Theory of operation: level 0 of a view is the bytes as they come; level k + 1
 * is level k with its escapes decoded. Each level is searched for two things:
 * the value, and, without white space, the Base64 digits of the value at its
 * three alignments.
 *
 * Most bytes are the same on all levels, and levels with equal states stay
 * equal until something is decoded. So only the levels up to view.top are kept;
 * those above equal that one. When an escape begins on the topmost level, its
 * state before is saved. If the escape is valid, a new level begins from there;
 * it is dropped when it has become equal again. A byte that begins nothing
 * costs two look-ups.
 *
 * A long run of Base64 digits on a level may hold anything. It is decoded at
 * all four phases, each into a view of its own (struct branch). Level 0 of
 * these is not searched for the value, since the digits were.
 */
#include "ottergate/inspect/mask/reveal.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "ottergate/inspect/mask/escape.h"
#include "ottergate/inspect/mask/mask.h"
#include "ottergate/inspect/mask/reveal_impl.h"

/* --- searches ------------------------------------------------------------- */

static uint8_t digit_of(const struct reveal *r, uint8_t c)
{
	return r->class[c] & (INTERESTING - 1);
}

/* Takes character @c at place @at. @goes: a token may have this character.
 * Returns true if a pattern ends here. */
static bool seek_step(const struct trie *t, struct seek *s, uint8_t c,
		      bool goes, uint64_t at)
{
	const struct trie_node *n;

	if (s->at == 0 && !s->open && !t->first[c])
		return false;
	s->from[s->next++ % MASK_BEGIN] = at;
	s->at = trie_step(t, s->at, c);
	n = &t->nodes[s->at];
	if (s->open &&
	    (!goes || (++s->n > t->depth_max && n->depth < MASK_BEGIN)))
		s->open = 0;
	if (!s->open && n->depth >= MASK_BEGIN) {
		s->open = s->from[s->next % MASK_BEGIN];
		s->n = n->depth;
	}
	return n->match > 0;
}

static bool search_step(struct view *v, unsigned k, uint8_t c, uint64_t at)
{
	const struct reveal *r = v->r;
	struct search *s = &v->level[k].now;
	uint8_t d = digit_of(r, c);
	bool goes = r->plain ? mask_is_word(c) : c >= 0x20 && c != 0x7f;
	bool found = seek_step(&r->words, &s->word, c, goes, at);

	/* On level 0 mask.c has masked it, or its digits were found. */
	found = found && k > 0;
	if (d == OTHER) {
		s->digits.at = 0;
		s->digits.open = 0;
	} else if (d != BLANK && v->layers + k < REVEAL_DEPTH) {
		found |= seek_step(&r->digits, &s->digits, d, true, at);
	}
	return found;
}

static bool seek_same(const struct seek *above, const struct seek *below)
{
	return above->at == below->at &&
	       (!above->open || above->open == below->open);
}

/* --- Base64 with more layers in it ---------------------------------------- */

static bool view_put(struct reveal_stream *s, struct view *v, uint8_t c,
		     uint64_t at);

static void branch_free(struct branch *b)
{
	if (b)
		sodium_memzero(b, sizeof(*b));
	free(b);
}

static struct branch *branch_new(struct reveal_stream *s, const struct view *v,
				 unsigned k)
{
	struct branch *b = s->spare;

	if (b)
		s->spare = b->next;
	else
		b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	b->n = 0;
	b->last = 0;
	b->busy = 0;
	for (unsigned i = 0; i < PHASES; i++) {
		struct view *in = &b->view[i];

		/* Levels above the topmost one are set when they begin. */
		in->level[0] = (struct level){ 0 };
		in->top = 0;
		in->r = v->r;
		in->layers = (uint8_t)(v->layers + k + 1);
		in->deepest = (uint8_t)(REVEAL_DEPTH - in->layers);
	}
	return b;
}

static bool is_idle(const struct view *v);

/* Puts one byte, which a digit has completed, into the view of phase @i. */
static inline bool phase_put(struct reveal_stream *s, struct branch *b,
			     unsigned i, uint8_t c)
{
	struct view *v = &b->view[i];
	unsigned bit = 1u << i;
	bool found;

	if (!(b->busy & bit) && !(v->r->class[c] & INTERESTING))
		return false;
	found = view_put(s, v, c, b->last_at);
	b->busy = (uint8_t)(is_idle(v) ? b->busy & ~bit : b->busy | bit);
	return found;
}

static bool branch_put(struct reveal_stream *s, struct branch *b, uint8_t d,
		       uint64_t at)
{
	unsigned two = (unsigned)b->last << 6 | d, n = b->n;
	bool found = false;

	/* In some phases the first digits complete no byte. */
	if (n > 0)
		found |= phase_put(s, b, (n - 1) % PHASES, (uint8_t)(two >> 4));
	if (n > 1)
		found |= phase_put(s, b, (n - 2) % PHASES, (uint8_t)(two >> 2));
	if (n > 2)
		found |= phase_put(s, b, (n - 3) % PHASES, (uint8_t)two);
	b->n = n < PHASES ? n + 1 : (n + 1) % PHASES + PHASES;
	b->last = d;
	b->last_at = at;
	return found;
}

/* Ends the input of a view: an open escape may complete the value. */
static bool view_end(struct reveal_stream *s, struct view *v);

static bool branch_end(struct reveal_stream *s, struct branch *b)
{
	bool found = false;

	if (!b)
		return false;
	for (unsigned i = 0; i < PHASES; i++)
		found |= (b->busy >> i & 1) && view_end(s, &b->view[i]);
	b->next = s->spare;
	s->spare = b;
	return found;
}

static bool run_end(struct reveal_stream *s, struct run *run)
{
	struct branch *b = run->branch;

	run->branch = NULL;
	run->n = run->line = 0;
	return branch_end(s, b);
}

/* The run is long enough: begins to decode it. */
static bool run_begin(struct reveal_stream *s, struct view *v, unsigned k,
		      uint64_t at)
{
	struct run *run = &v->run[k];
	bool found = false;

	run->branch = branch_new(s, v, k);
	s->no_memory |= !run->branch;
	for (uint32_t i = 0; run->branch && i < run->n; i++)
		found |= branch_put(s, run->branch, run->digit[i], at);
	return found;
}

static bool run_put(struct reveal_stream *s, struct view *v, unsigned k,
		    uint8_t d, uint64_t at)
{
	struct run *run = &v->run[k];

	if (d == OTHER)
		return run->n > 0 && run_end(s, run);
	if (d == BLANK && run->line < REVEAL_LINE_MIN && run->line > 0)
		return run_end(s, run); /* words of text */
	if (d == BLANK) {
		run->line = 0;
		return false;
	}
	run->line += run->line < REVEAL_LINE_MIN;
	if (run->branch)
		return branch_put(s, run->branch, d, at);
	run->digit[run->n++] = d;
	return run->n >= v->r->run_min && run_begin(s, v, k, at);
}

/* --- levels --------------------------------------------------------------- */

static bool has_run(const struct view *v, unsigned k)
{
	return v->run && k < RUNS;
}

/* Saves the run around an escape that begins, in case the escape is valid. */
static void run_save(struct view *v, unsigned k)
{
	v->run_before[k] = v->run[k];
	v->run[k] = (struct run){ 0 };
}

static bool saved_drop(struct reveal_stream *s, struct view *v, unsigned k)
{
	return has_run(v, k) && run_end(s, &v->run_before[k]);
}

/* The first escape on the topmost level was valid: begins a level. */
static bool level_begin(struct reveal_stream *s, struct view *v)
{
	unsigned k = v->top++;
	bool found = false;

	v->level[k + 1] = v->before[0];
	memmove(v->before, v->before + 1,
		sizeof(v->before) - sizeof(v->before[0]));
	if (has_run(v, k + 1)) {
		v->run[k + 1] = v->run_before[k];
		v->run_before[k] = (struct run){ 0 };
	} else {
		found = saved_drop(s, v, k);
	}
	return found;
}

static bool put(struct reveal_stream *s, struct view *v, unsigned k, uint8_t c,
		uint64_t at);

static bool put_all(struct reveal_stream *s, struct view *v, unsigned k,
		    const uint8_t *p, size_t n, uint64_t at)
{
	bool found = false;

	for (size_t i = 0; i < n; i++)
		found |= put(s, v, k, p[i], at);
	return found;
}

/* An escape of level @k has ended, valid or not. */
static bool escape_ended(struct reveal_stream *s, struct view *v, unsigned k,
			 enum escape_did did)
{
	struct level *l = &v->level[k];
	bool found = false;

	if (did == ESCAPE_FAILED) {
		if (v->top == k)
			return saved_drop(s, v, k);
		return put_all(s, v, k + 1, l->escape.raw, l->escape.n_raw,
			       l->escape_at);
	}
	if (v->top == k)
		found = level_begin(s, v);
	return put_all(s, v, k + 1, l->escape.out, l->escape.n_out,
		       l->escape_at) ||
	       found;
}

/* An escape begins on the topmost level, whose state was @before. */
static void level_save(struct view *v, const struct level *before)
{
	if (!escape_is_idle(&before->escape))
		memmove(v->before + 1, v->before,
			sizeof(v->before) - sizeof(v->before[0]));
	v->before[0] = *before;
	if (has_run(v, v->top))
		run_save(v, v->top);
}

/* Feeds @c of level @k to its escape, and the result to the level above.
 * @before: the level's state without @c. */
static bool escape_put(struct reveal_stream *s, struct view *v, unsigned k,
		       uint8_t c, const struct level *before, uint64_t at)
{
	struct level *l = &v->level[k];
	enum escape_did did = escape_feed(&l->escape, c);
	bool found = false;

	if (did == ESCAPE_DONE_BEFORE || did == ESCAPE_FAILED) {
		found = escape_ended(s, v, k, did);
		did = escape_feed(&l->escape, c);
	}
	if (did == ESCAPE_BEGUN) {
		l->escape_at = at;
		if (v->top == k)
			level_save(v, before);
	} else if (did == ESCAPE_DONE) {
		found |= escape_ended(s, v, k, did);
	} else if (did == ESCAPE_NONE && v->top > k) {
		found |= put(s, v, k + 1, c, at);
	}
	return found;
}

/* Takes one character of level @k. Returns true if it completes the value there
 * or above. */
static bool put(struct reveal_stream *s, struct view *v, unsigned k, uint8_t c,
		uint64_t at)
{
	struct level *l = &v->level[k];
	bool found;

	if (escape_is_idle(&l->escape) && !escape_begins(c)) {
		found = search_step(v, k, c, at);
		if (v->top > k)
			found |= put(s, v, k + 1, c, at);
	} else {
		const struct level before = *l;

		found = search_step(v, k, c, at);
		if (k < v->deepest)
			found |= escape_put(s, v, k, c, &before, at);
	}
	if (has_run(v, k))
		found |= run_put(s, v, k, digit_of(v->r, c), at);
	return found;
}

/* Returns true if the topmost level equals the one below. */
static bool top_is_same(const struct view *v)
{
	const struct level *a = &v->level[v->top], *b = a - 1;

	if (!escape_is_idle(&a->escape) || !escape_is_idle(&b->escape) ||
	    !seek_same(&a->now.word, &b->now.word) ||
	    !seek_same(&a->now.digits, &b->now.digits))
		return false;
	/* The lower level's run is the same, with digits before it. */
	return !has_run(v, v->top) || v->run[v->top].n == 0;
}

static bool is_idle(const struct view *v)
{
	const struct level *l = &v->level[0];

	return v->top == 0 && l->now.word.at == 0 && l->now.digits.at == 0 &&
	       l->escape.kind == 0 && !l->now.digits.open && !l->now.word.open;
}

static bool view_put(struct reveal_stream *s, struct view *v, uint8_t c,
		     uint64_t at)
{
	bool found = put(s, v, 0, c, at);

	while (v->top > 0 && top_is_same(v))
		v->top--;
	return found;
}

static bool view_end(struct reveal_stream *s, struct view *v)
{
	bool found = false;

	for (unsigned k = 0; k < v->deepest && k <= v->top; k++) {
		enum escape_did did = escape_end(&v->level[k].escape);

		if (did != ESCAPE_NONE)
			found |= escape_ended(s, v, k, did);
	}
	return found;
}

/* --- streams -------------------------------------------------------------- */

int reveal_begin(const struct reveal *r, struct reveal_stream **ret)
{
	struct reveal_stream *s = calloc(1, sizeof(*s));

	*ret = s;
	if (!s)
		return -ENOMEM;
	s->view.r = r;
	s->view.deepest = REVEAL_DEPTH;
	s->view.run = s->run;
	s->view.run_before = s->run_before;
	return 0;
}

void reveal_stream_free(struct reveal_stream *s)
{
	if (!s)
		return;
	for (unsigned k = 0; k < RUNS; k++) {
		branch_free(s->run[k].branch);
		branch_free(s->run_before[k].branch);
	}
	while (s->spare) {
		struct branch *b = s->spare;

		s->spare = b->next;
		branch_free(b);
	}
	sodium_memzero(s, sizeof(*s));
	free(s);
}

/* Takes one byte or more from the beginning of @in. Returns true if found. */
static bool feed(struct reveal_stream *s, struct slice *in, bool *idle)
{
	struct view *v = &s->view;
	const struct branch *b = s->run[0].branch;
	size_t n = 0;
	uint8_t c;
	bool found;

	if (*idle && !b)
		n = reveal_skip(s, *in);
	else if (*idle && !b->busy)
		n = reveal_skip_digits(s, *in);
	s->at += n;
	*in = slice_of(in->ptr + n, in->len - n);
	if (in->len == 0)
		return false;
	s->at++;
	c = in->ptr[0];
	if (*idle &&
	    (!(v->r->class[c] & INTERESTING) || !reveal_begins(v->r, *in))) {
		found = run_put(s, v, 0, digit_of(v->r, c), s->at);
	} else {
		found = view_put(s, v, c, s->at);
		*idle = is_idle(v);
	}
	*in = slice_of(in->ptr + 1, in->len - 1);
	return found;
}

ssize_t reveal_feed(struct reveal_stream *s, struct slice in, bool *ret_found)
{
	struct slice rest = in;
	bool found = false, idle = is_idle(&s->view);

	while (rest.len > 0 && !found) {
		found = feed(s, &rest, &idle);
		if (s->no_memory)
			return -ENOMEM;
	}
	*ret_found = found;
	return (ssize_t)(in.len - rest.len);
}

bool reveal_end(struct reveal_stream *s)
{
	bool found = view_end(s, &s->view);

	for (unsigned k = 0; k < RUNS; k++) {
		found |= run_end(s, &s->run[k]);
		found |= run_end(s, &s->run_before[k]);
	}
	return found;
}

static void earlier(uint64_t *first, uint64_t open)
{
	if (open && open < *first)
		*first = open;
}

static void view_holds(const struct view *v, uint64_t *first)
{
	for (unsigned k = 0; k <= v->top; k++) {
		/* On level 0, mask.c holds it back. */
		if (k > 0)
			earlier(first, v->level[k].now.word.open);
		earlier(first, v->level[k].now.digits.open);
	}
	/* The level above would begin from these. */
	if (escape_is_idle(&v->level[v->top].escape))
		return;
	for (unsigned k = 0; k < REVEAL_DEPTH; k++) {
		earlier(first, v->before[k].now.word.open);
		earlier(first, v->before[k].now.digits.open);
		if (escape_is_idle(&v->before[k].escape))
			break;
	}
}

static void run_holds(const struct run *run, uint64_t *first)
{
	for (unsigned i = 0; run->branch && i < PHASES; i++)
		if (run->branch->busy >> i & 1)
			view_holds(&run->branch->view[i], first);
}

size_t reveal_holds(const struct reveal_stream *s)
{
	uint64_t first = s->at + 1;
	size_t n;

	view_holds(&s->view, &first);
	for (unsigned k = 0; k < RUNS; k++) {
		run_holds(&s->run[k], &first);
		run_holds(&s->run_before[k], &first);
	}
	n = (size_t)(s->at + 1 - first);
	return n > s->view.r->hold_max ? 0 : n;
}
