/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h - a non-blocking, edge-triggered socket, after bytes that were read
 * before
 */
#ifndef OTTERGATE_INSPECT_WIRE_H
#define OTTERGATE_INSPECT_WIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/attr.h"
#include "lib/slice.h"

struct wire {
	int fd; /* borrowed */
	bool eof, reset; /* seen by a read; by a read or a write */
	bool edges, hup, empty; /* wire_edge() */
	uint8_t *first; /* bytes read before; NULL: none left */
	size_t start, len;
};

/* Returns a new wire on @fd that first gives @first, which is copied; NULL
 * without memory. The caller frees it with wire_free(), which takes NULL and
 * does not close @fd. */
struct wire *wire_new(int fd, struct slice first);
void wire_free(struct wire *w);
/* Return the number of bytes, which may be fewer than @len; reading, 0 at the
 * end. Fail with -EAGAIN, or -EPIPE if the connection is gone. Never raise
 * SIGPIPE. */
ssize_t wire_read(struct wire *w, void *out, size_t len) ATTR_WUR;
ssize_t wire_write(struct wire *w, const void *mem, size_t len) ATTR_WUR;
/* Records an edge of the descriptor; @hup: the peer has ended, now or before. A
 * caller that reports one edge must report all: between two edges an empty
 * socket is not read again. */
void wire_edge(struct wire *w, bool hup);

#endif
