/* SPDX-License-Identifier: Apache-2.0 */
/*
 * addr.h - addresses, ranges, and what no policy can allow
 *
 * Decisions are made on bytes, never on text: embedded IPv4 (v4-mapped,
 * NAT64, 6to4, Teredo, ISATAP) is taken out and judged as IPv4 too. Pure.
 */
#ifndef OTTERGATE_POLICY_ADDR_H
#define OTTERGATE_POLICY_ADDR_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "lib/slice.h"

struct addr {
	uint8_t family; /* 4 or 6, 0: none */
	uint8_t b[16]; /* network order; 4 or 16 bytes used */
};

struct cidr {
	struct addr base;
	uint8_t bits;
};

#define ADDR_TEXT_MAX 46u /* INET6_ADDRSTRLEN */
#define DNS_PORT 53u /* RFC 1035 §4.2 */

/* The built-in classes, immutable; everything but ADDR_PUBLIC is denied
 * unless a `services:` entry names exactly this address and port, and
 * ADDR_METADATA, ADDR_SELF and ADDR_LOOPBACK even then. */
enum addr_class {
	ADDR_PUBLIC,
	ADDR_METADATA, /* K6: cloud metadata services of any spelling */
	ADDR_LOOPBACK,
	ADDR_LINK_LOCAL,
	ADDR_PRIVATE, /* RFC 1918, fc00::/7 */
	ADDR_CGNAT, /* 100.64.0.0/10 */
	ADDR_MULTICAST,
	ADDR_UNSPECIFIED, /* 0.0.0.0/8, ::, 240.0.0.0/4, broadcast */
	ADDR_EMBEDDED, /* IPv6 that carries a denied IPv4, or a translation
			* prefix at all */
	ADDR_SELF, /* 172.20.0.0/16, 198.18.0.0/15: the gateway, sandboxes;
		    * ac-host's own addresses: own.h */
	ADDR_CLASSES,
};

/* Dotted quad without leading zeros, or RFC 4291 text without zone. Strict:
 * inet_pton() on a bounded copy. -EBADMSG. */
int addr_parse(struct slice in, struct addr *ret) ATTR_WUR;
struct addr addr_v4(uint32_t host_order);
/* Of AF_INET or AF_INET6, else family 0. */
struct addr addr_of(const struct sockaddr *sa);
/* Returns the length of the sockaddr, 0 for family 0. */
socklen_t addr_sockaddr(const struct addr *a, uint16_t port,
			struct sockaddr_storage *ret);
bool addr_eq(const struct addr *a, const struct addr *b);
char *addr_text(const struct addr *a, char out[ADDR_TEXT_MAX]);

enum addr_class addr_classify(const struct addr *a);
const char *addr_class_name(enum addr_class c); /* "private" */

/* "10.0.0.0/8", "10.1.2.3"; host bits must be zero. -EBADMSG. */
int cidr_parse(struct slice in, struct cidr *ret) ATTR_WUR;
/* v4-mapped and other embedded IPv4 of @a is tried against IPv4 ranges. */
bool cidr_has(const struct cidr *c, const struct addr *a);

/* The table behind addr_classify() for `show builtin`: calls @fn for each
 * range. */
void addr_builtin_each(void (*fn)(void *arg, const struct cidr *c,
				  enum addr_class cls, const char *what),
		       void *arg);

#endif
