/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match_test.c - whole labels only (N5), against a matcher too simple
 * to be wrong, and at a million names
 */
#include "ottergate/policy/net/match.h"

#include <stdint.h>

#include "lib/loop.h"
#include "tests/unit/tap.h"

#define SEED UINT64_C(0x1234567890abcdef)
#define MANY 1000000u

static uint32_t random_state = 1;

static uint32_t random_below(uint32_t n)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 8) % n;
}

/* Of few short labels, so that many names share suffixes and beginnings. */
static struct name random_name(void)
{
	static const char *const labels[] = { "a", "aa", "b", "ab", "com" };
	struct name n = { 0 };
	uint32_t count = 1 + random_below(5);

	for (uint32_t i = 0; i < count; i++) {
		const char *label = labels[random_below(ARRAY_SIZE(labels))];

		n.len = (uint8_t)(n.len + snprintf(n.s + n.len,
						   sizeof(n.s) - n.len, "%s%s",
						   i ? "." : "", label));
	}
	return n;
}

struct entry {
	struct name name;
	unsigned kind;
};

static bool naive(const struct entry *e, const struct name *name)
{
	size_t len = name->len, want = e->name.len;

	if (len == want)
		return (e->kind & MATCH_EXACT) &&
		       strcmp(name->s, e->name.s) == 0;
	return (e->kind & MATCH_BELOW) && len > want + 1 &&
	       name->s[len - want - 1] == '.' &&
	       strcmp(name->s + len - want, e->name.s) == 0;
}

/* Every rule whose entry has the name, as a set of bits. */
static uint64_t found_by(const struct match *m, const struct name *name)
{
	struct match_key key;
	uint64_t found = 0;

	match_key_init(&key, name, SEED);
	for (unsigned i = 0; i < key.n; i++) {
		const struct match_entry *e =
			match_first(m, &key, i, MATCH_AT(i));

		for (; e; e = match_next(m, e, MATCH_AT(i)))
			found |= UINT64_C(1) << e->rule;
	}
	return found;
}

static void test_property(void)
{
	unsigned wrong = 0, hits = 0;

	for (unsigned round = 0; round < 200; round++) {
		struct entry v[48];
		struct match m = { 0 };
		unsigned n = random_below(ARRAY_SIZE(v) + 1);

		for (unsigned i = 0; i < n; i++) {
			v[i] = (struct entry){
				.name = random_name(),
				.kind = 1 + random_below(3),
			};
			wrong += match_add(&m, &v[i].name, v[i].kind, i) < 0;
		}
		wrong += match_seal(&m, SEED) < 0;
		for (unsigned i = 0; i < 100; i++) {
			struct name name = random_name();
			uint64_t want = 0;

			for (unsigned j = 0; j < n; j++)
				want |= (uint64_t)naive(&v[j], &name) << j;
			wrong += found_by(&m, &name) != want;
			hits += want != 0;
		}
		match_done(&m);
	}
	is_int(wrong, 0, "N5 as the naive matcher, 20000 names, %u hits", hits);
}

static void test_key(void)
{
	struct name name = { 0 };
	struct match_key key;

	name.len = 7;
	memcpy(name.s, "a.bc.de", 8);
	match_key_init(&key, &name, SEED);
	is_int(key.n, 3, "labels");
	ok(key.offset[0] == 0 && key.offset[1] == 2 && key.offset[2] == 5,
	   "suffixes, the longest first");
	for (unsigned i = 0; i < NAME_LEN_MAX; i++)
		name.s[i] = i % 2 ? '.' : 'a';
	name.len = NAME_LEN_MAX;
	match_key_init(&key, &name, SEED);
	is_int(key.n, 127, "the most labels there can be");
	is_int(key.offset[126], 252, "and the last");
}

static void test_same(void)
{
	struct name name = { .len = 1, .s = "a" };
	struct match m = { 0 };
	int rc = 0;

	for (unsigned i = 0; i < MATCH_SAME_MAX && rc == 0; i++)
		rc = match_add(&m, &name, MATCH_EXACT, i);
	is_int(rc, 0, "one name often");
	is_int(match_seal(&m, SEED), 0, "as often as allowed");
	match_done(&m);
	for (unsigned i = 0; i <= MATCH_SAME_MAX; i++)
		rc = match_add(&m, &name, MATCH_EXACT, i);
	is_int(rc, 0, "once more");
	is_int(match_seal(&m, SEED), -E2BIG, "too often");
	match_done(&m);
	ok(found_by(&m, &name) == 0, "an empty set has nothing");
}

static struct name numbered(uint32_t i)
{
	struct name n = { 0 };

	n.len = (uint8_t)snprintf(n.s, sizeof(n.s), "h%u.d%u.test", i,
				  i % 1000);
	return n;
}

/* What a lookup costs must not depend on the number of names. */
static void test_many(void)
{
	struct match m = { 0 };
	uint64_t begin, ns;
	unsigned wrong = 0;

	for (uint32_t i = 0; i < MANY; i++) {
		struct name n = numbered(i);

		wrong += match_add(&m, &n, MATCH_EXACT | MATCH_BELOW, 0) < 0;
	}
	wrong += match_seal(&m, SEED) < 0;
	begin = clock_ns();
	for (uint32_t i = 0; i < 100000; i++) {
		struct name yes = numbered(i * 9), no = numbered(MANY + i);

		wrong += found_by(&m, &yes) != 1;
		wrong += found_by(&m, &no) != 0;
	}
	ns = (clock_ns() - begin) / 200000;
	is_int(wrong, 0, "a million names");
	printf("# %llu ns a lookup, with the making of the name\n",
	       (unsigned long long)ns);
	ok(ns < 20000, "found at once");
	match_done(&m);
}

int main(void)
{
	test_key();
	test_property();
	test_same();
	test_many();
	return done_testing();
}
