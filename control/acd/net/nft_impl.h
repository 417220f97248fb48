/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nft_impl.h - what the parts of nft.h share
 */
#ifndef CONTROL_ACD_NET_NFT_IMPL_H
#define CONTROL_ACD_NET_NFT_IMPL_H

#include "control/acd/net/nft.h"

/* The socket to netfilter, which stays open (nft_pin.c says why). */
int nft_sock(void);
/* After a failure: answers to come would be taken for those of the next. */
void nft_sock_drop(void);

#endif
