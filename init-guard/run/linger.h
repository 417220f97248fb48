/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linger.h - drains output that is no longer sent
 *
 * A program that an exec left in the background may continue to write. If the
 * read end of its pipe were closed, it would die of SIGPIPE; so the descriptor
 * is kept and its output dropped.
 */
#ifndef INIT_GUARD_RUN_LINGER_H
#define INIT_GUARD_RUN_LINGER_H

#include "lib/loop.h"

#define LINGER_MAX 64u

struct linger_slot {
	int fd; /* -1: free */
	struct loop_io *io;
};

struct linger {
	struct loop *loop;
	struct linger_slot slot[LINGER_MAX];
};

/* Initialises an empty table; @loop is borrowed. */
void linger_init(struct linger *l, struct loop *loop);
/* Closes all descriptors. */
void linger_done(struct linger *l);
/* Takes ownership of a non-blocking descriptor and drains it. Closes it at its
 * end, or at once if the table is full or without memory. */
void linger_adopt(struct linger *l, int fd);

#endif
