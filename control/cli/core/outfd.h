/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outfd.h - writing to a descriptor that others share, without ever waiting
 *
 * stdout may be a pipe that a shell gave to several programs: O_NONBLOCK set
 * on it would hit them too. So a pipe or terminal is opened a second time
 * for ourselves, a socket is asked not to wait call by call, and a regular
 * file never waits.
 */
#ifndef CONTROL_CLI_CORE_OUTFD_H
#define CONTROL_CLI_CORE_OUTFD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/slice.h"

enum outfd_mode {
	OUTFD_PLAIN, /* a regular file: write() does not wait */
	OUTFD_OWN, /* our own, non-blocking description */
	OUTFD_SEND, /* a socket: send(MSG_DONTWAIT) */
	OUTFD_SMALL, /* none of these: poll, then at most PIPE_BUF */
};

struct outfd {
	int fd; /* to write to and to poll for POLLOUT; -1: none */
	enum outfd_mode mode;
	bool grown; /* the pipe was made larger */
	bool owned;
};

void outfd_init(struct outfd *o, int fd); /* borrows @fd; -1 is fine */
void outfd_done(struct outfd *o); /* accepts zeroed */
/* Bytes written, at least one; -EAGAIN: poll for POLLOUT; -EPIPE and others:
 * nobody will read any more. */
ssize_t outfd_write(struct outfd *o, const void *data, size_t len);

/*
 * Opens the terminal @fd once more, for reading without ever waiting. A Ctrl-C
 * drops what was typed before it, which may be what poll() has just seen: a
 * read that waits for more then waits for ever if the signal is blocked.
 * Returns a descriptor of the caller's, or -1 if @fd is no terminal or cannot be
 * opened.
 */
int outfd_open_in(int fd);

/* Writes @text to @fd, which is shown to a person: lines stay lines, everything
 * else that is not text is escaped. */
void outfd_escaped(int fd, struct slice text);

#endif
