/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy.c - the life of policies, and what they say besides decisions
 *
 * A policy holds the agents that its own files define, and an agent's policy
 * holds the policy it was compiled against. So that no cycle keeps both
 * alive, the agents within a policy have no count of their own: a reference
 * to one is a reference to the policy.
 */
#include "ottergate/policy/policy.h"

#include <sodium.h>
#include <string.h>

#include "ottergate/policy/audit_event.h"
#include "ottergate/policy/policy_impl.h"
#include "ottergate/policy/net/synthetic.h"

static const uint16_t default_ports[] = { 443, 443 };

static const struct policy_defaults policy_defaults = {
	.mode = POLICY_ENFORCE,
	.ports = default_ports,
	.n_ports = 1,
	.tls = { .min_version = 0x0303, .hello_max = 16 * 1024 },
	.timeouts = {
		.connect = 10 * 1000,
		.idle = 10 * 60 * 1000,
		.tunnel_max = 12 * 3600 * 1000,
		.request_header = 10 * 1000,
		.hello = 5 * 1000,
	},
	.dns_ttl = 60,
};

int rule_set_add(struct rule_set *s, struct rule_entry *e)
{
	if (s->n == s->cap) {
		uint32_t cap = s->cap ? s->cap * 2 : 4;
		struct rule_entry **v =
			cap > POLICY_RULES_MAX * 2 ?
				NULL :
				realloc(s->rules,
					cap * sizeof(struct rule_entry *));

		if (!v)
			return -ENOMEM;
		s->rules = v;
		s->cap = cap;
	}
	s->rules[s->n++] = e;
	return 0;
}

int rule_set_add_ip(struct rule_set *s, const struct cidr *c, uint32_t rule)
{
	if (s->n_ips == POLICY_IPS_MAX)
		return -E2BIG;
	if (s->n_ips == s->cap_ips) {
		uint32_t cap = s->cap_ips ? s->cap_ips * 2 : 8;
		struct rule_ip *v = realloc(s->ips, cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		s->ips = v;
		s->cap_ips = cap;
	}
	s->ips[s->n_ips++] = (struct rule_ip){ .cidr = *c, .rule = rule };
	return 0;
}

static void rule_set_done(struct rule_set *s)
{
	free(s->rules);
	free(s->ips);
	match_done(&s->names);
	*s = (struct rule_set){ 0 };
}

/* Entries of builtin_names[] with the same id stand together. */
static int builtin_fill(struct policy *p)
{
	struct rule_set *s = &p->builtin;
	struct rule_entry *e = NULL;

	s->source = "builtin";
	for (size_t i = 0; i < n_builtin_names; i++) {
		const struct builtin_name *b = &builtin_names[i];
		struct name name;
		unsigned kind;
		int rc;

		if (!e || strcmp(e->r.id, b->id) != 0) {
			e = arena_alloc(&p->arena, sizeof(*e));
			if (!e)
				return -ENOMEM;
			e->r.id = b->id;
			e->r.source = s->source;
			e->first_name = s->names.n;
			rc = rule_set_add(s, e);
			if (rc < 0)
				return rc;
		}
		rc = name_pattern_parse(b->pattern, &name, &kind);
		if (rc == 0)
			rc = match_add(&s->names, &name, kind, s->n - 1);
		if (rc < 0)
			return rc;
		e->n_names++;
	}
	return match_seal(&s->names, p->seed);
}

int policy_new(struct policy **ret)
{
	struct policy *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return -ENOMEM;
	atomic_init(&p->refs, 1);
	randombytes_buf(&p->seed, sizeof(p->seed));
	p->defaults = policy_defaults;
	p->inspect = (struct inspect_settings){
		.ca_seconds = 30 * 24 * 3600,
		.leaf_lifetime = 12 * 3600 * 1000,
	};
	p->deny.source = "deny";
	p->services.source = "services";
	p->settings = (struct gate_settings){
		.audit_max_bytes = 64u * 1024 * 1024,
		.audit_files = 8,
		.audit_on_full_deny = true,
		.audit_events = AUDIT_EVENTS_DEFAULT,
	};
	rc = builtin_fill(p);
	if (rc < 0) {
		policy_unref(p);
		return rc;
	}
	*ret = p;
	return 0;
}

static void agent_policy_free(struct agent_policy *a)
{
	rule_set_done(&a->allow);
	rule_set_done(&a->deny);
	rule_set_done(&a->services);
	free(a->synthetic);
	free(a->by_addr);
	arena_done(&a->arena);
	if (!a->inner)
		policy_unref(a->policy);
	free(a);
}

static void policy_free(struct policy *p)
{
	for (size_t i = 0; i < p->n_agents; i++)
		agent_policy_free(p->agents[i]);
	free(p->agents);
	for (size_t i = 0; i < p->n_presets; i++)
		rule_set_done(&p->presets[i].set);
	free(p->presets);
	free(p->credentials);
	free(p->hosts);
	match_done(&p->host_names);
	match_done(&p->no_proxy);
	rule_set_done(&p->builtin);
	rule_set_done(&p->deny);
	rule_set_done(&p->services);
	strv_done(&p->settings.dns_upstream);
	arena_done(&p->arena);
	free(p);
}

struct policy *policy_ref(struct policy *p)
{
	atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
	return p;
}

void policy_unref(struct policy *p)
{
	if (p &&
	    atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) == 1)
		policy_free(p);
}

