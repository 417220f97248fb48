/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linkio.h - link frames over a non-blocking stream socket, in both directions
 *
 * Shared by guest links (session.c) and clients' connections (stream.c). The
 * only callback is the frame function.
 */
#ifndef CONTROL_ACD_GUEST_LINKIO_H
#define CONTROL_ACD_GUEST_LINKIO_H

#include "init-guard/link.h"

/* Bytes that a reader keeps between calls: the beginning of one frame. */
#define LINKIO_REST_MAX (LINK_HEADER + LINK_PAYLOAD_MAX)

/* @f is a view, valid during the call. A result other than 0 ends the reading
 * at once, and linkio_read() returns it; frames may be lost, so the link cannot
 * be read any more. */
typedef int (*linkio_frame_fn)(void *arg, const struct link_frame *f);

/*
 * Reads once and passes each complete frame to @fn. @rest was made by
 * buf_init() with LINKIO_REST_MAX and must outlive the call, whatever @fn does
 * to the link. Must not be called from a frame function.
 *
 * Returns 0, also if nothing is there, and there may be more to read; -ENOTCONN
 * if the peer has closed; -EBADMSG for a malformed frame; -ENOMEM; the result
 * of @fn; or the negative errno of the read. After a failure the link is over.
 */
int linkio_read(int fd, struct buf *rest, linkio_frame_fn fn, void *arg);

/*
 * Sends a frame of at most LINK_PAYLOAD_MAX bytes. What the socket does not
 * take at once is appended to @out, for linkio_flush(). Returns 0; -ENOBUFS if
 * @out has no room for all of it, or -EMSGSIZE, and nothing was sent; or
 * -ENOMEM, and the socket may be shut down. An error of the socket is no
 * failure here: it shows at the next flush or read.
 */
int linkio_send(int fd, struct buf *out, enum link_type type, uint32_t channel,
		const void *data, size_t len);

/* Writes up to @max bytes of @out, as many as the socket takes, and removes
 * them from it. Returns 0, also if it takes none, or the negative errno of the
 * write. */
int linkio_flush(int fd, struct buf *out, size_t max);

#endif
