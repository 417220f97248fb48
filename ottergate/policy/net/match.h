/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match.h - names and what is below them, by whole labels
 *
 * A set of canonical names, each with a number of the caller's, mostly that of
 * a rule. A lookup costs one pass over the name and one probe a label, whatever
 * the number of entries; it allocates nothing. Substrings never match:
 * "evil-a.test" is not below "a.test" (catalogue N5).
 *
 * Use: match_add() for each name, match_seal() once, then lookups alone.
 */
#ifndef OTTERGATE_POLICY_NET_MATCH_H
#define OTTERGATE_POLICY_NET_MATCH_H

#include "ottergate/policy/net/name.h"

#define MATCH_EXACT 1u /* the name itself */
#define MATCH_BELOW 2u /* every name below it, not itself */
#define MATCH_SAME_MAX 256u /* entries of one name in a set */
#define MATCH_LABELS_MAX ((NAME_LEN_MAX + 1) / 2)

struct match_entry {
	uint32_t hash;
	uint32_t text; /* offset of the name in text of the set */
	uint32_t rule; /* the caller's number */
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

/* The hashes of a name and of all its suffixes: made once a request, and valid
 * for every set that was sealed with the same seed. */
struct match_key {
	const struct name *name; /* borrowed */
	uint8_t n; /* labels, and so suffixes */
	/* Where the suffix begins in the name. The 0th is the whole name, each
	 * further one has a label less. */
	uint8_t offset[MATCH_LABELS_MAX];
	uint32_t hash[MATCH_LABELS_MAX];
};
/* Fills @k, which borrows @name. */
void match_key_init(struct match_key *k, const struct name *name,
		    uint64_t seed);

/* Appends a copy of @name with its MATCH_ bits. The same name may be added
 * again. Returns 0 or -ENOMEM. */
int match_add(struct match *m, const struct name *name, unsigned kind,
	      uint32_t rule) ATTR_WUR;
/* Makes the set ready for lookups, after the last match_add(); called once.
 * Returns 0, -ENOMEM, or -E2BIG if a name has more than MATCH_SAME_MAX entries;
 * after a failure @m is only good for match_done(). */
int match_seal(struct match *m, uint64_t seed) ATTR_WUR;
/* Frees the set and zeroes it. Accepts zeroed sets. */
void match_done(struct match *m);

/* The kind of entries that fit a name by its @i-th suffix: those for the name
 * itself if the suffix is the whole name, else those for what is below. */
#define MATCH_AT(i) ((i) == 0 ? MATCH_EXACT : MATCH_BELOW)
/* Return the first entry for the @i-th suffix of the key's name that has one of
 * the bits @kinds, and the next such entry after @e; NULL if there is none.
 * They belong to @m, which is sealed or empty. */
const struct match_entry *match_first(const struct match *m,
				      const struct match_key *k, unsigned i,
				      unsigned kinds);
const struct match_entry *
match_next(const struct match *m, const struct match_entry *e, unsigned kinds);
/* Sets *@ret to the name of @e. */
void match_entry_name(const struct match *m, const struct match_entry *e,
		      struct name *ret);

#endif
