/* SPDX-License-Identifier: Apache-2.0 */
/*
 * veth.h - a sandbox's port of the bridge, bound to its one address
 */
#ifndef CONTROL_ACD_NET_VETH_H
#define CONTROL_ACD_NET_VETH_H

#include <net/if.h>

#include "lib/err.h"

#define VETH_MAC_TEXT 18u /* "02:42:ac:14:01:00" and NUL */

struct veth {
	char port[IF_NAMESIZE]; /* in ac-host */
	char mac[VETH_MAC_TEXT]; /* of the sandbox's end */
	char address[16]; /* IPv4, dotted */
};

/*
 * Finds the port of the bridge @bridge whose other end is in the network
 * namespace @netns (a path), and pins it: frames of this MAC and @address
 * only, cut off from the other ports, nothing learned from it, and the
 * address is at this MAC whatever anybody answers. Before that no frame of it
 * gets anywhere. A failure leaves it so.
 */
int veth_pin(const char *bridge, const char *netns, const char *mac,
	     const char *address, struct veth *ret, struct err *err);
/* The same for a port that is known, with the addresses of @v in the spelling
 * that the kernel and this file use. */
int veth_pin_port(const char *bridge, const struct veth *v, struct err *err);
/* The sandbox is gone, mostly with its port. */
void veth_unpin(const char *bridge, const struct veth *v);

/* What a bridge of sandboxes must not do: forward, answer for others, route
 * to loopback, speak IPv6. Set and read back. */
int veth_bridge_harden(const char *bridge, struct err *err);

#endif
