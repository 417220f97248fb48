/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stdio.c - the descriptors of an exec, and our ends of them
 */
#include "init-guard/run/stdio.h"

#include <fcntl.h>

#include "init-guard/run/pty.h"
#include "init-guard/start/setup.h"

void stdio_init(struct stdio *s)
{
	*s = (struct stdio){
		.child = { -1, -1, -1 },
		.in = -1,
		.out = { -1, -1 },
	};
}

/* Makes a pipe whose end for us is non-blocking. The agent owns it, so that it
 * can open /dev/stdout and the like, which lead through /proc. */
static int pipe_open(int ours, int *ret_ours, int *ret_child)
{
	int end[2];

	if (pipe2(end, O_CLOEXEC) < 0)
		return -errno;
	*ret_ours = end[ours];
	*ret_child = end[!ours];
	/* A new pipe has no other flags: every system call counts here. */
	if (fchown(*ret_child, AGENT_UID, AGENT_GID) < 0 ||
	    fcntl(*ret_ours, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

static int output_open(struct stdio *s)
{
	int rc = pipe_open(0, &s->out[0], &s->child[1]);

	if (rc == 0)
		rc = pipe_open(0, &s->out[1], &s->child[2]);
	if (rc < 0)
		stdio_close(s);
	return rc;
}

int stdio_open_pipes(struct stdio *s, bool input, struct stdio *spare)
{
	int rc = 0;

	*s = *spare;
	stdio_init(spare);
	if (s->out[1] < 0)
		rc = output_open(s);
	if (rc == 0 && input)
		rc = pipe_open(1, &s->in, &s->child[0]);
	if (rc < 0)
		stdio_close(s);
	return rc;
}

void stdio_spare(struct stdio *spare)
{
	if (spare->out[1] < 0)
		(void)output_open(spare);
}

int stdio_open_tty(struct stdio *s, uint16_t rows, uint16_t cols)
{
	int rc;

	stdio_init(s);
	rc = pty_open(rows, cols, &s->out[0], &s->child[0]);
	if (rc < 0)
		return rc;
	s->child[1] = s->child[0];
	s->child[2] = s->child[0];
	/* A separate one, so that input and output are closed independently. */
	s->in = fcntl(s->out[0], F_DUPFD_CLOEXEC, 3);
	if (s->in < 0) {
		rc = -errno;
		stdio_close(s);
	}
	return rc;
}

void stdio_close_child(struct stdio *s)
{
	int i;

	for (i = 2; i >= 0; i--) {
		if (i > 0 && s->child[i] == s->child[0])
			s->child[i] = -1;
		fd_closep(&s->child[i]);
	}
}

void stdio_close(struct stdio *s)
{
	stdio_close_child(s);
	fd_closep(&s->in);
	fd_closep(&s->out[0]);
	fd_closep(&s->out[1]);
}
