/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay.c - one connection to a port of the sandbox, on stdin and stdout
 *
 * Theory of operation: `init-guard --connect PORT` is an ordinary program of the
 * agent, started by PID 1 (run/channel.c) when a connection to a published port
 * comes. It has the agent's ids, limits and filter, and connects only within the
 * sandbox. The agent can do to it what it can do to its own processes, so acd
 * takes its output for the agent's.
 *
 * The output has no end of its own on the guest link before the program's. So
 * the end of the server's direction is told on stderr, with the number of bytes
 * before it: the two streams have no common order.
 *
 * A server that reads no more may still send: bytes for it are then read and
 * dropped. CLOSE of the channel hangs this program up, which ends it.
 */
#include "init-guard/connect/relay.h"

#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/file.h"
#include "lib/sock.h"
#include "lib/str.h"

#define WAY_SIZE (64u * 1024)

/* One direction. */
struct way {
	int from, to;
	size_t at, len; /* of the bytes in mem that are not written yet */
	uint64_t passed; /* bytes that were written */
	bool eof; /* no more will come */
	bool deaf; /* what comes is dropped */
	uint8_t mem[WAY_SIZE];
};

union place {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* ---- the connection ---- */

/* A connection to a free port of the range for clients may meet itself. */
static bool is_own(int fd)
{
	union place a = { 0 }, b = { 0 };
	socklen_t len_a = sizeof(a), len_b = sizeof(b);

	return getsockname(fd, &a.any, &len_a) == 0 &&
	       getpeername(fd, &b.any, &len_b) == 0 && len_a == len_b &&
	       memcmp(&a, &b, len_a) == 0;
}

static int place_connect(const struct sockaddr *to, socklen_t len)
{
	SCOPED_FD fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1;

	/* Within the sandbox, which answers at once. */
	if (fd < 0 || connect(fd, to, len) < 0)
		return -errno;
	if (is_own(fd))
		return -ECONNREFUSED;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd_take(&fd);
}

/* Tries the addresses of the sandbox that are not its loopback. */
static int own_connect(uint16_t port)
{
	struct ifaddrs *all = NULL;
	int fd = -ECONNREFUSED;

	if (getifaddrs(&all) < 0)
		return -errno;
	for (const struct ifaddrs *i = all; i && fd < 0; i = i->ifa_next) {
		struct sockaddr_in in;

		if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET ||
		    (i->ifa_flags & IFF_LOOPBACK))
			continue;
		memcpy(&in, i->ifa_addr, sizeof(in));
		in.sin_port = htons(port);
		fd = place_connect((const struct sockaddr *)&in, sizeof(in));
	}
	freeifaddrs(all);
	return fd;
}

static int port_connect(uint16_t port)
{
	const union place loopback = {
		.in = { .sin_family = AF_INET,
			.sin_port = htons(port),
			.sin_addr.s_addr = htonl(INADDR_LOOPBACK) },
	};
	const union place loopback6 = {
		.in6 = { .sin6_family = AF_INET6,
			 .sin6_port = htons(port),
			 .sin6_addr = IN6ADDR_LOOPBACK_INIT },
	};
	int fd = place_connect(&loopback.any, sizeof(loopback.in));

	if (fd < 0)
		fd = place_connect(&loopback6.any, sizeof(loopback6.in6));
	return fd < 0 ? own_connect(port) : fd;
}

/* ---- its bytes ---- */

static bool is_over(const struct way *w)
{
	return w->eof && w->len == 0;
}

static bool is_later(void)
{
	return errno == EAGAIN || errno == EINTR;
}

static int way_write(struct way *w)
{
	while (w->len > 0 && !w->deaf) {
		ssize_t n = write(w->to, w->mem + w->at, w->len);

		if (n < 0)
			return is_later() ? 0 : -errno;
		w->at += (size_t)n;
		w->len -= (size_t)n;
		w->passed += (uint64_t)n;
	}
	if (w->deaf)
		w->len = 0;
	return 0;
}

/* Moves what can be moved now. Returns 0, or -errno of the read or write. */
static int way_move(struct way *w)
{
	int rc = way_write(w);
	ssize_t n;

	if (rc < 0 || w->len > 0 || w->eof)
		return rc;
	n = read(w->from, w->mem, sizeof(w->mem));
	if (n < 0)
		return is_later() ? 0 : -errno;
	w->eof = n == 0;
	w->at = 0;
	w->len = (size_t)n;
	return way_write(w);
}

/* The descriptor that it waits for, in the form of poll(). */
static struct pollfd way_wait(const struct way *w)
{
	struct pollfd p = { .fd = -1 };

	if (w->len > 0)
		p = (struct pollfd){ .fd = w->to, .events = POLLOUT };
	else if (!w->eof)
		p = (struct pollfd){ .fd = w->from, .events = POLLIN };
	return p;
}

static int end_tell(const struct way *down)
{
	uint8_t count[8];

	for (unsigned i = 0; i < sizeof(count); i++)
		count[i] = (uint8_t)(down->passed >> (56 - 8 * i));
	return fd_write_all(STDERR_FILENO, count, sizeof(count));
}

static int relay(struct way *up, struct way *down)
{
	bool up_told = false, down_told = false, reset = false;

	for (;;) {
		struct pollfd p[2];
		int rc = way_move(up);

		if (rc < 0)
			up->deaf = true; /* the server reads no more */
		/* Linux tells a reset once: the next read sees an end. */
		reset |= rc == -ECONNRESET;
		if (way_move(down) < 0)
			return 1;
		if (is_over(up) && !up_told)
			(void)shutdown(up->to, SHUT_WR);
		up_told = is_over(up);
		if (is_over(down) && !down_told &&
		    (reset || end_tell(down) < 0))
			return 1;
		down_told = is_over(down);
		if (up_told && down_told)
			return 0;
		p[0] = way_wait(up);
		p[1] = way_wait(down);
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return 1;
	}
}

int relay_run(const char *port)
{
	static struct way up, down; /* large */
	uint64_t number = 0;
	int fd;

	if (str_parse_u64(port, 1, UINT16_MAX, &number) < 0)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	fd = port_connect((uint16_t)number);
	if (fd < 0)
		return 1;
	up.from = STDIN_FILENO;
	up.to = down.from = fd;
	down.to = STDOUT_FILENO;
	if (fd_nonblock(fd, 1) < 0 || fd_nonblock(STDIN_FILENO, 1) < 0 ||
	    fd_nonblock(STDOUT_FILENO, 1) < 0)
		return 1;
	return relay(&up, &down);
}
