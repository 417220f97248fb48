/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - maps addresses to sandboxes, and holds their counters
 *
 * An immutable snapshot: source address → agent. Each worker holds a reference
 * and takes the next table between two rounds of its loop. `struct agent`
 * outlives snapshots: its counters continue when its policy changes.
 */
#ifndef OTTERGATE_CONN_TABLE_H
#define OTTERGATE_CONN_TABLE_H

#include <stdatomic.h>

#include "ottergate/policy/limits.h"
#include "ottergate/policy/policy.h"

#define TABLE_AGENTS_MAX 16384u

struct leases;

struct agent { /* reference-counted; shared by all workers */
	atomic_uint refs;
	char *id;
	struct addr address;
	struct usage usage; /* atomics only: limits.h */
	_Atomic(struct leases *) leases; /* lease.h; NULL: none yet */
	/* When a program asked last (net-preload), plus 1; 0: never. */
	_Atomic uint64_t asked_ms;
	/* When an allowed host could not be reached last, plus 1; 0: never. */
	_Atomic uint64_t failed_ms;
	/* of workers' time, summed over all: share.h */
	_Atomic uint64_t cpu_ns;
};
/* Returns a new agent with one reference, the caller's; NULL when out of
 * memory. */
struct agent *agent_new(const char *id, const struct addr *address);
/* Adds a reference. Returns @a. */
struct agent *agent_ref(struct agent *a);
/* Drops a reference. NULL is fine. */
void agent_unref(struct agent *a);

struct secret_set;
struct leaf_ca;
struct table_entry {
	struct agent *agent;
	struct agent_policy *policy;
	struct secret_set *secrets; /* NULL: none given */
	struct leaf_ca *ca; /* NULL: none was asked for */
};
struct table; /* reference-counted */

/* Makes a table of copies of @v, taking references of its own. @generation is
 * for the audit. Returns 0, -EEXIST if two agents have one address or one id,
 * -E2BIG beyond TABLE_AGENTS_MAX, or -ENOMEM. */
int table_make(const struct table_entry *v, size_t n, uint64_t generation,
	       struct table **ret);
struct table *table_ref(struct table *t);
/* Drops a reference. NULL is fine. */
void table_unref(struct table *t);
uint64_t table_generation(const struct table *t);
size_t table_count(const struct table *t);
const struct table_entry *table_at(const struct table *t, size_t i);
/* Return the entry of an address or an id, owned by @t; NULL: none. */
const struct table_entry *table_find(const struct table *t,
				     const struct addr *source);
const struct table_entry *table_find_id(const struct table *t, const char *id);

#endif
