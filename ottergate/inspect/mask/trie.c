/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trie.c - finds any of many patterns in a stream of bytes
 */
#include "ottergate/inspect/mask/trie.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

int trie_begin(struct trie *t, size_t cap)
{
	*t = (struct trie){ .cap = (uint32_t)cap + 1, .n = 1 };
	t->nodes = sodium_allocarray(t->cap, sizeof(*t->nodes));
	if (!t->nodes)
		return -ENOMEM;
	t->nodes[0] = (struct trie_node){ 0 };
	return 0;
}

static uint32_t child_make(struct trie *t, uint32_t at, uint8_t byte)
{
	struct trie_node *n = &t->nodes[t->n];

	*n = (struct trie_node){ .byte = byte,
				 .depth = t->nodes[at].depth + 1 };
	if (at == 0)
		t->first[byte] = t->n;
	n->sibling = t->nodes[at].child;
	t->nodes[at].child = t->n;
	return t->n++;
}

void trie_add(struct trie *t, const uint8_t *p, size_t len)
{
	uint32_t at = 0;

	if (len == 0 || len > t->cap - t->n)
		return;
	for (size_t i = 0; i < len; i++) {
		uint32_t next = trie_child(t, at, p[i]);

		at = next ? next : child_make(t, at, p[i]);
	}
	t->nodes[at].match = (uint32_t)len;
	if (len > t->depth_max)
		t->depth_max = (uint32_t)len;
}

/* Links breadth first, so links of smaller depths exist. @queue has room for
 * all nodes. */
static void link_all(struct trie *t, uint32_t *queue)
{
	size_t head = 0, tail = 0;

	queue[tail++] = 0;
	while (head < tail) {
		uint32_t at = queue[head++];

		for (uint32_t c = t->nodes[at].child; c;
		     c = t->nodes[c].sibling) {
			struct trie_node *n = &t->nodes[c];
			uint32_t f = t->nodes[at].fail, to = 0;

			if (at != 0) {
				while (f && !trie_child(t, f, n->byte))
					f = t->nodes[f].fail;
				to = trie_child(t, f, n->byte);
			}
			n->fail = to;
			if (!n->match)
				n->match = t->nodes[to].match;
			queue[tail++] = c;
		}
	}
}

/* Frees the nodes that shared prefixes have left unused. */
static int nodes_fit(struct trie *t)
{
	struct trie_node *v = sodium_allocarray(t->n, sizeof(*v));

	if (!v)
		return -ENOMEM;
	memcpy(v, t->nodes, t->n * sizeof(*v));
	sodium_free(t->nodes);
	t->nodes = v;
	t->cap = t->n;
	return 0;
}

int trie_end(struct trie *t)
{
	uint32_t *queue = calloc(t->n, sizeof(*queue));

	if (!queue)
		return -ENOMEM;
	link_all(t, queue);
	free(queue);
	return nodes_fit(t);
}

void trie_done(struct trie *t)
{
	sodium_free(t->nodes);
	t->nodes = NULL;
}
