/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_pipe.c - the pipes that a worker splices through
 *
 * A pipe is lent only while it holds bytes, so a worker needs as many as it has
 * fat flows whose sink is full, not as many as it has connections. The kernel
 * limits the pages of a user's pipes (pipe-user-pages-soft); when it gives no
 * more large ones, flows are copied, which always works.
 */
#include "ottergate/conn/relay_pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include "ottergate/conn/worker_impl.h"

static struct relay_pipe *pipe_new(void)
{
	struct relay_pipe *p = malloc(sizeof(*p));
	int fds[2], size;

	if (!p || pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0) {
		free(p);
		return NULL;
	}
	size = fcntl(fds[1], F_SETPIPE_SZ, RELAY_PIPE_SIZE);
	if (size < 0)
		size = fcntl(fds[1], F_GETPIPE_SZ);
	if (size < 0 || (unsigned)size < RELAY_PIPE_MIN) {
		close(fds[0]);
		close(fds[1]);
		free(p);
		return NULL;
	}
	*p = (struct relay_pipe){
		.in = fds[1],
		.out = fds[0],
		.size = (size_t)size,
	};
	return p;
}

static void pipe_close(struct worker_impl *im, struct relay_pipe *p)
{
	im->n_pipes--;
	close(p->in);
	close(p->out);
	free(p);
}

struct relay_pipe *relay_pipe_get(struct worker_impl *im)
{
	struct relay_pipe *p = im->pipes;

	if (p) {
		im->pipes = p->next;
		im->n_idle_pipes--;
		return p;
	}
	if (im->n_pipes >= RELAY_PIPES_MAX)
		return NULL;
	p = pipe_new();
	if (p)
		im->n_pipes++;
	return p;
}

void relay_pipe_put(struct worker_impl *im, struct relay_pipe *p)
{
	if (!p)
		return;
	if (p->len || im->n_idle_pipes >= RELAY_PIPES_IDLE) {
		pipe_close(im, p);
		return;
	}
	p->next = im->pipes;
	im->pipes = p;
	im->n_idle_pipes++;
}

ssize_t relay_pipe_fill(struct relay_pipe *p, int fd, size_t most)
{
	ssize_t n = splice(fd, NULL, p->in, NULL,
			   most < p->size ? most : p->size,
			   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (n > 0)
		p->len += (size_t)n;
	return n;
}

ssize_t relay_pipe_drain(struct relay_pipe *p, int fd)
{
	ssize_t n = splice(p->out, NULL, fd, NULL, p->len,
			   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (n > 0)
		p->len -= (size_t)n;
	return n;
}

void relay_pipes_free(struct worker_impl *im)
{
	while (im->pipes) {
		struct relay_pipe *p = im->pipes;

		im->pipes = p->next;
		pipe_close(im, p);
	}
	im->n_idle_pipes = 0;
}
