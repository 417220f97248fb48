/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match.c - names and what is below them, by whole labels
 *
 * A name is hashed from its end, so the state at each dot is the hash of the
 * suffix behind it: one pass gives them all. The table is open addressing
 * over distinct names, half full at most; entries of one name are chained.
 * The hash is seeded: an attacker who gets names onto a block list that
 * we load cannot choose them to collide.
 */
#include "ottergate/policy/net/match.h"

#include <string.h>

static uint64_t hash_byte(uint64_t h, char c)
{
	h = (h ^ (uint8_t)c) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ (h >> 29);
}

static uint32_t hash_end(uint64_t h)
{
	h *= UINT64_C(0xbf58476d1ce4e5b9);
	return (uint32_t)(h >> 32);
}

void match_key_init(struct match_key *k, const struct name *name, uint64_t seed)
{
	uint8_t n = 0, end;
	uint64_t h = seed;

	k->name = name;
	/* Suffixes come out from the shortest on; they are wanted the other
	 * way round. */
	for (unsigned i = name->len; i-- > 0;) {
		if (name->s[i] == '.' && n < MATCH_LABELS_MAX - 1) {
			k->offset[n] = (uint8_t)(i + 1);
			k->hash[n++] = hash_end(h);
		}
		h = hash_byte(h, name->s[i]);
	}
	k->offset[n] = 0;
	k->hash[n++] = hash_end(h);
	k->n = n;
	end = n - 1;
	for (uint8_t i = 0; i < end; i++, end--) {
		uint8_t offset = k->offset[i];
		uint32_t hash = k->hash[i];

		k->offset[i] = k->offset[end];
		k->hash[i] = k->hash[end];
		k->offset[end] = offset;
		k->hash[end] = hash;
	}
}

static int text_add(struct match *m, const struct name *name, uint32_t *ret)
{
	if (m->text_cap - m->text_len < name->len) {
		size_t cap = m->text_cap ? m->text_cap * 2 : 512;
		char *text = cap > UINT32_MAX ? NULL : realloc(m->text, cap);

		if (!text)
			return -ENOMEM;
		m->text = text;
		m->text_cap = cap;
	}
	memcpy(m->text + m->text_len, name->s, name->len);
	*ret = (uint32_t)m->text_len;
	m->text_len += name->len;
	return 0;
}

int match_add(struct match *m, const struct name *name, unsigned kind,
	      uint32_t rule)
{
	struct match_entry *e;
	uint32_t text;
	int rc;

	if (m->n == m->cap) {
		uint32_t cap = m->cap ? m->cap * 2 : 8;
		struct match_entry *v =
			cap > UINT32_MAX / 4 ?
				NULL :
				realloc(m->v, cap * sizeof(*m->v));

		if (!v)
			return -ENOMEM;
		m->v = v;
		m->cap = cap;
	}
	rc = text_add(m, name, &text);
	if (rc < 0)
		return rc;
	e = &m->v[m->n++];
	*e = (struct match_entry){
		.text = text,
		.rule = rule,
		.len = name->len,
		.kind = (uint8_t)kind,
	};
	return 0;
}

/* The slot of the name, or the free one where it would be. */
static uint32_t *slot_of(const struct match *m, uint32_t hash, const char *s,
			 size_t len)
{
	for (uint32_t i = hash & m->mask;; i = (i + 1) & m->mask) {
		uint32_t *slot = &m->slots[i];
		const struct match_entry *e = *slot ? &m->v[*slot - 1] : NULL;

		if (!e || (e->hash == hash && e->len == len &&
			   memcmp(m->text + e->text, s, len) == 0))
			return slot;
	}
}

/* Appends entry @i to the chain of its name. */
static int chain_add(struct match *m, uint32_t i)
{
	struct match_entry *e = &m->v[i];
	uint32_t *slot = slot_of(m, e->hash, m->text + e->text, e->len);

	for (unsigned n = 0; *slot; slot = &m->v[*slot - 1].next) {
		if (++n == MATCH_SAME_MAX)
			return -E2BIG;
	}
	*slot = i + 1;
	return 0;
}

int match_seal(struct match *m, uint64_t seed)
{
	uint32_t size = 4;

	while (size / 2 < m->n)
		size *= 2;
	m->slots = calloc(size, sizeof(*m->slots));
	if (!m->slots)
		return -ENOMEM;
	m->mask = size - 1;
	for (uint32_t i = 0; i < m->n; i++) {
		struct match_entry *e = &m->v[i];
		uint64_t h = seed;
		int rc;

		for (unsigned j = e->len; j-- > 0;)
			h = hash_byte(h, m->text[e->text + j]);
		e->hash = hash_end(h);
		rc = chain_add(m, i);
		if (rc < 0)
			return rc;
	}
	return 0;
}

void match_done(struct match *m)
{
	free(m->v);
	free(m->slots);
	free(m->text);
	*m = (struct match){ 0 };
}

static const struct match_entry *entry_from(const struct match *m,
					    uint32_t next, unsigned kinds)
{
	while (next) {
		const struct match_entry *e = &m->v[next - 1];

		if (e->kind & kinds)
			return e;
		next = e->next;
	}
	return NULL;
}

const struct match_entry *match_first(const struct match *m,
				      const struct match_key *k, unsigned i,
				      unsigned kinds)
{
	if (m->n == 0)
		return NULL;
	return entry_from(m,
			  *slot_of(m, k->hash[i], k->name->s + k->offset[i],
				   (size_t)(k->name->len - k->offset[i])),
			  kinds);
}

const struct match_entry *
match_next(const struct match *m, const struct match_entry *e, unsigned kinds)
{
	return entry_from(m, e->next, kinds);
}

void match_entry_name(const struct match *m, const struct match_entry *e,
		      struct name *ret)
{
	ret->len = e->len;
	memcpy(ret->s, m->text + e->text, e->len);
	ret->s[e->len] = '\0';
}
