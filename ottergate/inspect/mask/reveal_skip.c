/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reveal_skip.c - skips the bytes of a response that cannot begin a match
 *
 * Nearly all bytes are such. While a stream is idle, nothing has begun on any
 * level, so it is enough to look for the first two bytes of a pattern. What a
 * byte does to the run of digits is done here too. What may begin something is
 * left to reveal.c, and so is what depends on bytes that have not come: the
 * result does not depend on how the bytes are cut.
 */
#include "ottergate/inspect/mask/reveal_impl.h"

/* Bytes of an escape that is handled as a whole: fewer than make a run. */
#define ESCAPE_SHORT 11u

bool reveal_begins(const struct reveal *r, struct slice in)
{
	uint8_t begins = r->begins[in.ptr[0]];
	size_t i = 1;

	if (in.len < 2 || (begins & r->follows[in.ptr[1]]))
		return true;
	if (!(begins & BEGINS_DIGITS))
		return false;
	while (i < in.len && r->class[in.ptr[i]] == BLANK)
		i++;
	return i == in.len || (r->follows[in.ptr[i]] & BEGINS_DIGITS);
}

/* Returns true if the output of an escape has no effect on the next level,
 * whose run equals this level's. */
static bool is_noise(const struct reveal_stream *s, const struct escape *e,
		     uint32_t n, uint32_t line)
{
	for (unsigned i = 0; i < e->n_out; i++) {
		uint8_t d = s->view.r->class[e->out[i]];
		bool ends = n == 0 || (line > 0 && line < REVEAL_LINE_MIN);

		if (d != OTHER && !(d == BLANK && ends))
			return false;
	}
	return true;
}

/* Returns how many bytes of an escape, or of what looks like one, have no
 * effect on any level. Returns 0 if it may have one, or is incomplete. @n,
 * @line: of the run before it. */
static size_t skip_escape(const struct reveal_stream *s, struct slice in,
			  uint32_t n, uint32_t line)
{
	const struct reveal *r = s->view.r;
	struct escape e = { 0 };
	enum escape_did did = ESCAPE_BEGUN;
	size_t len = 0;

	while (did == ESCAPE_BEGUN || did == ESCAPE_MORE) {
		if (len == in.len || len == ESCAPE_SHORT)
			return 0;
		did = escape_feed(&e, in.ptr[len++]);
	}
	if (did != ESCAPE_FAILED && !is_noise(s, &e, n, line))
		return 0;
	len -= did != ESCAPE_DONE;
	/* The next level may continue it with what this one yields. */
	if (did != ESCAPE_DONE && escape_begins(in.ptr[len]))
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((r->class[in.ptr[i]] & INTERESTING) &&
		    reveal_begins(r, slice_of(in.ptr + i, in.len - i)))
			return 0;
	return len;
}

size_t reveal_skip(struct reveal_stream *s, struct slice in)
{
	const struct reveal *r = s->view.r;
	struct run *run = &s->run[0];
	uint32_t n = run->n, line = run->line, last = r->run_min - 1;
	size_t i = 0, known = 0; /* nothing begins before `known` */

	for (; i < in.len; i++) {
		uint8_t c = in.ptr[i], d = r->class[c];

		if ((d & INTERESTING) && i >= known) {
			struct slice rest = slice_of(in.ptr + i, in.len - i);

			if (reveal_begins(r, rest)) {
				known = i;
				if (r->begins[c] <= BEGINS_ESCAPE)
					known += skip_escape(s, rest, n, line);
				if (known == i)
					break;
			}
		}
		d &= INTERESTING - 1;
		if (d < BLANK) {
			if (n == last)
				break;
			run->digit[n++] = d;
			line++;
		} else if (d == OTHER) {
			n = line = 0;
		} else {
			if (line < REVEAL_LINE_MIN && line > 0)
				n = 0;
			line = 0;
		}
	}
	run->n = n;
	run->line = line;
	return i;
}

/* Returns true if a byte that this digit completes in a view, and the byte
 * after it, may begin something. @last: the digit before. */
static bool digits_begin(const struct reveal *r, uint8_t last, uint8_t d,
			 struct slice behind)
{
	uint8_t next, second;
	uint32_t four;

	if (behind.len < 2)
		return true;
	next = r->class[behind.ptr[0]] & (INTERESTING - 1);
	second = r->class[behind.ptr[1]] & (INTERESTING - 1);
	if (next >= BLANK || second >= BLANK)
		return true;
	four = (uint32_t)last << 18 | (uint32_t)d << 12 | (uint32_t)next << 6 |
	       second;
	for (unsigned i = 0; i < PHASES - 1; i++) {
		uint8_t two[2] = { (uint8_t)(four >> (16 - 2 * i)),
				   (uint8_t)(four >> (8 - 2 * i)) };

		if (r->begins[two[0]] && reveal_begins(r, slice_of(two, 2)))
			return true;
	}
	return false;
}

size_t reveal_skip_digits(struct reveal_stream *s, struct slice in)
{
	const struct reveal *r = s->view.r;
	struct run *run = &s->run[0];
	struct branch *b = run->branch;
	uint8_t last = b->last;
	size_t i = 0;

	for (; i < in.len; i++) {
		uint8_t d = r->class[in.ptr[i]];
		struct slice behind = slice_of(in.ptr + i + 1, in.len - i - 1);

		if ((d & INTERESTING) &&
		    reveal_begins(r, slice_of(in.ptr + i, in.len - i)))
			break;
		d &= INTERESTING - 1;
		if (d >= BLANK)
			break;
		if ((r->pairs[last] >> d & 1) &&
		    digits_begin(r, last, d, behind))
			break;
		last = d;
	}
	if (i == 0)
		return 0;
	/* A branch begins with a run, which has more digits than PHASES. */
	b->n = (uint32_t)((b->n + i) % PHASES + PHASES);
	b->last = last;
	b->last_at = s->at + i;
	run->line = i < REVEAL_LINE_MIN - run->line ? run->line + (uint32_t)i :
						      REVEAL_LINE_MIN;
	return i;
}
