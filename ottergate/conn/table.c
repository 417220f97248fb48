/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.c - maps addresses to sandboxes, and holds their counters
 */
#include "ottergate/conn/table.h"

#include <errno.h>
#include <string.h>

#include "lib/attr.h"
#include "ottergate/inspect/leaf.h"
#include "ottergate/dns/lease.h"
#include "ottergate/inspect/mask/secrets.h"

struct table {
	atomic_uint refs;
	uint64_t generation;
	size_t n;
	uint32_t mask;
	uint16_t *by_address, *by_id; /* index plus 1; 0: free */
	struct table_entry v[];
};

struct agent *agent_new(const char *id, const struct addr *address)
{
	struct agent *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	atomic_init(&a->refs, 1);
	a->address = *address;
	a->id = strdup(id);
	if (!a->id || usage_init(&a->usage) < 0) {
		free(a->id);
		free(a);
		return NULL;
	}
	return a;
}

struct agent *agent_ref(struct agent *a)
{
	atomic_fetch_add_explicit(&a->refs, 1, memory_order_relaxed);
	return a;
}

void agent_unref(struct agent *a)
{
	if (!a ||
	    atomic_fetch_sub_explicit(&a->refs, 1, memory_order_acq_rel) != 1)
		return;
	usage_done(&a->usage);
	leases_free(atomic_load_explicit(&a->leases, memory_order_relaxed));
	free(a->id);
	free(a);
}

/* FNV-1a without a key: acd chooses ids and addresses, not the sandboxes, and
 * the table is at most half full. */
static uint32_t hash_of(const void *p, size_t len)
{
	const uint8_t *b = p;
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ b[i]) * 16777619u;
	return h ^ h >> 15;
}

static uint32_t hash_addr(const struct addr *a)
{
	return hash_of(a->b, a->family == 4 ? 4 : 16);
}

static uint16_t *slot_address(const struct table *t, const struct addr *a)
{
	for (uint32_t i = hash_addr(a) & t->mask;; i = (i + 1) & t->mask) {
		uint16_t *slot = &t->by_address[i];

		if (!*slot || addr_eq(&t->v[*slot - 1].agent->address, a))
			return slot;
	}
}

static uint16_t *slot_id(const struct table *t, const char *id)
{
	for (uint32_t i = hash_of(id, strlen(id)) & t->mask;;
	     i = (i + 1) & t->mask) {
		uint16_t *slot = &t->by_id[i];

		if (!*slot || strcmp(t->v[*slot - 1].agent->id, id) == 0)
			return slot;
	}
}

static int table_add(struct table *t, const struct table_entry *e)
{
	uint16_t *address = slot_address(t, &e->agent->address);
	uint16_t *id = slot_id(t, e->agent->id);

	if (*address || *id)
		return -EEXIST;
	t->v[t->n] = (struct table_entry){
		.agent = agent_ref(e->agent),
		.policy = agent_policy_ref(e->policy),
		.secrets = secret_set_ref(e->secrets),
		.ca = leaf_ca_ref(e->ca),
	};
	*address = *id = (uint16_t)++t->n;
	return 0;
}

int table_make(const struct table_entry *v, size_t n, uint64_t generation,
	       struct table **ret)
{
	struct table *t;
	uint32_t size = 4;
	int rc = 0;

	if (n > TABLE_AGENTS_MAX)
		return -E2BIG;
	while (size / 2 < n)
		size *= 2;
	t = calloc(1, sizeof(*t) + n * sizeof(*v));
	if (!t)
		return -ENOMEM;
	atomic_init(&t->refs, 1);
	t->generation = generation;
	t->mask = size - 1;
	t->by_address = calloc(size, sizeof(*t->by_address));
	t->by_id = calloc(size, sizeof(*t->by_id));
	if (!t->by_address || !t->by_id)
		rc = -ENOMEM;
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = table_add(t, &v[i]);
	if (rc < 0) {
		table_unref(t);
		return rc;
	}
	*ret = t;
	return 0;
}

struct table *table_ref(struct table *t)
{
	atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
	return t;
}

void table_unref(struct table *t)
{
	if (!t ||
	    atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (size_t i = 0; i < t->n; i++) {
		agent_unref(t->v[i].agent);
		agent_policy_unref(t->v[i].policy);
		secret_set_unref(t->v[i].secrets);
		leaf_ca_unref(t->v[i].ca);
	}
	free(t->by_address);
	free(t->by_id);
	free(t);
}

uint64_t table_generation(const struct table *t)
{
	return t->generation;
}

size_t table_count(const struct table *t)
{
	return t->n;
}

const struct table_entry *table_at(const struct table *t, size_t i)
{
	return &t->v[i];
}

const struct table_entry *table_find(const struct table *t,
				     const struct addr *source)
{
	uint16_t slot = *slot_address(t, source);

	return slot ? &t->v[slot - 1] : NULL;
}

const struct table_entry *table_find_id(const struct table *t, const char *id)
{
	uint16_t slot = *slot_id(t, id);

	return slot ? &t->v[slot - 1] : NULL;
}
