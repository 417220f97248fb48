/* SPDX-License-Identifier: Apache-2.0 */
/*
 * original.h - where a connection wanted to go, as the test says
 *
 * What the kernel says of the original destination is faked: getsockopt() of
 * the test program takes the place of the C library's. A test program includes
 * it once.
 */
#ifndef TESTS_UNIT_OTTERGATE_CONN_ORIGINAL_H
#define TESTS_UNIT_OTTERGATE_CONN_ORIGINAL_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/netfilter_ipv4.h>

static struct {
	_Atomic uint32_t v4;
	_Atomic uint16_t port;
} original;

/* The C library's header has names that are reserved for it. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int getsockopt(int fd, int level, int name, void *restrict value,
	       socklen_t *restrict len)
{
	struct sockaddr_in sa = {
		.sin_family = AF_INET,
		.sin_port = htons(atomic_load(&original.port)),
		.sin_addr = { htonl(atomic_load(&original.v4)) },
	};

	if (level != SOL_IP || name != SO_ORIGINAL_DST)
		return (int)syscall(SYS_getsockopt, fd, level, name, value,
				    len);
	memcpy(value, &sa, sizeof(sa));
	return 0;
}

/* Of the connections from now on. */
static inline void original_set(uint32_t v4, uint16_t port)
{
	atomic_store(&original.v4, v4);
	atomic_store(&original.port, port);
}

#endif
