/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.c - the last bytes that a command has written, in their order
 *
 * Theory of operation: memory grows by doubling up to the maximum and is then a
 * ring. The length of a part is that which it had when all of it was there:
 * what was pushed out of the oldest one shows in @begin alone. So a mark, which
 * has the place where its part began, stays right.
 */
#include "control/acd/instance/command/output.h"

#include <errno.h>
#include <stdlib.h>

#define CAP_MIN 4096u
#define PARTS_MIN 16u
#define PART_MAX (1u << 20) /* bytes; a longer one is several */

/* ---- parts ---- */

static uint32_t part_word(const struct output *o, uint64_t part)
{
	return o->parts[part & (o->parts_cap - 1)];
}

static enum output_stream part_stream(const struct output *o, uint64_t part)
{
	return part_word(o, part) & 1 ? OUTPUT_STDERR : OUTPUT_STDOUT;
}

static uint32_t part_len(const struct output *o, uint64_t part)
{
	return part_word(o, part) >> 1;
}

/* ---- the ring ---- */

void output_init(struct output *o, size_t max, size_t parts_max)
{
	*o = (struct output){ .max = max, .parts_max = parts_max };
}

void output_done(struct output *o)
{
	free(o->mem);
	free(o->parts);
	o->mem = NULL;
	o->parts = NULL;
	o->cap = o->parts_cap = 0;
	o->begin = o->end;
	o->first = o->last;
	memcpy(o->offset, o->total, sizeof(o->offset));
}

/* Pushes out the @len oldest bytes. */
static void push_out(struct output *o, uint64_t len)
{
	while (len > 0) {
		uint64_t left = o->first_pos + part_len(o, o->first) - o->begin;
		uint64_t n = len < left ? len : left;

		o->offset[part_stream(o, o->first)] += n;
		o->begin += n;
		len -= n;
		if (n == left) {
			o->first++;
			o->first_pos = o->begin;
		}
	}
}

/* Returns the smallest power of two that is @want or more, and @least. */
static size_t cap_for(size_t want, size_t least)
{
	while (least < want)
		least *= 2;
	return least;
}

static void mem_put(struct output *o, uint64_t pos, const uint8_t *data,
		    size_t len)
{
	size_t at = pos & (o->cap - 1);
	size_t n = len < o->cap - at ? len : o->cap - at;

	memcpy(o->mem + at, data, n);
	memcpy(o->mem, data + n, len - n);
}

static void mem_get(const struct output *o, uint64_t pos, uint8_t *data,
		    size_t len)
{
	size_t at = pos & (o->cap - 1);
	size_t n = len < o->cap - at ? len : o->cap - at;

	memcpy(data, o->mem + at, n);
	memcpy(data + n, o->mem, len - n);
}

/* Makes room for @len more bytes, at most @max of them. Returns false if none
 * can be had. */
static bool mem_room(struct output *o, size_t len)
{
	size_t kept = o->end - o->begin, cap;
	struct output old = *o;
	uint8_t *mem;

	if (kept + len > o->max)
		push_out(o, kept + len - o->max);
	kept = o->end - o->begin;
	if (kept + len <= o->cap)
		return true;
	cap = cap_for(kept + len, CAP_MIN);
	mem = malloc(cap);
	if (!mem && len > o->cap)
		return false;
	if (!mem) {
		push_out(o, kept + len - o->cap);
		return true;
	}
	o->mem = mem;
	o->cap = cap;
	for (uint64_t pos = o->begin; pos < o->end;) {
		size_t at = pos & (old.cap - 1);
		size_t n = o->end - pos;

		if (n > old.cap - at)
			n = old.cap - at;
		mem_put(o, pos, old.mem + at, n);
		pos += n;
	}
	free(old.mem);
	return true;
}

/* Makes room for one more part. Returns false if there is none. */
static bool parts_room(struct output *o)
{
	size_t kept = o->last - o->first, cap;
	uint32_t *parts;

	if (kept < o->parts_cap && kept < o->parts_max)
		return true;
	cap = cap_for(kept + 1, PARTS_MIN);
	parts = kept < o->parts_max ? calloc(cap, sizeof(*parts)) : NULL;
	if (!parts && kept == 0)
		return false;
	if (!parts) {
		push_out(o, o->first_pos + part_len(o, o->first) - o->begin);
		return true;
	}
	for (uint64_t i = o->first; i < o->last; i++)
		parts[i & (cap - 1)] = part_word(o, i);
	free(o->parts);
	o->parts = parts;
	o->parts_cap = cap;
	return true;
}

