/* SPDX-License-Identifier: Apache-2.0 */
/*
 * builtin_nets.h - addresses that no policy can allow
 *
 * One table for the gateway, which decides by it (policy/net/addr.c), and for
 * acd, which tells a user at once which rules would have no effect. Most
 * metadata services (K6) lie in link-local and private ranges; they come first,
 * because a `services:` entry may open a private address but never one of them.
 *
 * The IPv4 documentation ranges (RFC 5737) are missing on purpose: package
 * mirrors may use them.
 */
#ifndef OTTERGATE_BUILTIN_NETS_H
#define OTTERGATE_BUILTIN_NETS_H

/* The first match counts. R4(a, b, c, d, bits, class, what) and R6(bits, class,
 * what, bytes...), with the bits of the prefix, the rest of ADDR_*, and a text
 * for people. Missing bytes are 0. */
#define BUILTIN_NETS(R4, R6)                                                   \
	R4(169, 254, 169, 0, 24, METADATA, "cloud metadata, AWS DNS")          \
	R4(169, 254, 170, 0, 24, METADATA, "AWS ECS and EKS")                  \
	R4(169, 254, 42, 42, 32, METADATA, "Scaleway metadata")                \
	R4(169, 254, 0, 23, 32, METADATA, "Tencent metadata")                  \
	R4(100, 100, 100, 200, 32, METADATA, "Alibaba metadata")               \
	R4(192, 0, 0, 192, 32, METADATA, "Oracle metadata")                    \
	R4(168, 63, 129, 16, 32, METADATA, "Azure WireServer")                 \
	R6(32, METADATA, "AWS metadata", 0xfd, 0x00, 0x0e, 0xc2)               \
	R6(64, METADATA, "Google metadata", 0xfd, 0x20, 0x00, 0xce)            \
	R6(128, METADATA, "Scaleway metadata", 0xfd, 0x00, 0x00,               \
	   0x42, [15] = 0x42)                                                  \
	R6(64, METADATA, "Akamai metadata", 0xfd, 0x00, 0xa9, 0xfe, 0xa9,      \
	   0xfe)                                                               \
	R6(128, METADATA, "OpenStack metadata", 0xfe, 0x80, [12] = 0xa9, 0xfe, \
	   0xa9, 0xfe)                                                         \
	R4(172, 20, 0, 0, 16, SELF, "gateway and sandboxes")                   \
	R4(198, 18, 0, 0, 15, SELF, "synthetic addresses")                     \
	R4(0, 0, 0, 0, 8, UNSPECIFIED, "RFC 1122, this network")               \
	R4(10, 0, 0, 0, 8, PRIVATE, "RFC 1918")                                \
	R4(100, 64, 0, 0, 10, CGNAT, "RFC 6598")                               \
	R4(127, 0, 0, 0, 8, LOOPBACK, "RFC 1122")                              \
	R4(169, 254, 0, 0, 16, LINK_LOCAL, "RFC 3927")                         \
	R4(172, 16, 0, 0, 12, PRIVATE, "RFC 1918")                             \
	R4(192, 0, 0, 0, 24, UNSPECIFIED, "RFC 6890, protocols")               \
	R4(192, 88, 99, 0, 24, UNSPECIFIED, "RFC 7526, 6to4 relay")            \
	R4(192, 168, 0, 0, 16, PRIVATE, "RFC 1918")                            \
	R4(224, 0, 0, 0, 4, MULTICAST, "RFC 5771")                             \
	R4(240, 0, 0, 0, 4, UNSPECIFIED, "RFC 1112, broadcast")                \
	R6(128, UNSPECIFIED, "RFC 4291, no address", 0)                        \
	R6(128, LOOPBACK, "RFC 4291", [15] = 1)                                \
	R6(96, EMBEDDED, "RFC 4291, v4-compatible", 0)                         \
	R6(96, EMBEDDED, "RFC 4291, v4-mapped", [10] = 0xff, 0xff)             \
	R6(96, EMBEDDED, "RFC 2765, SIIT", [8] = 0xff, 0xff)                   \
	R6(96, EMBEDDED, "RFC 6052, NAT64", 0x00, 0x64, 0xff, 0x9b)            \
	R6(48, EMBEDDED, "RFC 8215, NAT64", 0x00, 0x64, 0xff, 0x9b, 0x00,      \
	   0x01)                                                               \
	R6(16, EMBEDDED, "RFC 3056, 6to4", 0x20, 0x02)                         \
	R6(32, EMBEDDED, "RFC 4380, Teredo", 0x20, 0x01)                       \
	R6(23, UNSPECIFIED, "RFC 2928, protocols", 0x20, 0x01)                 \
	R6(32, UNSPECIFIED, "RFC 3849, documentation", 0x20, 0x01, 0x0d, 0xb8) \
	R6(20, UNSPECIFIED, "RFC 9637, documentation", 0x3f, 0xff)             \
	R6(7, PRIVATE, "RFC 4193", 0xfc)                                       \
	R6(10, LINK_LOCAL, "RFC 4291", 0xfe, 0x80)                             \
	R6(10, PRIVATE, "RFC 3879, site-local", 0xfe, 0xc0)                    \
	R6(8, MULTICAST, "RFC 4291", 0xff)                                     \
	R6(3, UNSPECIFIED, "RFC 4291, not global unicast", 0)                  \
	R6(2, UNSPECIFIED, "RFC 4291, not global unicast", 0x40)               \
	R6(1, UNSPECIFIED, "RFC 4291, not global unicast", 0x80)

#endif
