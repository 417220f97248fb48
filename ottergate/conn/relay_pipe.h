/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_pipe.h - the pipes that a worker splices through
 */
#ifndef OTTERGATE_CONN_RELAY_PIPE_H
#define OTTERGATE_CONN_RELAY_PIPE_H

#include <stddef.h>
#include <sys/types.h>

struct worker_impl;

struct relay_pipe {
	struct relay_pipe *next; /* in the pool */
	int in, out; /* non-blocking ends: to write to, to read from */
	size_t size; /* that the kernel has granted */
	size_t len; /* bytes in it */
};

#define RELAY_PIPE_SIZE (1024u * 1024) /* if the kernel permits */
#define RELAY_PIPE_MIN (64u * 1024) /* smaller ones are useless */
#define RELAY_PIPES_MAX 256u /* of one worker */
#define RELAY_PIPES_IDLE 16u /* kept for later */

/* Returns an empty pipe, to be given back by relay_pipe_put(); NULL if there is
 * none: the caller copies instead. */
struct relay_pipe *relay_pipe_get(struct worker_impl *im);
/* Gives a pipe back to the pool, or closes it if bytes are in it, which are
 * lost, or if the pool is full. NULL is fine. */
void relay_pipe_put(struct worker_impl *im, struct relay_pipe *p);
/* Move bytes by splice(2) from @fd into @p, at most @most, and from @p to @fd,
 * and adjust p->len. Never block. Return the bytes moved, 0 at the end of the
 * input, or -1 with errno, which is EAGAIN if nothing can be moved now. */
ssize_t relay_pipe_fill(struct relay_pipe *p, int fd, size_t most);
ssize_t relay_pipe_drain(struct relay_pipe *p, int fd);
/* Closes the pipes of the pool, but none that is still lent. */
void relay_pipes_free(struct worker_impl *im);

#endif
