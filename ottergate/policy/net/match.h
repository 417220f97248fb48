/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match.h - names and what is below them, by whole labels
 *
 * A set of canonical names, each with the rule that brought it. A lookup
 * costs one pass over the name and one probe a label, whatever the number of
 * entries; it allocates nothing. Never a substring: "evil-a.test" is not
 * below "a.test" (catalogue N5).
 */
#ifndef OTTERGATE_POLICY_MATCH_H
#define OTTERGATE_POLICY_MATCH_H

#include "ottergate/policy/name.h"

#define MATCH_EXACT 1u /* the name itself */
#define MATCH_BELOW 2u /* every name below it, not itself */
#define MATCH_SAME_MAX 256u /* entries of one name in a set */
#define MATCH_LABELS_MAX ((NAME_LEN_MAX + 1) / 2)

struct match_entry {
	uint32_t hash;
	uint32_t text; /* offset of the name */
	uint32_t rule;
	uint32_t next; /* entry with the same name, plus 1; 0: none */
	uint8_t len;
	uint8_t kind; /* MATCH_ bits */
};

struct match { /* zeroed: empty */
	struct match_entry *v; /* as they were added */
	uint32_t n, cap;
	uint32_t *slots; /* first entry of a name, plus 1; 0: free */
	uint32_t mask;
	char *text;
	size_t text_len, text_cap;
};

/* The hashes of a name and of all its suffixes: made once a request, good
 * for every set that was sealed with the same @seed. */
struct match_key {
	const struct name *name;
	uint8_t n; /* labels */
	uint8_t offset[MATCH_LABELS_MAX]; /* of the suffix; 0: the whole */
	uint32_t hash[MATCH_LABELS_MAX];
};
void match_key_init(struct match_key *k, const struct name *name,
		    uint64_t seed);

int match_add(struct match *m, const struct name *name, unsigned kind,
	      uint32_t rule) ATTR_WUR;
/* After the last match_add(). -E2BIG: a name is in more than MATCH_SAME_MAX
 * entries. */
int match_seal(struct match *m, uint64_t seed) ATTR_WUR;
void match_done(struct match *m); /* accepts zeroed */

/* What the @i-th suffix of a name must be for: the name itself, or what is
 * below. */
#define MATCH_AT(i) ((i) == 0 ? MATCH_EXACT : MATCH_BELOW)
/* The entries of the @i-th suffix that are for any of @kinds. NULL: none
 * (more). */
const struct match_entry *match_first(const struct match *m,
				      const struct match_key *k, unsigned i,
				      unsigned kinds);
const struct match_entry *
match_next(const struct match *m, const struct match_entry *e, unsigned kinds);
void match_entry_name(const struct match *m, const struct match_entry *e,
		      struct name *ret);

#endif
