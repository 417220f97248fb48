/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_share.h - what one sandbox can take of the kernel's table of
 * connections
 *
 * The packet filter holds it (images/host/nftables.conf, checked by
 * control/acd/net/nft.c); a limit of a policy beyond it is never reached.
 */
#ifndef LIB_KERNEL_SHARE_H
#define LIB_KERNEL_SHARE_H

/* Plain numbers: they become text as well. */
#define KERNEL_SHARE_CONNS 4096 /* at one time, senders of DNS with them */
#define KERNEL_SHARE_NEW 500 /* connections a second */
#define KERNEL_SHARE_BURST 1000 /* so many of these at once */
#define KERNEL_SHARE_DNS_NEW 1000 /* ports that ask DNS first, a second */
#define KERNEL_SHARE_DNS_BURST 4000 /* so many of these at once */
#define KERNEL_SHARE_KEPT 5 /* seconds that one is kept which has ended */

#endif
