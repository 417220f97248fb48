/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - which sandbox an address is, and what it has used
 *
 * An immutable snapshot: source address → agent. Workers hold one reference
 * each and take the next between two rounds of their loop. `struct agent`
 * outlives snapshots: its counters go on when its policy changes.
 */
#ifndef OTTERGATE_CONN_TABLE_H
#define OTTERGATE_CONN_TABLE_H

#include <stdatomic.h>

#include "ottergate/policy/limits.h"
#include "ottergate/policy/policy.h"

#define TABLE_AGENTS_MAX 16384u

struct leases;

struct agent { /* counted; shared by all workers */
	atomic_uint refs;
	char *id;
	struct addr address;
	struct usage usage; /* atomics only: limits.h */
	_Atomic(struct leases *) leases; /* lease.h; NULL: none yet */
	/* When a program asked last (net-preload), plus 1; 0: none did. */
	_Atomic uint64_t asked_ms;
	/* When something allowed could not be reached last, plus 1; 0: never. */
	_Atomic uint64_t failed_ms;
	_Atomic uint64_t cpu_ns; /* of workers' time, all of them: share.h */
};
struct agent *agent_new(const char *id, const struct addr *address);
struct agent *agent_ref(struct agent *a);
void agent_unref(struct agent *a); /* NULL is fine */

struct secret_set;
struct leaf_ca;
struct table_entry {
	struct agent *agent;
	struct agent_policy *policy;
	struct secret_set *secrets; /* NULL: none were given */
	struct leaf_ca *ca; /* NULL: nobody has asked for one */
};
struct table; /* counted */

/* Takes no references but its own. @generation is for the audit. -EEXIST: two
 * agents with one address or one id. */
int table_make(const struct table_entry *v, size_t n, uint64_t generation,
	       struct table **ret);
struct table *table_ref(struct table *t);
void table_unref(struct table *t); /* NULL is fine */
uint64_t table_generation(const struct table *t);
size_t table_count(const struct table *t);
const struct table_entry *table_at(const struct table *t, size_t i);
/* NULL: no sandbox has this address. */
const struct table_entry *table_find(const struct table *t,
				     const struct addr *source);
const struct table_entry *table_find_id(const struct table *t, const char *id);

#endif
