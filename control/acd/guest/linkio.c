/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linkio.c - link frames over a non-blocking stream socket, in both directions
 *
 * Theory of operation: the process has one receive buffer. It is large, so bulk
 * output comes in few reads; frames are passed on as views into it; and an idle
 * link holds no memory. Only the beginning of an incomplete frame is kept, per
 * link. The rest of that frame is read straight behind it, and what follows
 * goes to the common buffer. So a peer that sends a large frame byte by byte
 * costs a system call each, never a copy of the frame.
 */
#include "control/acd/guest/linkio.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define RECEIVE_BYTES (512u * 1024)

/* acd has one thread, and a read is never nested in another. */
static uint8_t receive_buf[RECEIVE_BYTES];

/* Reads into @a, then @b. Returns 0 if nothing is there. */
static ssize_t read_both(int fd, struct iovec a, struct iovec b)
{
	struct iovec iov[2] = { a, b };
	ssize_t n = readv(fd, iov, 2);

	if (n == 0)
		return -ENOTCONN;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	return n;
}

/* Passes on the frames of @in; appends the rest to @rest. */
static int frames_split(struct slice in, struct buf *rest, linkio_frame_fn fn,
			void *arg)
{
	struct link_frame f;
	int rc;

	for (;;) {
		rc = link_parse(&in, &f, NULL);
		if (rc == -EAGAIN)
			break;
		if (rc == 0)
			rc = fn(arg, &f);
		if (rc != 0)
			return rc;
	}
	return in.len > 0 ? buf_append(rest, in.ptr, in.len) : 0;
}

/* Completes the frame of which @rest has the header. */
static int read_behind_rest(int fd, struct buf *rest, linkio_frame_fn fn,
			    void *arg)
{
	struct slice in = buf_slice(rest);
	struct link_frame f;
	size_t need = 0, missing;
	uint8_t *place;
	ssize_t n;
	int rc = link_parse(&in, &f, &need);

	if (rc != -EAGAIN || need <= in.len)
		return -EBADMSG;
	missing = need - in.len;
	place = buf_reserve(rest, missing);
	if (!place)
		return -ENOMEM;
	n = read_both(fd, (struct iovec){ place, missing },
		      (struct iovec){ receive_buf, sizeof(receive_buf) });
	if (n <= 0)
		return (int)n;
	if ((size_t)n < missing) {
		buf_commit(rest, (size_t)n);
		return 0;
	}
	buf_commit(rest, missing);
	in = buf_slice(rest);
	rc = link_parse(&in, &f, NULL);
	if (rc == 0)
		rc = fn(arg, &f);
	if (rc != 0)
		return rc;
	buf_consume(rest, need);
	return frames_split(slice_of(receive_buf, (size_t)n - missing), rest,
			    fn, arg);
}

int linkio_read(int fd, struct buf *rest, linkio_frame_fn fn, void *arg)
{
	struct slice held = buf_slice(rest);
	ssize_t n;

	if (held.len >= LINK_HEADER)
		return read_behind_rest(fd, rest, fn, arg);
	if (held.len > 0)
		memcpy(receive_buf, held.ptr, held.len);
	n = read_both(fd,
		      (struct iovec){ receive_buf + held.len,
				      sizeof(receive_buf) - held.len },
		      (struct iovec){ receive_buf, 0 });
	if (n <= 0)
		return (int)n;
	buf_consume(rest, held.len);
	return frames_split(slice_of(receive_buf, held.len + (size_t)n), rest,
			    fn, arg);
}

/* Returns how many bytes of header and payload the socket took at once. */
static size_t send_direct(int fd, uint8_t *header, const void *data, size_t len)
{
	struct iovec iov[2] = {
		{ header, LINK_HEADER },
		/* sendmsg() does not write, but struct iovec has no const. */
		{ (void *)(uintptr_t)data, len },
	};
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = len > 0 ? 2 : 1 };
	ssize_t n = sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);

	return n > 0 ? (size_t)n : 0;
}

int linkio_send(int fd, struct buf *out, enum link_type type, uint32_t channel,
		const void *data, size_t len)
{
	uint8_t header[LINK_HEADER];
	size_t sent;
	int rc = 0;

	if (len > LINK_PAYLOAD_MAX)
		return -EMSGSIZE;
	if (buf_room(out) < LINK_HEADER + len)
		return -ENOBUFS;
	if (buf_len(out) > 0)
		return link_put(out, type, channel, data, len);

	link_put_header(header, type, channel, len);
	sent = send_direct(fd, header, data, len);
	if (sent == LINK_HEADER + len)
		return 0;
	if (sent < LINK_HEADER) {
		rc = buf_append(out, header + sent, LINK_HEADER - sent);
		sent = LINK_HEADER;
	}
	sent -= LINK_HEADER;
	if (rc == 0 && len > sent)
		rc = buf_append(out, (const uint8_t *)data + sent, len - sent);
	/* Half a frame was sent: the stream cannot go on. */
	if (rc < 0)
		shutdown(fd, SHUT_RDWR);
	return rc;
}

int linkio_flush(int fd, struct buf *out, size_t max)
{
	struct slice s = buf_slice(out);
	ssize_t n;

	if (s.len > max)
		s.len = max;
	if (s.len == 0)
		return 0;
	n = send(fd, s.ptr, s.len, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	buf_consume(out, (size_t)n);
	return 0;
}
