/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.h - the last bytes that a command has written, in their order
 *
 * A ring in memory for both streams. A position counts the bytes of both; an
 * offset counts those of one stream. What is put there pushes out the oldest
 * bytes. Readers have marks, of which the ring knows nothing: any number, each
 * at its own place.
 *
 * A sandbox decides how often the streams alternate. So what is kept of that is
 * bounded, too: a part is a run of bytes of one stream, and costs four bytes.
 */
#ifndef CONTROL_ACD_INSTANCE_COMMAND_OUTPUT_H
#define CONTROL_ACD_INSTANCE_COMMAND_OUTPUT_H

#include <stdbool.h>

#include "lib/slice.h"

enum output_stream {
	OUTPUT_STDOUT,
	OUTPUT_STDERR,
	OUTPUT_STREAMS /* their number */
};

struct output {
	size_t max, parts_max; /* bytes and parts that are kept */
	uint8_t *mem; /* the byte at a position: mem[position % cap] */
	size_t cap; /* a power of two, or 0 */
	uint32_t *parts; /* likewise: length and stream of each part */
	size_t parts_cap;
	uint64_t begin, end; /* positions that are kept */
	uint64_t first, last; /* parts that are kept, counted from the first
			       * that there was */
	uint64_t first_pos; /* where the part @first began */
	uint64_t offset[OUTPUT_STREAMS]; /* of the first byte that is kept */
	uint64_t total[OUTPUT_STREAMS]; /* bytes that were put there */
};

/* A reader's place. */
struct output_mark {
	uint64_t pos;
	uint64_t part,
		part_pos; /* the part that has it, and where that began */
	uint64_t offset[OUTPUT_STREAMS];
};

struct output_piece {
	enum output_stream stream;
	uint64_t offset; /* of the first byte */
	size_t len;
	bool open; /* the next byte to come may be of the same stream */
	uint64_t lost; /* bytes that were pushed out before they were read */
};

/* Sets @o to an empty ring, which allocates nothing. Both numbers are at least
 * 1; at most 1 GiB. */
void output_init(struct output *o, size_t max, size_t parts_max);
/* Frees the memory. Accepts a zeroed ring. */
void output_done(struct output *o);
/* Appends. Never fails: without memory, bytes are lost, and count as pushed
 * out. */
void output_put(struct output *o, enum output_stream stream, struct slice data);
/* Sets @ret to the oldest byte. */
void output_oldest(const struct output *o, struct output_mark *ret);
/* Sets @ret to @pos, or to the oldest byte if that is no longer kept; the next
 * output_peek() then says what is lost. Returns 0, or -ERANGE for a position
 * beyond the end. */
int output_seek(const struct output *o, uint64_t pos, struct output_mark *ret);
/* Copies at most @len bytes of one stream from @m on to @data and describes them
 * in @ret. Moves @m only over bytes that are lost. Returns their number, 0 only
 * at the end. */
size_t output_peek(const struct output *o, struct output_mark *m, void *data,
		   size_t len, struct output_piece *ret);
/* Moves @m over @len of the bytes that output_peek() has just returned. */
void output_skip(const struct output *o, struct output_mark *m, size_t len);

#endif