/* Against @p, of which it takes a reference. */
int agent_policy_new(struct policy *p, struct agent_policy **ret)
{
	struct agent_policy *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	atomic_init(&a->refs, 1);
	a->policy = policy_ref(p);
	a->allow.source = a->deny.source = "agent";
	a->services.source = "service";
	*ret = a;
	return 0;
}

struct agent_policy *agent_policy_ref(struct agent_policy *a)
{
	if (a->inner)
		policy_ref(a->policy);
	else
		atomic_fetch_add_explicit(&a->refs, 1, memory_order_relaxed);
	return a;
}

void agent_policy_unref(struct agent_policy *a)
{
	if (!a)
		return;
	if (a->inner)
		policy_unref(a->policy);
	else if (atomic_fetch_sub_explicit(&a->refs, 1, memory_order_acq_rel) ==
		 1)
		agent_policy_free(a);
}

const char *agent_policy_id(const struct agent_policy *a)
{
	return a->id;
}

struct addr agent_policy_address(const struct agent_policy *a)
{
	return a->address;
}

uint64_t agent_policy_expires(const struct agent_policy *a)
{
	return a->expires;
}

uint64_t agent_policy_left(const struct agent_policy *a, uint64_t wall_ms,
			   uint64_t now_ms)
{
	const uint64_t at = a->expires * 1000;
	uint64_t left, span = UINT64_MAX;

	if (a->expires == 0)
		return UINT64_MAX;
	left = at > wall_ms ? at - wall_ms : 0;
	if (a->ends_ms)
		span = a->ends_ms > now_ms ? a->ends_ms - now_ms : 0;
	return span < left ? span : left;
}

enum policy_mode agent_policy_mode(const struct agent_policy *a)
{
	return a->mode;
}

const struct limits *agent_policy_limits(const struct agent_policy *a)
{
	return &a->limits;
}

const struct timeouts *agent_policy_timeouts(const struct agent_policy *a)
{
	return &a->policy->defaults.timeouts;
}

const struct tls_rules *agent_policy_tls(const struct agent_policy *a)
{
	return &a->policy->defaults.tls;
}

uint32_t agent_policy_dns_ttl(const struct agent_policy *a)
{
	return a->policy->defaults.dns_ttl;
}

/* --- names with an address of their own ---------------------------------- */

static int synthetic_cmp(const void *a, const void *b)
{
	return strcmp(((const struct synthetic *)a)->name.s,
		      ((const struct synthetic *)b)->name.s);
}

static int synthetic_addr_cmp(const void *a, const void *b)
{
	const struct synthetic *const *pa = a, *const *pb = b;

	return memcmp((*pa)->addr.b, (*pb)->addr.b, 4);
}

static int synthetic_collect(struct agent_policy *a, const struct rule_set *s)
{
	for (uint32_t i = 0; i < s->names.n; i++) {
		const struct match_entry *e = &s->names.v[i];
		const struct rule *r = &s->rules[e->rule]->r;
		struct synthetic *v;

		if (!r->proto_set || r->proto != RULE_TCP)
			continue;
		if (a->n_synthetic == POLICY_TCP_NAMES_MAX)
			return -E2BIG;
		v = realloc(a->synthetic, (a->n_synthetic + 1) * sizeof(*v));
		if (!v)
			return -ENOMEM;
		a->synthetic = v;
		v[a->n_synthetic] = (struct synthetic){ 0 };
		match_entry_name(&s->names, e, &v[a->n_synthetic++].name);
	}
	return 0;
}

