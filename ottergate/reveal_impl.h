/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reveal_impl.h - what reveal.c and reveal_value.c share
 */
#ifndef OTTERGATE_REVEAL_IMPL_H
#define OTTERGATE_REVEAL_IMPL_H

#include "ottergate/reveal.h"
#include "ottergate/trie.h"

enum { BLANK = 64, OTHER = 65 }; /* no digits of Base64 */

#define INTERESTING 0x80u

struct reveal {
	struct trie words; /* the secret */
	struct trie digits; /* values of its digits */
	uint8_t class[256]; /* a digit's value, BLANK, OTHER; INTERESTING */
	bool plain; /* the secret is made of what tokens are made of */
	uint32_t run_min;
	size_t hold_max;
};

#endif
