/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outfd.c - writes to a shared descriptor without blocking
 */
#include "control/cli/core/outfd.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "lib/attr.h"
#include "lib/str.h"

#define PIPE_BULK (64u * 1024) /* default size of a pipe */
#define PIPE_LARGE (512 * 1024)

/* Opens @fd again. Another uid's pipe or a missing /proc may refuse. */
static int open_again(int fd, int how)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, how | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

int outfd_open_in(int fd)
{
	return isatty(fd) == 1 ? open_again(fd, O_RDONLY) : -1;
}

void outfd_init(struct outfd *o, int fd)
{
	struct stat st;
	int own;

	memset(o, 0, sizeof(*o));
	o->fd = fd;
	o->mode = OUTFD_SMALL;
	if (fd < 0 || fstat(fd, &st) < 0)
		return;
	if (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode)) {
		o->mode = OUTFD_PLAIN;
		return;
	}
	if (S_ISSOCK(st.st_mode)) {
		o->mode = OUTFD_SEND;
		return;
	}
	own = open_again(fd, O_WRONLY);
	if (own >= 0) {
		o->fd = own;
		o->mode = OUTFD_OWN;
		o->owned = true;
	}
}

void outfd_done(struct outfd *o)
{
	if (o->owned)
		close(o->fd);
	memset(o, 0, sizeof(*o));
	o->fd = -1;
}

/* Enlarges the pipe, once, for bulk that did not fit: fewer, larger pieces cost
 * less. Not in advance, since all pipes of a user share a limit. */
static bool grow(struct outfd *o, size_t len)
{
	if (o->mode != OUTFD_OWN || o->grown || len < PIPE_BULK)
		return false;
	o->grown = true;
	if (fcntl(o->fd, F_SETPIPE_SZ, PIPE_LARGE) > 0)
		return true;
	errno = EAGAIN; /* a terminal, or refused: wait for it */
	return false;
}

/* A pipe that is ready for POLLOUT takes PIPE_BUF bytes without blocking. */
static ssize_t write_small(int fd, const void *data, size_t len)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int n = poll(&p, 1, 0);

	if (n < 0)
		return -1;
	if (n == 0) {
		errno = EAGAIN;
		return -1;
	}
	return write(fd, data, len < PIPE_BUF ? len : PIPE_BUF);
}

ssize_t outfd_write(struct outfd *o, const void *data, size_t len)
{
	ssize_t n;

	do {
		if (o->mode == OUTFD_SEND)
			n = send(o->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
		else if (o->mode == OUTFD_SMALL)
			n = write_small(o->fd, data, len);
		else
			n = write(o->fd, data, len);
	} while (n < 0 &&
		 (errno == EINTR || (errno == EAGAIN && grow(o, len))));
	return n < 0 ? -errno : n;
}

void outfd_escaped(int fd, struct slice text)
{
	char shown[1024];

	while (text.len > 0) {
		const uint8_t *end = memchr(text.ptr, '\n', text.len);
		size_t len = end ? (size_t)(end - text.ptr) : text.len;
		size_t part = len < 255 ? len : 255;
		bool whole = end && part == len;

		str_escape(shown, sizeof(shown), text.ptr, part);
		dprintf(fd, "%s%s", shown, whole ? "\n" : "");
		part += whole;
		text = slice_of(text.ptr + part, text.len - part);
	}
}
