/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_test.c - a ring of two streams, against a list of all its bytes
 */
#include "control/acd/instance/command/output.h"

#include <errno.h>
#include <stdlib.h>

#include "tests/unit/tap.h"

#define ALL_MAX (256u * 1024)

/* The same numbers each time. */
static uint32_t chance(void)
{
	static uint32_t x = 1;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return x >> 1;
}

/* Every byte that was put there, and where in its stream it is. */
static struct {
	uint8_t byte[ALL_MAX];
	enum output_stream stream[ALL_MAX];
	uint64_t offset[ALL_MAX];
	uint64_t len, total[OUTPUT_STREAMS];
} all;

static void all_put(enum output_stream stream, const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		all.byte[all.len] = data[i];
		all.stream[all.len] = stream;
		all.offset[all.len++] = all.total[stream]++;
	}
}

/* Reads from @m to the end in pieces of at most @step; false if a byte is not
 * what it should be, or one is missing that was not counted as lost. */
static bool reads_well(const struct output *o, struct output_mark *m,
		       size_t step)
{
	uint8_t data[512];
	struct output_piece p;
	uint64_t pos = m->pos;
	size_t n;

	while ((n = output_peek(o, m, data, step, &p)) > 0) {
		pos += p.lost;
		for (size_t i = 0; i < n; i++) {
			if (data[i] != all.byte[pos + i] ||
			    p.stream != all.stream[pos + i] ||
			    p.offset + i != all.offset[pos + i])
				return false;
		}
		pos += n;
		output_skip(o, m, n);
	}
	return pos + p.lost == all.len && m->pos == all.len;
}

static void put(struct output *o, enum output_stream stream, const char *text)
{
	output_put(o, stream, slice_str(text));
}

static void test_words(void)
{
	struct output_piece p;
	struct output_mark m;
	struct output o;
	char data[16];

	output_init(&o, 8, 16);
	output_oldest(&o, &m);
	is_int((long)output_peek(&o, &m, data, 16, &p), 0, "nothing at first");
	put(&o, OUTPUT_STDOUT, "abc");
	put(&o, OUTPUT_STDOUT, "d");
	put(&o, OUTPUT_STDERR, "XY");
	is_int((long)output_peek(&o, &m, data, 16, &p), 4, "one stream");
	ok(memcmp(data, "abcd", 4) == 0 && !p.open && p.offset == 0,
	   "which is over");
	output_skip(&o, &m, 4);
	is_int((long)output_peek(&o, &m, data, 16, &p), 2, "then the other");
	ok(p.stream == OUTPUT_STDERR && p.open && p.offset == 0, "is open");
	output_skip(&o, &m, 1);
	put(&o, OUTPUT_STDERR, "Z0123");
	is_int((long)output_peek(&o, &m, data, 16, &p), 6, "goes on");
	ok(p.lost == 0 && p.offset == 1 && memcmp(data, "YZ0123", 6) == 0,
	   "from its place");
	is_int((long)(o.end - o.begin), 8, "the ring is full");
	is_int(output_seek(&o, 1, &m), 0, "a place that was pushed out");
	is_int((long)output_peek(&o, &m, data, 16, &p), 1, "begins later");
	ok(p.lost == 2 && data[0] == 'd' && p.offset == 3, "and says so");
	is_int(output_seek(&o, 12, &m), -ERANGE, "a place that is to come");
	is_int(output_seek(&o, 11, &m), 0, "the end");
	is_int((long)output_peek(&o, &m, data, 16, &p), 0, "has nothing");
	put(&o, OUTPUT_STDOUT, "a much longer text");
	ok(o.end - o.begin == 8 && o.total[OUTPUT_STDOUT] == 22 &&
		   o.offset[OUTPUT_STDOUT] == 14 &&
		   o.offset[OUTPUT_STDERR] == 7,
	   "what is longer than the ring leaves its end");
	output_done(&o);
	output_done(&o);
}

/* @size bytes and @parts parts; each piece is at most @piece long. */
static bool random_ring(size_t size, size_t parts, size_t piece)
{
	struct output_mark slow, quick, at;
	struct output o;
	uint8_t data[2048];
	bool good = true;

	all.len = all.total[0] = all.total[1] = 0;
	output_init(&o, size, parts);
	output_oldest(&o, &slow);
	output_oldest(&o, &quick);
	while (good && all.len + sizeof(data) < ALL_MAX) {
		enum output_stream s = chance() % 3 ? OUTPUT_STDOUT :
						      OUTPUT_STDERR;
		size_t n = (size_t)chance() % piece + 1;

		for (size_t i = 0; i < n; i++)
			data[i] = (uint8_t)chance();
		all_put(s, data, n);
		output_put(&o, s, slice_of(data, n));
		good = o.end == all.len && o.end - o.begin <= size &&
		       o.last - o.first <= parts &&
		       reads_well(&o, &quick, 1 + (size_t)chance() % 512);
		if (chance() % 50 == 0)
			good = good && reads_well(&o, &slow, 100);
		if (chance() % 20 == 0)
			good = good &&
			       output_seek(&o, (uint64_t)chance() % (o.end + 1),
					   &at) == 0 &&
			       reads_well(&o, &at, 37);
	}
	output_done(&o);
	return good;
}

static void test_random(void)
{
	static const struct {
		size_t size, parts, piece;
	} rows[] = {
		{ 4096, 1000, 100 }, { 5000, 1000, 1 },    { 1, 1, 3 },
		{ 65536, 8, 10 },    { 300, 1000, 2000 },  { 100000, 5, 2048 },
		{ 4097, 16, 16 },    { 200000, 60000, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		ok(random_ring(rows[i].size, rows[i].parts, rows[i].piece),
		   "%zu bytes, %zu parts, pieces of %zu", rows[i].size,
		   rows[i].parts, rows[i].piece);
}

int main(void)
{
	test_words();
	test_random();
	return done_testing();
}
