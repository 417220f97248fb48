/* SPDX-License-Identifier: Apache-2.0 */
/*
 * veth.h - a sandbox's port of the bridge, pinned to its address
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
 * Finds the port of @bridge whose other end is in the network namespace @netns
 * (a path) and pins it: frames pass with this MAC and @address only, none goes
 * to another port, the bridge learns nothing from it, and a permanent neighbour
 * entry binds the address to the MAC. No frame passes before that, nor after a
 * failure. Sets *ret for veth_unpin(). Returns 0 or a negative errno with @err:
 * -ENODEV without such a port, -EEXIST if there are several.
 */
int veth_pin(const char *bridge, const char *netns, const char *mac,
	     const char *address, struct veth *ret, struct err *err);
/* The same for the port that @v names, with its addresses, as netns_veth() has
 * set them. */
int veth_pin_port(const char *bridge, const struct veth *v, struct err *err);
/* Undoes it, and removes the address's connections (nft_forget()). Does nothing
 * if it is not pinned: the address may be another sandbox's by now. The port
 * may be gone already; failures are only logged. */
void veth_unpin(const char *bridge, const struct veth *v);

/* Keeps a bridge of sandboxes from forwarding, answering ARP for others,
 * routing to loopback and using IPv6. Returns 0, or a negative errno with @err,
 * also if a setting has another value afterwards. */
int veth_bridge_harden(const char *bridge, struct err *err);

#endif
