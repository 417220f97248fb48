/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dest.h - tells which addresses the gateway decides on
 */
#ifndef NET_PRELOAD_DEST_H
#define NET_PRELOAD_DEST_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define DEST_TCP 6u
#define DEST_UDP 17u

struct dest {
	uint32_t address; /* IPv4, in the byte order of the machine */
	uint16_t port;
	uint16_t family; /* AF_INET, or AF_INET6 when it was mapped */
};

/*
 * Reads an address that a program passed to the kernel: IPv4, or IPv6 with IPv4
 * inside (::ffff:0:0/96). Returns false, with @ret unchanged, for what the
 * gateway is not asked about: another family, too short, loopback, 0.0.0.0/8,
 * multicast and broadcast (224.0.0.0/3, which leave no sandbox and have no
 * gateway to answer), port 0, and port 53, the gateway's own.
 */
bool dest_read(const struct sockaddr *sa, socklen_t len, struct dest *ret);

/* Returns true for an IPv6 address outside this machine, with a port; false for
 * :: and ::1, multicast, port 0, an address with IPv4 inside, and all else. */
bool dest_is_ipv6(const struct sockaddr *sa, socklen_t len);

#endif
