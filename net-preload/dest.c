/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dest.c - tells which addresses the gateway decides on
 */
#include "net-preload/dest.h"

#include <stddef.h>
#include <string.h>

#define PORT_DNS 53u

static uint32_t get_u32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

static bool is_mapped(const uint8_t *a)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(a, prefix, sizeof(prefix)) == 0;
}

/* Reads as much of an address as the kernel does; it may be unaligned.
 * sockaddr_in6 was once shorter by its last member (RFC 2133). */
static bool read_in6(const struct sockaddr *sa, socklen_t len,
		     struct sockaddr_in6 *ret)
{
	if (!sa || len < offsetof(struct sockaddr_in6, sin6_scope_id))
		return false;
	memcpy(ret, sa, offsetof(struct sockaddr_in6, sin6_scope_id));
	return ret->sin6_family == AF_INET6;
}

static bool get(const struct sockaddr *sa, socklen_t len, struct dest *ret)
{
	struct sockaddr_in6 in6;
	struct sockaddr_in in;

	if (!sa || len < sizeof(in))
		return false;
	memcpy(&in, sa, sizeof(in));
	if (in.sin_family == AF_INET) {
		*ret = (struct dest){ ntohl(in.sin_addr.s_addr),
				      ntohs(in.sin_port), AF_INET };
		return true;
	}
	if (!read_in6(sa, len, &in6) || !is_mapped(in6.sin6_addr.s6_addr))
		return false;
	*ret = (struct dest){ get_u32(in6.sin6_addr.s6_addr + 12),
			      ntohs(in6.sin6_port), AF_INET6 };
	return true;
}

bool dest_read(const struct sockaddr *sa, socklen_t len, struct dest *ret)
{
	struct dest d;

	if (!get(sa, len, &d))
		return false;
	if (d.port == 0 || d.port == PORT_DNS || d.address >> 24 == 127 ||
	    d.address >> 24 == 0 || d.address >> 29 == 7)
		return false;
	*ret = d;
	return true;
}

bool dest_is_ipv6(const struct sockaddr *sa, socklen_t len)
{
	static const uint8_t local[15] = { 0 }; /* :: and ::1 */
	struct sockaddr_in6 in6;
	const uint8_t *a = in6.sin6_addr.s6_addr;

	return read_in6(sa, len, &in6) && in6.sin6_port != 0 && a[0] != 0xff &&
	       !(memcmp(a, local, sizeof(local)) == 0 && a[15] <= 1) &&
	       !is_mapped(a);
}
