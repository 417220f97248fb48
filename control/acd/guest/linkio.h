/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linkio.h - link frames over a non-blocking stream socket, both ways
 *
 * What a guest link (session.c) and a client's connection (stream.c) have in
 * common. Neither function calls back but through the frame function.
 */
#ifndef CONTROL_ACD_GUEST_LINKIO_H
#define CONTROL_ACD_GUEST_LINKIO_H

#include "init-guard/link.h"

/* What a reader keeps between calls: at most one frame's beginning. */
#define LINKIO_REST_MAX (LINK_HEADER + LINK_PAYLOAD_MAX)

/* The frame is a view for the time of the call. Anything but 0 ends the
 * reading at once, and linkio_read() returns it. */
typedef int (*linkio_frame_fn)(void *arg, const struct link_frame *f);

/*
 * Reads once and hands on each whole frame. @rest, made by buf_init() with
 * LINKIO_REST_MAX, must outlive the call even if the frame function decides
 * that the link is over. Must not be called from a frame function.
 *
 * 0 (more may be there: level-triggered), -ENOTCONN the peer closed,
 * -EBADMSG a malformed frame, -ENOMEM, the frame function's result, or the
 * errno of the read.
 */
int linkio_read(int fd, struct buf *rest, linkio_frame_fn fn, void *arg);

/*
 * Sends a frame of at most LINK_PAYLOAD_MAX bytes, from where it is when the
 * socket takes it at once, else by way of @out. -ENOBUFS: @out has no room,
 * nothing was sent. An error of the socket shows at the next flush or read.
 */
int linkio_send(int fd, struct buf *out, enum link_type type, uint32_t channel,
		const void *data, size_t len);

/* Writes the first @max bytes of @out, as far as the socket takes them.
 * 0, or the errno of the write; -EAGAIN is no error here. */
int linkio_flush(int fd, struct buf *out, size_t max);

#endif
