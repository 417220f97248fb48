/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linger.h - output that nobody waits for any more
 *
 * A program that an exec left in the background may go on writing. Were the
 * read end of its pipe closed, it would die of SIGPIPE; so the descriptor is
 * kept, and what comes is thrown away.
 */
#ifndef INIT_GUARD_LINGER_H
#define INIT_GUARD_LINGER_H

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

void linger_init(struct linger *l, struct loop *loop);
void linger_done(struct linger *l);
/*
 * Takes a non-blocking descriptor; closes it at its end, or at once when
 * the table is full.
 */
void linger_adopt(struct linger *l, int fd);

#endif
