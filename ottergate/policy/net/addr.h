/* SPDX-License-Identifier: Apache-2.0 */
/*
 * addr.h - addresses, ranges, and what no policy can allow
 *
 * Decisions are made on bytes, never on text: IPv4 that an IPv6 address carries
 * (v4-mapped, NAT64, 6to4, Teredo, ISATAP) is extracted and judged as IPv4 too.
 * No side effects, no allocation.
 */
#ifndef OTTERGATE_POLICY_NET_ADDR_H
#define OTTERGATE_POLICY_NET_ADDR_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "lib/slice.h"

struct addr {
	uint8_t family; /* 4 or 6, 0: none */
	uint8_t b[16]; /* network order; 4 or 16 bytes used */
};

struct cidr {
	struct addr base; /* its bits after the prefix are zero */
	uint8_t bits; /* length of the prefix */
};

#define ADDR_TEXT_MAX 46u /* INET6_ADDRSTRLEN */
#define DNS_PORT 53u /* RFC 1035 §4.2 */

/* The built-in classes, which no policy changes. Everything but ADDR_PUBLIC is
 * denied, except for ADDR_PRIVATE and ADDR_CGNAT if a `services:` entry names
 * exactly this address and port. */
enum addr_class {
	ADDR_PUBLIC,
	ADDR_METADATA, /* cloud metadata services, also carried in IPv6 (K6) */
	ADDR_LOOPBACK,
	ADDR_LINK_LOCAL,
	ADDR_PRIVATE, /* RFC 1918, fc00::/7 */
	ADDR_CGNAT, /* 100.64.0.0/10 */
	ADDR_MULTICAST,
	ADDR_UNSPECIFIED, /* 0.0.0.0/8, ::, 240.0.0.0/4, broadcast */
	/* IPv6 that carries IPv4, whatever it is. But what carries
	 * ADDR_METADATA, ADDR_SELF or ADDR_LOOPBACK is of that class. */
	ADDR_EMBEDDED,
	/* 172.20.0.0/16, 198.18.0.0/15: the gateway and sandboxes. For the
	 * machine's own addresses see agent_policy_addr_class(). */
	ADDR_SELF,
	ADDR_CLASSES, /* how many there are */
};

/* Reads a dotted quad without leading zeros, or an address as in RFC 4291
 * without a zone: what inet_pton() accepts. Returns 0 or -EBADMSG; *@ret is
 * unchanged then. */
int addr_parse(struct slice in, struct addr *ret) ATTR_WUR;
/* Returns the IPv4 address of this number. */
struct addr addr_v4(uint32_t host_order);
/* Returns the address of an AF_INET or AF_INET6 socket address; family 0 for
 * others. */
struct addr addr_of(const struct sockaddr *sa);
/* Fills *@ret and returns its length; 0, with *@ret unchanged, for family 0. */
socklen_t addr_sockaddr(const struct addr *a, uint16_t port,
			struct sockaddr_storage *ret);
/* Returns true for the same address of the same family: an IPv4 address is not
 * equal to its v4-mapped form. */
bool addr_eq(const struct addr *a, const struct addr *b);
/* Writes the address as text, "" for family 0. Returns @out. */
char *addr_text(const struct addr *a, char out[ADDR_TEXT_MAX]);

/* Returns the class of @a; ADDR_UNSPECIFIED for family 0. */
enum addr_class addr_classify(const struct addr *a);
/* Returns the word for the class, such as "private", static; "unknown" for a
 * number that is none. */
const char *addr_class_name(enum addr_class c);

/* Reads "10.0.0.0/8" or a single address such as "10.1.2.3". Returns 0, or
 * -EBADMSG, also if a bit after the prefix is set; *@ret is unchanged then. */
int cidr_parse(struct slice in, struct cidr *ret) ATTR_WUR;
/* Returns true if @a, or an IPv4 address that it carries, is in the range. */
bool cidr_has(const struct cidr *c, const struct addr *a);

/* Calls @fn for each range of the table of addr_classify(), in its order, for
 * `show builtin`. The arguments are static. */
void addr_builtin_each(void (*fn)(void *arg, const struct cidr *c,
				  enum addr_class cls, const char *what),
		       void *arg);

#endif
