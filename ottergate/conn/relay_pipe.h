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
	int in, out;
	size_t size;
	size_t len; /* bytes in it */
};

#define RELAY_PIPE_SIZE (1024u * 1024) /* if the kernel permits */
#define RELAY_PIPE_MIN (64u * 1024) /* smaller ones are not worth it */
#define RELAY_PIPES_MAX 256u /* of one worker */
#define RELAY_PIPES_IDLE 16u /* kept when nobody needs them */

/* An empty one, lent; NULL: there is none, copy. */
struct relay_pipe *relay_pipe_get(struct worker_impl *im);
/* Back to the pool; what is still in it is lost. NULL is fine. */
void relay_pipe_put(struct worker_impl *im, struct relay_pipe *p);
/* splice(2): bytes moved, 0 at the end, -1 with errno. */
ssize_t relay_pipe_fill(struct relay_pipe *p, int fd, size_t most);
ssize_t relay_pipe_drain(struct relay_pipe *p, int fd);
void relay_pipes_free(struct worker_impl *im);

#endif
