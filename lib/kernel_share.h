/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_share.h - one sandbox's share of the kernel's connection table
 *
 * The packet filter enforces it (images/host/nftables.conf, which
 * control/acd/net/nft.c compares with these numbers). A higher limit in a
 * policy has no effect.
 */
#ifndef LIB_KERNEL_SHARE_H
#define LIB_KERNEL_SHARE_H

/* Plain numbers, because they are also pasted into text. */
#define KERNEL_SHARE_CONNS 4096 /* at one time, DNS senders included */
#define KERNEL_SHARE_NEW 500 /* new connections a second */
#define KERNEL_SHARE_BURST 1000 /* burst above that rate */
#define KERNEL_SHARE_DNS_NEW 1000 /* new source ports of DNS queries a second */
#define KERNEL_SHARE_DNS_BURST 4000 /* burst above that rate */
/* seconds that an ended connection stays in the table */
#define KERNEL_SHARE_KEPT 5

#endif
