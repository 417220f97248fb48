/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decide.c - decides whether a hooked call is passed to the kernel
 *
 * The cache is consulted first, then the kernel, then the gateway. Everything
 * but a first connection, or a message, that the gateway denies is passed to
 * the kernel. So a second connect(2) on a socket returns 0, EISCONN or EALREADY
 * as without us, and the gateway is not asked.
 */
#include "net-preload/decide.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>

#include "net-preload/ask.h"
#include "net-preload/cache.h"
#include "net-preload/sys.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

/* gVisor only: TCP_CLOSE before the first connect(2), and before it but after
 * bind(2). Linux never shows programs these numbers (12 is that of a request
 * socket). */
#define GVISOR_INITIAL 12
#define GVISOR_BOUND 13

unsigned decide_protocol(int fd)
{
	switch (sys_option(fd, SOL_SOCKET, SO_PROTOCOL)) {
	case IPPROTO_TCP:
	case IPPROTO_MPTCP:
		return DEST_TCP;
	case IPPROTO_UDP:
		return DEST_UDP;
	default:
		return 0;
	}
}

/*
 * Returns true if the kernel keeps an error for the next call, which it then
 * reports itself. The error of a connection abandoned by AF_UNSPEC looks the
 * same and is never reported: such a socket's next connection is left to the
 * network.
 */
static bool has_error(int fd)
{
	struct pollfd p = { .fd = fd, .events = 0 };
	struct timespec at_once = { 0 };

	return syscall(SYS_ppoll, &p, 1, &at_once, NULL, 0) < 0 ||
	       (p.revents & (POLLERR | POLLNVAL));
}

/* Returns true if @fd never connected, is not connecting and not listening. */
static bool is_closed(int fd)
{
	uint8_t state = 0; /* the first member of struct tcp_info */
	uint32_t len = sizeof(state);

	if (syscall(SYS_getsockopt, fd, IPPROTO_TCP, TCP_INFO, &state, &len) <
		    0 ||
	    len != sizeof(state))
		return false;
	return (state == TCP_CLOSE || state == GVISOR_INITIAL ||
		state == GVISOR_BOUND) &&
	       !has_error(fd);
}

/* Returns true if the kernel would begin the call. */
static bool is_fit(int fd, const struct dest *d, unsigned protocol)
{
	int domain = sys_option(fd, SOL_SOCKET, SO_DOMAIN);
	int type = sys_option(fd, SOL_SOCKET, SO_TYPE);

	/* An unmapped IPv4 address on an IPv6 socket: UDP accepts it, TCP does
	 * not. */
	if (domain != d->family && (domain != AF_INET6 || protocol == DEST_TCP))
		return false;
	if (domain == AF_INET6 &&
	    sys_option(fd, IPPROTO_IPV6, IPV6_V6ONLY) != 0)
		return false;
	if (protocol == DEST_UDP)
		return type == SOCK_DGRAM;
	return type == SOCK_STREAM && is_closed(fd);
}

/* Returns what is known of the destination, without asking. */
static enum cache_verdict known(const struct dest *d, unsigned protocol,
				uint64_t ms)
{
	return cache_get(cache_key(d->address, d->port, protocol == DEST_UDP),
			 (uint32_t)(ms / 1000));
}

/* Returns true if it is allowed or questions are suspended. */
static bool is_clear(const struct dest *d, unsigned protocol, uint64_t ms)
{
	enum cache_verdict v = known(d, protocol, ms);

	return v == CACHE_GO ||
	       (v == CACHE_NONE && !ask_is_open(d, (uint32_t)(ms / 1000)));
}

static int decide(int fd, const struct dest *d, unsigned protocol, uint64_t ms)
{
	enum cache_verdict v = known(d, protocol, ms);

	if (is_clear(d, protocol, ms))
		return 0;
	if (!is_fit(fd, d, protocol))
		return 0;
	if (v == CACHE_NONE)
		v = ask(d, protocol);
	if (v != CACHE_DENY)
		return 0;
	return protocol == DEST_UDP ? EHOSTUNREACH : ECONNREFUSED;
}

/*
 * connect(2) of UDP sends nothing; a resolver calls it for each address that it
 * found, only to learn its own source address (RFC 6724, rule 8 and on; c-ares,
 * gRPC). So it is left to the kernel.
 *
 * The protocol is looked up only if TCP is not clear, because a system call is
 * expensive in gVisor.
 */
int decide_connect(int fd, const struct dest *d)
{
	uint64_t ms = sys_clock_ms();
	int saved = errno, rc = 0;

	if (is_clear(d, DEST_TCP, ms))
		return 0;
	if (decide_protocol(fd) == DEST_TCP)
		rc = decide(fd, d, DEST_TCP, ms);
	errno = saved;
	return rc;
}

int decide_send(int fd, const struct dest *d, int flags)
{
	uint64_t ms = sys_clock_ms();
	int saved = errno, rc = 0;
	unsigned protocol;

	if (!(flags & MSG_FASTOPEN) && is_clear(d, DEST_UDP, ms))
		return 0;
	protocol = decide_protocol(fd);
	if (protocol == DEST_UDP ||
	    (protocol == DEST_TCP && (flags & MSG_FASTOPEN)))
		rc = decide(fd, d, protocol, ms);
	errno = saved;
	return rc;
}
