/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trie.h - finds any of many patterns in bytes that stream by
 *
 * Aho and Corasick, 1975: a state is a node, its depth is how many of the last
 * bytes may be the beginning of a pattern. The nodes are the patterns in another
 * shape, so they are locked memory.
 */
#ifndef OTTERGATE_INSPECT_MASK_TRIE_H
#define OTTERGATE_INSPECT_MASK_TRIE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/attr.h"

struct trie_node {
	uint32_t child, sibling; /* 0: none */
	uint32_t fail; /* the longest proper suffix that is a state */
	uint32_t depth;
	uint32_t
		match; /* bytes of the longest pattern that ends here, 0: none */
	uint8_t byte;
};

struct trie { /* immutable after trie_end() */
	struct trie_node *nodes; /* 0: the root; sodium_malloc */
	uint32_t n, cap;
	uint32_t first[256]; /* children of the root */
	uint32_t depth_max;
};

/* Room for @cap bytes of patterns. -ENOMEM. */
int trie_begin(struct trie *t, size_t cap) ATTR_WUR;
/* Without room for all of it, none is added. */
void trie_add(struct trie *t, const uint8_t *p, size_t len);
/* The last has been added. -ENOMEM. */
int trie_end(struct trie *t) ATTR_WUR;
void trie_done(struct trie *t); /* accepts zeroed */

static inline uint32_t trie_child(const struct trie *t, uint32_t at,
				  uint8_t byte)
{
	uint32_t i;

	if (at == 0)
		return t->first[byte];
	for (i = t->nodes[at].child; i && t->nodes[i].byte != byte;)
		i = t->nodes[i].sibling;
	return i;
}

static inline uint32_t trie_step(const struct trie *t, uint32_t at,
				 uint8_t byte)
{
	uint32_t next;

	while (!(next = trie_child(t, at, byte)) && at)
		at = t->nodes[at].fail;
	return next;
}

#endif
