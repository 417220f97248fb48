/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match_fuzz.c - any set and any name: found if and only if the labels
 * say so (N5)
 *
 * Input: lines. The last is the name that is sought, the others are patterns.
 */
#include <string.h>

#include "ottergate/policy/policy_impl.h"

#define PATTERNS_MAX 64u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct pattern {
	struct name name;
	unsigned kind;
};

static void must(bool cond)
{
	if (!cond)
		abort();
}

/* On a label boundary, as text. */
static bool below(const struct name *name, const struct name *zone)
{
	size_t above;

	if (name->len <= zone->len)
		return false;
	above = (size_t)name->len - zone->len;
	return strcmp(name->s + above, zone->s) == 0 &&
	       name->s[above - 1] == '.';
}

static bool naive(const struct pattern *p, const struct name *name)
{
	if (strcmp(name->s, p->name.s) == 0)
		return p->kind & MATCH_EXACT;
	return (p->kind & MATCH_BELOW) && below(name, &p->name);
}

static void seek(const struct match *m, const struct pattern *v, uint32_t n,
		 const struct name *name, uint64_t seed)
{
	bool found[PATTERNS_MAX] = { false };
	struct match_key key;

	match_key_init(&key, name, seed);
	must(key.n > 0 && key.n <= MATCH_LABELS_MAX && key.offset[0] == 0);
	for (unsigned i = 0; i < key.n; i++) {
		const struct match_entry *e =
			match_first(m, &key, i, MATCH_AT(i));

		must(i == 0 || key.offset[i] > key.offset[i - 1]);
		for (; e; e = match_next(m, e, MATCH_AT(i))) {
			must(e->rule < n && !found[e->rule]);
			found[e->rule] = true;
		}
	}
	for (uint32_t i = 0; i < n; i++)
		must(found[i] == naive(&v[i], name));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct pattern v[PATTERNS_MAX];
	struct match m = { 0 };
	struct name name = { 0 };
	uint64_t seed = size;
	uint32_t n = 0;
	char line[300];

	while (size > 0 && n < PATTERNS_MAX) {
		const uint8_t *end = memchr(data, '\n', size);
		size_t len = end ? (size_t)(end - data) : size;

		if (len < sizeof(line)) {
			memcpy(line, data, len);
			line[len] = '\0';
			if (name_canon(slice_str(line), &name) < 0)
				name.len = name.s[0] = 0;
			if (name_pattern_parse(line, &v[n].name, &v[n].kind) ==
			    0) {
				must(match_add(&m, &v[n].name, v[n].kind, n) ==
				     0);
				n++;
			}
		}
		len += end != NULL;
		data += len;
		size -= len;
	}
	must(match_seal(&m, seed) == 0);
	if (name.len)
		seek(&m, v, n, &name, seed);
	match_done(&m);
	return 0;
}
