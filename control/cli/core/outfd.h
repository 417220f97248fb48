/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outfd.h - writes to a shared descriptor without blocking
 *
 * A shell may have given a pipe on stdout to several programs, and O_NONBLOCK
 * would affect all of them. So a pipe or terminal is opened a second time, a
 * socket is asked not to wait with each call, and a regular file never waits.
 */
#ifndef CONTROL_CLI_CORE_OUTFD_H
#define CONTROL_CLI_CORE_OUTFD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/slice.h"

enum outfd_mode {
	OUTFD_PLAIN, /* a regular file: write() does not block */
	OUTFD_OWN, /* an own, non-blocking file description */
	OUTFD_SEND, /* a socket: send(MSG_DONTWAIT) */
	OUTFD_SMALL, /* others: poll, then at most PIPE_BUF bytes */
};

struct outfd {
	int fd; /* to write to and to poll for POLLOUT; -1: none */
	enum outfd_mode mode;
	bool grown; /* the pipe was enlarged */
	bool owned; /* fd is closed by outfd_done() */
};

void outfd_init(struct outfd *o, int fd); /* borrows @fd; -1 is fine */
void outfd_done(struct outfd *o); /* accepts zeroed */
/* Returns the number of bytes written, at least one; -EAGAIN: poll for POLLOUT;
 * -EPIPE or another negative errno: the output has no reader any more. */
ssize_t outfd_write(struct outfd *o, const void *data, size_t len);

/*
 * Opens the terminal @fd again for non-blocking reads. A Ctrl-C discards what
 * was typed before, perhaps the bytes that poll() has just reported. If the
 * signal is blocked, a blocking read would then wait forever. Returns a
 * descriptor that the caller owns, or -1 if @fd is no terminal or cannot be
 * opened.
 */
int outfd_open_in(int fd);

/* Writes @text to @fd for a person: newlines stay, other control bytes are
 * escaped. */
void outfd_escaped(int fd, struct slice text);

#endif
