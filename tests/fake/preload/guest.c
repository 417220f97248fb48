/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest.c - a program that the shim is loaded into
 *
 *	guest ACT...
 *
 * Prints a line for each act. One with colons is a call,
 *
 *	CALL:FAMILY:MODE:PROTOCOL:ADDRESS:PORT
 *
 *	connect, sendto, fastopen, sendmsg, sendmmsg; 4 or 6 (mapped); b or n
 *	(not blocking); tcp or udp
 *
 * and its line is the errno by name, or 0, what a call in progress came to,
 * and the peer then. Any other is a scene of scenes.c. Linked with glibc and
 * with musl; knows nothing of net-preload.
 */
#include "tests/fake/preload/guest.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEPT 4242 /* an errno that no call sets */
#define WAIT_MS 5000

const char *name_of(int code)
{
	static const struct {
		int code;
		const char *name;
	} names[] = {
		{ 0, "0" },
		{ EINPROGRESS, "EINPROGRESS" },
		{ EALREADY, "EALREADY" },
		{ EISCONN, "EISCONN" },
		{ ECONNREFUSED, "ECONNREFUSED" },
		{ EHOSTUNREACH, "EHOSTUNREACH" },
		{ ENETUNREACH, "ENETUNREACH" },
		{ EADDRNOTAVAIL, "EADDRNOTAVAIL" },
		{ EAFNOSUPPORT, "EAFNOSUPPORT" },
		{ EINVAL, "EINVAL" },
		{ EBADF, "EBADF" },
		{ ENOTSOCK, "ENOTSOCK" },
		{ ENOENT, "ENOENT" },
		{ EMFILE, "EMFILE" },
		{ ECONNABORTED, "ECONNABORTED" },
		{ EPROTOTYPE, "EPROTOTYPE" },
		{ ENOTCONN, "ENOTCONN" },
		{ EPIPE, "EPIPE" },
		{ EACCES, "EACCES" },
		{ EOPNOTSUPP, "EOPNOTSUPP" },
		{ EDESTADDRREQ, "EDESTADDRREQ" },
	};
	static char other[32];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].code == code)
			return names[i].name;
	}
	snprintf(other, sizeof(other), "errno-%d", code);
	return other;
}

int result_of(long rc)
{
	return rc < 0 ? errno : 0;
}

socklen_t address(struct sockaddr_storage *ss, int family, const char *text,
		  int port)
{
	struct sockaddr_in6 *in6 = (void *)ss;
	struct sockaddr_in *in = (void *)ss;
	char mapped[64];

	memset(ss, 0, sizeof(*ss));
	ss->ss_family = (sa_family_t)family;
	if (family == AF_INET) {
		in->sin_port = htons((uint16_t)port);
		inet_pton(AF_INET, text, &in->sin_addr);
		return sizeof(*in);
	}
	snprintf(mapped, sizeof(mapped), "%s%s",
		 strchr(text, ':') ? "" : "::ffff:", text);
	in6->sin6_port = htons((uint16_t)port);
	inet_pton(AF_INET6, mapped, &in6->sin6_addr);
	return sizeof(*in6);
}

int connect_to(int fd, const char *text, int port)
{
	struct sockaddr_storage ss;
	socklen_t len = address(&ss, AF_INET, text, port);

	return result_of(connect(fd, (void *)&ss, len));
}

static long call(const char *what, int fd, struct sockaddr_storage *ss,
		 socklen_t len)
{
	struct iovec iov = { .iov_base = "hello", .iov_len = 5 };
	struct mmsghdr m[2] = { 0 };

	m[0].msg_hdr.msg_name = ss;
	m[0].msg_hdr.msg_namelen = len;
	m[0].msg_hdr.msg_iov = &iov;
	m[0].msg_hdr.msg_iovlen = 1;
	m[1] = m[0];
	if (strcmp(what, "connect") == 0)
		return connect(fd, (void *)ss, len);
	if (strcmp(what, "sendto") == 0)
		return sendto(fd, "hello", 5, MSG_NOSIGNAL, (void *)ss, len);
	if (strcmp(what, "fastopen") == 0)
		return sendto(fd, "hello", 5, MSG_NOSIGNAL | MSG_FASTOPEN,
			      (void *)ss, len);
	if (strcmp(what, "sendmsg") == 0)
		return sendmsg(fd, &m[0].msg_hdr, MSG_NOSIGNAL);
	return sendmmsg(fd, m, 2, MSG_NOSIGNAL);
}

static void print_peer(int fd)
{
	struct sockaddr_storage ss = { 0 };
	socklen_t len = sizeof(ss);
	char text[64] = "";

	if (getpeername(fd, (void *)&ss, &len) < 0) {
		printf(" %s", name_of(errno));
		return;
	}
	if (ss.ss_family == AF_INET)
		inet_ntop(AF_INET, &((struct sockaddr_in *)&ss)->sin_addr, text,
			  sizeof(text));
	else
		inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&ss)->sin6_addr,
			  text, sizeof(text));
	printf(" %s", text);
}

int finish(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	socklen_t len = sizeof(int);
	int rc = 0;

	if (poll(&p, 1, WAIT_MS) != 1)
		return ETIMEDOUT;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &rc, &len) < 0)
		return errno;
	return rc;
}

static bool act(char *words)
{
	struct sockaddr_storage ss;
	char *w[6], *rest = words;
	int fd, family, kind, code;
	socklen_t len;
	long rc;

	for (int i = 0; i < 6; i++) {
		w[i] = i < 5 ? strsep(&rest, ":") : rest;
		if (!w[i])
			return false;
	}
	family = w[1][0] == '4' ? AF_INET : AF_INET6;
	kind = strcmp(w[3], "tcp") == 0 ? SOCK_STREAM : SOCK_DGRAM;
	fd = socket(family, kind | (w[2][0] == 'n' ? SOCK_NONBLOCK : 0), 0);
	len = address(&ss, family, w[4], atoi(w[5]));
	errno = KEPT;
	rc = call(w[0], fd, &ss, len);
	code = result_of(rc);
	printf("%s", name_of(code));
	if (code == 0 && errno != KEPT)
		printf(" errno!");
	if (code == EINPROGRESS)
		printf(" %s", name_of(finish(fd)));
	print_peer(fd);
	printf("\n");
	close(fd);
	return true;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 1; i < argc; i++) {
		if (!(strchr(argv[i], ':') ? act(argv[i]) : scene(argv[i]))) {
			printf("what is %s?\n", argv[i]);
			return 2;
		}
	}
	return 0;
}
