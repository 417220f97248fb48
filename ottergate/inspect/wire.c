/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.c - a non-blocking, edge-triggered socket, after bytes that were read
 * before
 */
#include "ottergate/inspect/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct wire *wire_new(int fd, struct slice first)
{
	struct wire *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->fd = fd;
	if (first.len == 0)
		return w;
	w->first = malloc(first.len);
	if (!w->first) {
		free(w);
		return NULL;
	}
	memcpy(w->first, first.ptr, first.len);
	w->len = first.len;
	return w;
}

void wire_free(struct wire *w)
{
	if (w)
		free(w->first);
	free(w);
}

static ssize_t take_first(struct wire *w, void *out, size_t len)
{
	size_t n = w->len - w->start < len ? w->len - w->start : len;

	memcpy(out, w->first + w->start, n);
	w->start += n;
	if (w->start == w->len) {
		free(w->first);
		w->first = NULL;
	}
	return (ssize_t)n;
}

ssize_t wire_read(struct wire *w, void *out, size_t len)
{
	ssize_t n;

	if (len == 0)
		return 0;
	if (w->first)
		return take_first(w, out, len);
	if (w->empty)
		return -EAGAIN;
	do
		n = recv(w->fd, out, len, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	/* A short read has emptied the socket; more bytes raise an edge. Only
	 * an end that was reported already does not. */
	w->empty = w->edges && !w->hup && (n > 0 ? (size_t)n < len : n < 0);
	if (n == 0)
		w->eof = true;
	if (n >= 0)
		return n;
	if (errno == EAGAIN)
		return -EAGAIN;
	w->reset = true;
	return -EPIPE;
}

ssize_t wire_write(struct wire *w, const void *mem, size_t len)
{
	ssize_t n;

	do
		n = send(w->fd, mem, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return n;
	if (errno == EAGAIN)
		return -EAGAIN;
	w->reset = true;
	return -EPIPE;
}

void wire_edge(struct wire *w, bool hup)
{
	w->edges = true;
	w->hup = w->hup || hup;
	w->empty = false;
}
