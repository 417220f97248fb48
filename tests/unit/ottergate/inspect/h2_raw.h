/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_raw.h - a client of the HTTP/2 engine whose frames are made by hand
 *
 * For what nghttp2 would never send. A test program includes it once.
 */
#ifndef TESTS_UNIT_OTTERGATE_INSPECT_H2_RAW_H
#define TESTS_UNIT_OTTERGATE_INSPECT_H2_RAW_H

#include "tests/unit/ottergate/inspect/h2_world.h"

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

static inline void raw_bytes(const void *p, size_t n)
{
	if (buf_append(&w.up_in.b, p, n) < 0)
		abort();
}

static inline void raw_frame(uint8_t type, uint8_t flags, uint32_t id,
			     const void *p, size_t n)
{
	const uint8_t head[9] = { (uint8_t)(n >> 16),
				  (uint8_t)(n >> 8),
				  (uint8_t)n,
				  type,
				  flags,
				  (uint8_t)(id >> 24),
				  (uint8_t)(id >> 16),
				  (uint8_t)(id >> 8),
				  (uint8_t)id };

	raw_bytes(head, sizeof(head));
	if (n > 0)
		raw_bytes(p, n);
}

/* Frames of @type that the engine sent, and what the last one begins with. */
static inline unsigned raw_sent(uint8_t type, uint8_t last[8])
{
	struct slice s = buf_slice(&w.down_out.b);
	unsigned count = 0;

	while (s.len >= 9) {
		struct slice head, payload;
		size_t n = (size_t)s.ptr[0] << 16 | (size_t)s.ptr[1] << 8 |
			   s.ptr[2];

		if (slice_take(&s, 9, &head) < 0 ||
		    slice_take(&s, n, &payload) < 0)
			break;
		if (head.ptr[3] != type)
			continue;
		count++;
		memset(last, 0, 8);
		memcpy(last, payload.ptr, n < 8 ? n : 8);
	}
	return count;
}

static inline void raw_up(void)
{
	world_up();
	peer_open(&w.server, true, &w.up_out, &w.down_in);
	raw_bytes(PREFACE, strlen(PREFACE));
	raw_frame(NGHTTP2_SETTINGS, 0, 0, NULL, 0);
}

/* GET https a.test /: indexed fields and a literal. */
static const uint8_t head_block[] = "\x82\x87\x84\x01\x06"
				    "a.test";

#endif