static bool synthetic_taken(const struct agent_policy *a, size_t n,
			    const struct addr *addr)
{
	for (size_t i = 0; i < n; i++) {
		if (addr_eq(&a->synthetic[i].addr, addr))
			return true;
	}
	return false;
}

int agent_policy_assign(struct agent_policy *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n_sets; i++) {
		int rc = synthetic_collect(a, a->sets[i]);

		if (rc < 0)
			return rc;
	}
	if (a->n_synthetic == 0)
		return 0;
	a->by_addr = calloc(a->n_synthetic, sizeof(struct synthetic *));
	if (!a->by_addr)
		return -ENOMEM;
	qsort(a->synthetic, a->n_synthetic, sizeof(*a->synthetic),
	      synthetic_cmp);
	for (size_t i = 0; i < a->n_synthetic; i++) {
		struct synthetic *s = &a->synthetic[n];
		uint32_t home, nth = 0;

		if (n && synthetic_cmp(s - 1, &a->synthetic[i]) == 0)
			continue; /* of several rules */
		*s = a->synthetic[i];
		home = synthetic_home(&s->name);
		do {
			s->addr = synthetic_at(home, nth++);
		} while (synthetic_taken(a, n, &s->addr));
		a->by_addr[n++] = s;
	}
	a->n_synthetic = n;
	qsort(a->by_addr, n, sizeof(struct synthetic *), synthetic_addr_cmp);
	return 0;
}

struct addr agent_policy_synthetic(const struct agent_policy *a,
				   const struct name *name)
{
	size_t low = 0, high = a->n_synthetic;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int c = strcmp(name->s, a->synthetic[mid].name.s);

		if (c == 0)
			return a->synthetic[mid].addr;
		if (c < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return (struct addr){ 0 };
}

const struct name *agent_policy_synthetic_name(const struct agent_policy *a,
					       const struct addr *addr)
{
	size_t low = 0, high = a->n_synthetic;

	while (addr->family == 4 && low < high) {
		size_t mid = low + (high - low) / 2;
		int c = memcmp(addr->b, a->by_addr[mid]->addr.b, 4);

		if (c == 0)
			return &a->by_addr[mid]->name;
		if (c < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return NULL;
}

/* --- where to dial ------------------------------------------------------- */

/* Entry for the name or for what it is below, NULL: none. */
static const struct match_entry *
find_any(const struct policy *p, const struct match *m, const struct name *name)
{
	struct match_key key;

	if (m->n == 0 || name->len == 0)
		return NULL;
	match_key_init(&key, name, p->seed);
	for (unsigned i = 0; i < key.n; i++) {
		const struct match_entry *e =
			match_first(m, &key, i, MATCH_AT(i));

		if (e)
			return e;
	}
	return NULL;
}

const struct upstream_proxy *agent_policy_upstream(const struct agent_policy *a,
						   const struct name *name)
{
	const struct policy *p = a->policy;

	if (!p->proxy.host || find_any(p, &p->no_proxy, name))
		return NULL;
	return &p->proxy;
}

size_t agent_policy_hosts(const struct agent_policy *a, const struct name *name,
			  const struct addr **ret)
{
	const struct policy *p = a->policy;
	const struct match_entry *e = find_any(p, &p->host_names, name);

	if (!e)
		return 0;
	*ret = p->hosts[e->rule].addrs;
	return p->hosts[e->rule].n;
}

size_t policy_agents(const struct policy *p, struct agent_policy *const **ret)
{
	*ret = p->agents;
	return p->n_agents;
}

const struct gate_settings *policy_settings(const struct policy *p)
{
	return &p->settings;
}

void policy_own_set(struct policy *p, const struct own *own)
{
	p->own = *own;
}

void policy_hash(const struct policy *p, char ret[65])
{
	memcpy(ret, p->hash, sizeof(p->hash));
}

void agent_policy_hash(const struct agent_policy *a, char ret[65])
{
	memcpy(ret, a->hash, sizeof(a->hash));
}
