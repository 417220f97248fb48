/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netns.h - a network namespace in which the documentation's addresses
 * are this process's own
 *
 * 198.51.100.0/24 and 2001:db8::1 are on its loopback; nothing else can be
 * reached.
 */
#ifndef TESTS_UNIT_OTTERGATE_NETNS_H
#define TESTS_UNIT_OTTERGATE_NETNS_H

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/attr.h"

struct netns_in6_ifreq { /* the kernel's in6_ifreq; linux/ipv6.h clashes */
	struct in6_addr addr;
	uint32_t prefix;
	int index;
};

static inline int netns_address(int fd, const char *name, const char *ip,
				const char *mask)
{
	struct ifreq r = { 0 };
	struct sockaddr_in a = { .sin_family = AF_INET };

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", name);
	inet_pton(AF_INET, ip, &a.sin_addr);
	memcpy(&r.ifr_addr, &a, sizeof(a));
	if (ioctl(fd, SIOCSIFADDR, &r) < 0)
		return -errno;
	inet_pton(AF_INET, mask, &a.sin_addr);
	memcpy(&r.ifr_netmask, &a, sizeof(a));
	return ioctl(fd, SIOCSIFNETMASK, &r) < 0 ? -errno : 0;
}

/* The kernel makes a new IPv6 address usable when it has the time. */
static inline bool netns_usable(int fd6, const struct in6_addr *addr)
{
	struct sockaddr_in6 a = { .sin6_family = AF_INET6, .sin6_addr = *addr };

	for (unsigned i = 0; i < 100; i++) {
		if (bind(fd6, (struct sockaddr *)&a, sizeof(a)) == 0)
			return true;
		usleep(10000);
	}
	return false;
}

/* Before any thread is started. 0, or why it is not permitted. *ret_v6: IPv6
 * is there as well. */
static inline int netns_enter(bool *ret_v6)
{
	struct ifreq r = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	struct netns_in6_ifreq six = { .prefix = 128, .index = 1 };
	int e;

	if (unshare(CLONE_NEWNET) < 0 &&
	    unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		return -errno;
	SCOPED_FD fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	SCOPED_FD fd6 = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &r) < 0)
		return -errno;
	e = netns_address(fd, "lo:1", "198.51.100.1", "255.255.255.0");
	inet_pton(AF_INET6, "2001:db8::1", &six.addr);
	*ret_v6 = fd6 >= 0 && ioctl(fd6, SIOCSIFADDR, &six) == 0 &&
		  netns_usable(fd6, &six.addr);
	return e;
}

#endif