/* Counts @len bytes as pushed out, and with them all before. */
static void put_nothing(struct output *o, enum output_stream stream, size_t len)
{
	push_out(o, o->end - o->begin);
	o->end += len;
	o->total[stream] += len;
	o->begin = o->first_pos = o->end;
	o->offset[stream] = o->total[stream];
}

static void put_some(struct output *o, enum output_stream stream,
		     struct slice data)
{
	uint32_t word;

	if (!mem_room(o, data.len)) {
		put_nothing(o, stream, data.len);
		return;
	}
	if (o->first < o->last && part_stream(o, o->last - 1) == stream &&
	    part_len(o, o->last - 1) + data.len <= PART_MAX) {
		word = part_word(o, o->last - 1) + (uint32_t)(data.len << 1);
		o->parts[(o->last - 1) & (o->parts_cap - 1)] = word;
	} else if (parts_room(o)) {
		if (o->first == o->last)
			o->first_pos = o->end;
		word = (uint32_t)(data.len << 1) | (stream == OUTPUT_STDERR);
		o->parts[o->last++ & (o->parts_cap - 1)] = word;
	} else {
		put_nothing(o, stream, data.len);
		return;
	}
	mem_put(o, o->end, data.ptr, data.len);
	o->end += data.len;
	o->total[stream] += data.len;
}

void output_put(struct output *o, enum output_stream stream, struct slice data)
{
	size_t most = o->max < PART_MAX ? o->max : PART_MAX;

	while (data.len > 0) {
		struct slice some = data;

		if (some.len > most)
			some.len = most;
		put_some(o, stream, some);
		data.ptr += some.len;
		data.len -= some.len;
	}
}

/* ---- reading ---- */

void output_oldest(const struct output *o, struct output_mark *ret)
{
	*ret = (struct output_mark){
		.pos = o->begin,
		.part = o->first,
		.part_pos = o->first_pos,
	};
	memcpy(ret->offset, o->offset, sizeof(ret->offset));
}

/* Moves @m from the end of its part to the next one, if there is one. */
static void mark_enter(const struct output *o, struct output_mark *m)
{
	while (m->part + 1 < o->last &&
	       m->pos == m->part_pos + part_len(o, m->part)) {
		m->part++;
		m->part_pos = m->pos;
	}
}

int output_seek(const struct output *o, uint64_t pos, struct output_mark *ret)
{
	struct output_mark m;

	if (pos > o->end)
		return -ERANGE;
	output_oldest(o, &m);
	if (m.pos < pos)
		output_skip(o, &m, pos - m.pos);
	/* The first peek counts what is between. */
	if (pos < m.pos)
		m.pos = pos;
	*ret = m;
	return 0;
}

/* Returns how many bytes of its stream follow @m without one of the other.
 * *@ret_open: they are the last ones. */
static size_t stream_left(const struct output *o, const struct output_mark *m,
			  bool *ret_open)
{
	uint64_t part = m->part;
	size_t left = m->part_pos + part_len(o, part) - m->pos;

	while (++part < o->last &&
	       part_stream(o, part) == part_stream(o, m->part))
		left += part_len(o, part);
	*ret_open = part == o->last;
	return left;
}

size_t output_peek(const struct output *o, struct output_mark *m, void *data,
		   size_t len, struct output_piece *ret)
{
	size_t left;

	*ret = (struct output_piece){ 0 };
	if (m->pos < o->begin) {
		ret->lost = o->begin - m->pos;
		output_oldest(o, m);
	}
	if (m->pos == o->end)
		return 0;
	/* It was at the end of a part that was pushed out since. */
	if (m->part < o->first)
		output_oldest(o, m);
	mark_enter(o, m);
	ret->stream = part_stream(o, m->part);
	ret->offset = m->offset[ret->stream];
	left = stream_left(o, m, &ret->open);
	ret->len = len < left ? len : left;
	mem_get(o, m->pos, data, ret->len);
	return ret->len;
}

void output_skip(const struct output *o, struct output_mark *m, size_t len)
{
	uint64_t n;

	while (len > 0) {
		mark_enter(o, m);
		n = m->part_pos + part_len(o, m->part) - m->pos;
		if (n > len)
			n = len;
		m->offset[part_stream(o, m->part)] += n;
		m->pos += n;
		len -= n;
	}
}
