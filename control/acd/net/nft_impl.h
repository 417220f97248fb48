/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nft_impl.h - shared by the nft*.c files
 */
#ifndef CONTROL_ACD_NET_NFT_IMPL_H
#define CONTROL_ACD_NET_NFT_IMPL_H

#include "control/acd/net/nft.h"

/* Returns this process's netfilter socket, which is opened by the first call
 * and stays open, so it must not be closed by the caller; or a negative
 * errno. */
int nft_sock(void);
/* Closes it. To be called after a failure, since a late answer would be taken
 * for that of the next call. */
void nft_sock_drop(void);

#endif
