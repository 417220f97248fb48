/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dest.h - is this an address that the gateway has a say in?
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
 * Reads an address as a program gave it to the kernel: IPv4, or IPv6 with
 * IPv4 inside (::ffff:0:0/96). False, and @ret untouched, when nobody is to
 * be asked: another family, too short, loopback, 0.0.0.0/8, multicast and
 * broadcast (224.0.0.0/3: they leave no sandbox, and nobody answers there),
 * port 0, and port 53, which is the gateway's.
 */
bool dest_read(const struct sockaddr *sa, socklen_t len, struct dest *ret);

/* An IPv6 address outside of this machine, with no IPv4 inside. */
bool dest_is_ipv6(const struct sockaddr *sa, socklen_t len);

#endif
