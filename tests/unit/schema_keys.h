/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema_keys.h - every key of a schema, as a path such as "agents[].limits.dns"
 *
 * "[]" stands for the items of a list, ".*" for the values of a map with names
 * as keys. A map that stands in several places is walked once.
 */
#ifndef TESTS_UNIT_SCHEMA_KEYS_H
#define TESTS_UNIT_SCHEMA_KEYS_H

#include <stdio.h>

#include "lib/schema.h"

#define SCHEMA_MAPS_MAX 64u

struct schema_walk {
	void (*fn)(const char *path); /* called with each key */
	const void *seen[SCHEMA_MAPS_MAX];
	size_t n_seen;
};

static void walk_schema(struct schema_walk *w, const char *path,
			const struct schema *s);

static bool walk_is_new(struct schema_walk *w, const struct schema *s)
{
	for (size_t i = 0; i < w->n_seen; i++) {
		if (w->seen[i] == s->rows)
			return false;
	}
	if (w->n_seen < SCHEMA_MAPS_MAX)
		w->seen[w->n_seen++] = s->rows;
	return true;
}

static void walk_map(struct schema_walk *w, const char *path,
		     const struct schema *s)
{
	const struct schema_key *k;
	char below[256];

	if (!walk_is_new(w, s))
		return;
	for (size_t i = 0; (k = schema_row(s, i)); i++) {
		snprintf(below, sizeof(below), "%s%s%s", path, *path ? "." : "",
			 k->key);
		w->fn(below);
		if (k->is)
			walk_schema(w, below, k->is);
	}
}

static void walk_schema(struct schema_walk *w, const char *path,
			const struct schema *s)
{
	char below[256];

	snprintf(below, sizeof(below), "%s%s", path,
		 s->kind == SCHEMA_LIST ? "[]" : ".*");
	if (s->kind == SCHEMA_MAP)
		walk_map(w, path, s);
	else if (s->kind == SCHEMA_LIST || s->kind == SCHEMA_NAMED)
		walk_schema(w, below, s->item);
	else if (s->kind == SCHEMA_EITHER)
		for (size_t i = 0; s->either[i]; i++)
			walk_schema(w, path, s->either[i]);
}

#endif
