/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shim.c - a CONNECT put before each connection, for loads that know no proxy
 *
 *	shim ADDR PORT PROXY-PORT HOST:PORT
 *
 * Blocking reads of the proxy's answer are fine: it gives it at once. One
 * thread, no buffers: what the other side does not take is waited for.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define FILES_MAX 65536

static int other[FILES_MAX]; /* of a connection: its second half */
static struct sockaddr_in here, proxy;
static char preface[256];
static char bytes[64 * 1024];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void watch(int ep, int fd, int peer)
{
	struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };
	int on = 1;

	if (fd >= FILES_MAX || epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e) < 0)
		die("watch");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	other[fd] = peer;
}

/* Reads the answer to the CONNECT, and not a byte more. */
static int answered(int fd)
{
	char head[4096];
	size_t n = 0;

	while (n < sizeof(head) && recv(fd, head + n, 1, 0) == 1) {
		n++;
		if (n >= 4 && memcmp(head + n - 4, "\r\n\r\n", 4) == 0)
			return n > 12 && memcmp(head + 9, "200", 3) == 0;
	}
	return 0;
}

static void begin(int ep, int listener)
{
	int a = accept(listener, NULL, NULL);
	int b = socket(AF_INET, SOCK_STREAM, 0);

	if (a < 0 || b < 0)
		die("accept");
	if (connect(b, (struct sockaddr *)&proxy, sizeof(proxy)) < 0 ||
	    send(b, preface, strlen(preface), 0) < 0 || !answered(b))
		die("CONNECT");
	watch(ep, a, b);
	watch(ep, b, a);
}

static void end(int fd)
{
	int peer = other[fd];

	close(fd);
	close(peer);
	other[fd] = other[peer] = -1;
}

static void pass(int fd)
{
	ssize_t n;

	if (other[fd] < 0)
		return; /* it has ended in this very round */
	n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN)
		return; /* the event was of an older one with this number */
	for (ssize_t sent = 0, m; sent < n; sent += m) {
		m = send(other[fd], bytes + sent, (size_t)(n - sent),
			 MSG_NOSIGNAL);
		if (m <= 0)
			n = 0;
	}
	if (n <= 0)
		end(fd);
}

static int listen_here(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd < 0 || bind(fd, (struct sockaddr *)&here, sizeof(here)) < 0 ||
	    listen(fd, 4096) < 0)
		die("listen");
	return fd;
}

int main(int argc, char **argv)
{
	struct epoll_event e[64];
	int ep = epoll_create1(0), listener;

	if (argc != 5)
		return 2;
	here.sin_family = proxy.sin_family = AF_INET;
	inet_pton(AF_INET, argv[1], &here.sin_addr);
	proxy.sin_addr = here.sin_addr;
	here.sin_port = htons((uint16_t)atoi(argv[2]));
	proxy.sin_port = htons((uint16_t)atoi(argv[3]));
	snprintf(preface, sizeof(preface),
		 "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", argv[4], argv[4]);
	listener = listen_here();
	watch(ep, listener, -1);
	for (;;) {
		int n = epoll_wait(ep, e, 64, -1);

		for (int i = 0; i < n; i++) {
			if (e[i].data.fd == listener)
				begin(ep, listener);
			else
				pass(e[i].data.fd);
		}
	}
}
