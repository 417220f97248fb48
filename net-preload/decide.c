/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decide.c - does this call go to the kernel?
 *
 * The cache first, then the kernel, then the gateway. Whatever is not plainly
 * a first connection, or a message, that the gateway denies goes to the
 * kernel. So a second connect(2) on a socket gives 0, EISCONN or EALREADY as
 * it does without us, and asks nobody.
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

/* Of gVisor alone: TCP_CLOSE before the first connect(2) and bind(2). Linux
 * shows no program states of these numbers (12 is a request's). */
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

/* An error that the kernel keeps for the next call is the kernel's to tell.
 * That of a connection given up by AF_UNSPEC looks the same, and is told to
 * nobody: such a socket's next connection is left to the network. */
static bool has_error(int fd)
{
	struct pollfd p = { .fd = fd, .events = 0 };
	struct timespec at_once = { 0 };

	return syscall(SYS_ppoll, &p, 1, &at_once, NULL, 0) < 0 ||
	       (p.revents & (POLLERR | POLLNVAL));
}

/* Never connected, not connecting, not listening. */
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

/* Would the kernel begin to do what it is asked for? */
static bool is_fit(int fd, const struct dest *d, unsigned protocol)
{
	int domain = sys_option(fd, SOL_SOCKET, SO_DOMAIN);
	int type = sys_option(fd, SOL_SOCKET, SO_TYPE);

	/* IPv4 on a socket of IPv6, not mapped: UDP takes it, TCP does not. */
	if (domain != d->family && (domain != AF_INET6 || protocol == DEST_TCP))
		return false;
	if (domain == AF_INET6 &&
	    sys_option(fd, IPPROTO_IPV6, IPV6_V6ONLY) != 0)
		return false;
	if (protocol == DEST_UDP)
		return type == SOCK_DGRAM;
	return type == SOCK_STREAM && is_closed(fd);
}

/* What is known of the destination; nothing is asked. */
static enum cache_verdict known(const struct dest *d, unsigned protocol,
				uint64_t ms)
{
	return cache_get(cache_key(d->address, d->port, protocol == DEST_UDP),
			 (uint32_t)(ms / 1000));
}

/* Allowed, or there is nobody to ask. */
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
 * A connect(2) of UDP sends nothing, and a resolver makes one to each address
 * that it found, only to learn which address of its own leads there (RFC 6724,
 * rule 8 and on; c-ares, gRPC): it is the kernel's alone.
 *
 * Whether it is one, the kernel is asked for only where TCP is not clear: a
 * system call is dear in gVisor.
 */
int decide_connect(int fd, const struct dest *d)
{
	uint64_t ms = sys_clock_ms();
	int saved = errno, code = 0;

	if (is_clear(d, DEST_TCP, ms))
		return 0;
	if (decide_protocol(fd) == DEST_TCP)
		code = decide(fd, d, DEST_TCP, ms);
	errno = saved;
	return code;
}

int decide_send(int fd, const struct dest *d, int flags)
{
	uint64_t ms = sys_clock_ms();
	int saved = errno, code = 0;
	unsigned protocol;

	if (!(flags & MSG_FASTOPEN) && is_clear(d, DEST_UDP, ms))
		return 0;
	protocol = decide_protocol(fd);
	if (protocol == DEST_UDP ||
	    (protocol == DEST_TCP && (flags & MSG_FASTOPEN)))
		code = decide(fd, d, protocol, ms);
	errno = saved;
	return code;
}
