/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dial_socket.c - the sockets of a dial: to a server, and to ac-edge
 */
#include "ottergate/conn/dial_socket.h"

#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "lib/edge_answer.h"

int dial_socket_tcp(const struct addr *a, uint16_t port)
{
	struct sockaddr_storage ss;
	socklen_t len = addr_sockaddr(a, port, &ss);
	SCOPED_FD fd = socket(a->family == 4 ? AF_INET : AF_INET6,
			      SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int on = 1, off = 0;

	if (fd < 0)
		return -errno;
	/* Without a quick ACK the last packet of the handshake travels with the
	 * first bytes. That takes one system call more and one packet less; a
	 * packet costs more than a call. */
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &off, sizeof(off)) < 0 ||
	    (connect(fd, (struct sockaddr *)&ss, len) < 0 &&
	     errno != EINPROGRESS))
		return -errno;
	return fd_take(&fd);
}

int dial_socket_error(int fd)
{
	int code = 0;
	socklen_t len = sizeof(code);

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &len) < 0)
		return -errno;
	return code ? -code : -ECONNRESET;
}

int dial_socket_edge(const char *dir, const char *name)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	SCOPED_FD fd = -1;
	int n;

	if (!dir)
		return -ENOENT;
	n = snprintf(sun.sun_path, sizeof(sun.sun_path), "%s/%s", dir, name);
	if (n < 0 || (size_t)n >= sizeof(sun.sun_path))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
	    connect(fd, (const struct sockaddr *)&sun, sizeof(sun)) < 0)
		return -errno;
	return fd_take(&fd);
}

/* No socket, or one without a listener: ac-edge does not run. */
enum reason dial_edge_reason(int code)
{
	return code == -ENOENT || code == -ECONNREFUSED ?
		       REASON_EDGE_DOWN :
		       reason_of_connect(code);
}

static enum reason reason_of_answer(uint8_t answer)
{
	switch (answer) {
	case EDGE_CONNECTED:
		return REASON_ALLOWED;
	case EDGE_REFUSED:
		return REASON_CONNECT_REFUSED;
	case EDGE_TIMEOUT:
		return REASON_CONNECT_TIMEOUT;
	default:
		return REASON_CONNECT_FAILED;
	}
}

int dial_edge_answer(int fd, enum reason *ret)
{
	uint8_t answer;
	ssize_t n = recv(fd, &answer, 1, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	/* If it ended without a word, it is gone. */
	*ret = n == 1 ? reason_of_answer(answer) : REASON_EDGE_DOWN;
	return 0;
}
