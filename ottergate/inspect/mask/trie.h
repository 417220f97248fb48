/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trie.h - finds any of many patterns in a stream of bytes
 *
 * The automaton of Aho and Corasick, 1975. A state is a node; its depth is how
 * many of the last bytes may begin a pattern. The nodes spell the patterns, so
 * they are in locked memory.
 */
#ifndef OTTERGATE_INSPECT_MASK_TRIE_H
#define OTTERGATE_INSPECT_MASK_TRIE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/attr.h"

struct trie_node {
	uint32_t child,
		sibling; /* first child, next one of the parent; 0: none */
	/* The state of the longest proper suffix that is one; 0: the root. */
	uint32_t fail;
	uint32_t depth; /* bytes from the root */
	/* Bytes of the longest pattern that ends here; 0: none. */
	uint32_t match;
	uint8_t byte; /* that leads here from the parent */
};

struct trie { /* immutable after trie_end() */
	struct trie_node *nodes; /* 0: the root; sodium_malloc */
	uint32_t n, cap; /* nodes used, and room */
	uint32_t first[256]; /* children of the root by their byte; 0: none */
	uint32_t depth_max; /* bytes of the longest pattern */
};

/* Initialises @t with room for @cap bytes of patterns. Returns 0 or -ENOMEM. In
 * either case trie_done() may be called. */
int trie_begin(struct trie *t, size_t cap) ATTR_WUR;
/* Adds a pattern; without room for all of it, adds nothing. */
void trie_add(struct trie *t, const uint8_t *p, size_t len);
/* Completes @t after the last pattern. Returns 0, or -ENOMEM: @t is only good
 * for trie_done() then. */
int trie_end(struct trie *t) ATTR_WUR;
void trie_done(struct trie *t); /* wipes and frees; zeroes are fine */

/* Returns the child of node @at for @byte, 0 for none. */
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

/* Returns the state after @byte in state @at; 0, the root, if no pattern begins
 * with the last bytes. nodes[state].match tells what ends there. */
static inline uint32_t trie_step(const struct trie *t, uint32_t at,
				 uint8_t byte)
{
	uint32_t next;

	while (!(next = trie_child(t, at, byte)) && at)
		at = t->nodes[at].fail;
	return next;
}

#endif
