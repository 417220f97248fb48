/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nft.h - the packet filter of ac-host, through libnftables
 *
 * images/host/nftables.conf has all rules and explains them. Here it is loaded,
 * checked, opened, and told which port has which address. Each change is one
 * transaction of the kernel, of which all or nothing is done. Calls block.
 */
#ifndef CONTROL_ACD_NET_NFT_H
#define CONTROL_ACD_NET_NFT_H

#include <stdbool.h>

#include "lib/err.h"

#define NFT_RULES "/usr/share/ac/images/host/nftables.conf"

/* Loads the rules at @path and checks that the kernel has them. The door, the
 * rules that let sandboxes reach the gateway, is shut then, and no port is
 * pinned. Returns 0 or a negative errno with @err; after a failure no sandbox
 * may start. */
int nft_load(const char *path, struct err *err);
/* Opens the door, so that TCP and DNS of sandboxes reach the gateway, and
 * checks the rules again. May be repeated. Returns 0 or a negative errno with
 * @err. */
int nft_open(struct err *err);
/*
 * Checks that @json, a listing of libnftables, has the chains, sets and
 * timeouts of our tables exactly as they must be, with the door open or shut as
 * @open says, and no other chain in them. Ignores other tables. Has no side
 * effects. Returns 0, or -ENOENT with the first that differs in @err.
 */
int nft_check(const char *json, bool open, struct err *err);

/* Pins: allows frames with @mac and @address (text) from the bridge's port
 * @port. May be repeated. Returns 0, -EINVAL for malformed texts, or another
 * negative errno, with @err. */
int nft_pin(const char *port, const char *mac, const char *address,
	    struct err *err);
/* Revokes that. Fails like nft_pin(), and with -ENOENT if it was not pinned. */
int nft_unpin(const char *port, const char *mac, const char *address,
	      struct err *err);
/* Removes the connections of @address from the kernel's table of connections;
 * does nothing while the table has few, as they would take nothing from the
 * next owner of the address. Returns 0 or a negative errno with @err. */
int nft_forget(const char *address, struct err *err);

#endif
