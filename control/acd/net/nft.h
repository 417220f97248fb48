/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nft.h - the packet filter of ac-host, through libnftables
 *
 * images/host/nftables.conf is the whole of it and says what it does; here it
 * is loaded, read back, opened, and told which port has which address. Each
 * call is one transaction of the kernel, and stands still for it.
 */
#ifndef CONTROL_ACD_NET_NFT_H
#define CONTROL_ACD_NET_NFT_H

#include <stdbool.h>

#include "lib/err.h"

#define NFT_RULES "/usr/share/ac/images/host/nftables.conf"

/* Loads the rules at @path, with the door shut and nobody pinned, and looks
 * whether the kernel has them. Any failure means that no sandbox may start. */
int nft_load(const char *path, struct err *err);
/* TCP and DNS of the sandboxes reach the gateway from now on. Again is fine. */
int nft_open(struct err *err);
/*
 * Does @json, what libnftables lists, have our tables exactly as they must
 * be, with the door open or shut as @open says? Other tables do not matter.
 * Pure. -ENOENT: @err names the first chain, set or timeout that differs.
 */
int nft_check(const char *json, bool open, struct err *err);

/* A port of the bridge and whose frames it may bring. @mac, @address: text. */
int nft_pin(const char *port, const char *mac, const char *address,
	    struct err *err);
/* -ENOENT: it was not pinned. */
int nft_unpin(const char *port, const char *mac, const char *address,
	      struct err *err);
/* Takes what a sandbox at @address began out of the table of connections, if
 * that holds so many that its next owner would miss them in its share. */
int nft_forget(const char *address, struct err *err);

#endif
