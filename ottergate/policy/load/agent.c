/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.c - one agent: who it is, what it uses, its limits
 */
#include "ottergate/policy/parse.h"

#include <string.h>
#include <time.h>

#include "lib/kernel_share.h"
#include "lib/str.h"
#include "ottergate/policy/limits.h"

struct agent_parse {
	struct agent_policy *a;
	const struct yaml_node *match, *use, *allow, *deny;
};

/* --- match --------------------------------------------------------------- */

static int match_address(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_address(ld, n, &((struct agent_policy *)to)->address);
}

static int match_net(struct load *ld, const struct yaml_node *n, void *to)
{
	struct agent_policy *a = to;
	struct cidr c;
	int r = load_cidr(ld, n, &c);

	if (r < 0)
		return r;
	if (c.bits != (c.base.family == 4 ? 32 : 128))
		return load_refuse(ld, n,
				   "one address (/32) is wanted here: limits "
				   "and grants belong to one sandbox");
	a->address = c.base;
	return 0;
}

static int field_match(struct load *ld, const struct yaml_node *n, void *to)
{
	static const struct field fields[] = {
		{ "address", match_address, 0 },
		{ "net", match_net, 0 },
	};
	struct agent_parse *ap = to;

	ap->match = n;
	if (n->kind == YAML_MAP && n->first && n->first->next)
		return load_refuse(ld, n, "`address` or `net`, not both");
	return load_map(ld, n, fields, ARRAY_SIZE(fields), ap->a);
}

/* --- limits -------------------------------------------------------------- */

static int limit_count(struct load *ld, const struct yaml_node *n, void *to)
{
	uint64_t v = 0;
	int r = 0;

	if (n->kind != YAML_SCALAR || strcmp(n->text, "none") != 0)
		r = load_number(ld, n, 1, 1000000, &v);
	if (r == 0)
		*(uint32_t *)to = (uint32_t)v;
	return r;
}

static int limit_memory(struct load *ld, const struct yaml_node *n, void *to)
{
	if (n->kind == YAML_SCALAR && strcmp(n->text, "none") == 0) {
		*(uint64_t *)to = 0;
		return 0;
	}
	return load_size(ld, n, LIMIT_MEMORY_MIN, LIMIT_MEMORY_MAX, to);
}

static int limit_rate32(struct load *ld, const struct yaml_node *n,
			const char *per, uint32_t *to)
{
	uint64_t v;
	int r = load_rate(ld, n, per, false, 1000000, &v);

	if (r == 0)
		*to = (uint32_t)v;
	return r;
}

static int limit_second(struct load *ld, const struct yaml_node *n, void *to)
{
	return limit_rate32(ld, n, "/s", to);
}

static int limit_hour(struct load *ld, const struct yaml_node *n, void *to)
{
	return limit_rate32(ld, n, "/h", to);
}

static int limit_bytes_second(struct load *ld, const struct yaml_node *n,
			      void *to)
{
	return load_rate(ld, n, "/s", true, UINT64_C(1) << 40, to);
}

static int limit_bytes_hour(struct load *ld, const struct yaml_node *n,
			    void *to)
{
	return load_rate(ld, n, "/h", true, UINT64_C(1) << 50, to);
}

static int limit_bandwidth(struct load *ld, const struct yaml_node *n, void *to)
{
	static const struct field fields[] = {
		{ "up", limit_bytes_second, offsetof(struct limits, up) },
		{ "down", limit_bytes_second, offsetof(struct limits, down) },
	};

	return load_map(ld, n, fields, ARRAY_SIZE(fields), to);
}

static int limit_volume(struct load *ld, const struct yaml_node *n, void *to)
{
	static const struct field fields[] = {
		{ "up", limit_bytes_hour, offsetof(struct limits, volume_up) },
		{ "down", limit_bytes_hour,
		  offsetof(struct limits, volume_down) },
	};

	return load_map(ld, n, fields, ARRAY_SIZE(fields), to);
}

static int limit_dns(struct load *ld, const struct yaml_node *n, void *to)
{
	static const struct field fields[] = {
		{ "qps", limit_count, offsetof(struct limits, dns_qps) },
		{ "new_names", limit_hour, offsetof(struct limits, new_names) },
		{ "new_subdomains", limit_hour,
		  offsetof(struct limits, new_subdomains) },
	};

	return load_map(ld, n, fields, ARRAY_SIZE(fields), to);
}

static int field_limits(struct load *ld, const struct yaml_node *n, void *to)
{
	static const struct field fields[] = {
		{ "conns", limit_count, offsetof(struct limits, conns) },
		{ "half_open", limit_count,
		  offsetof(struct limits, half_open) },
		{ "new_conns", limit_second,
		  offsetof(struct limits, new_conns) },
		{ "bandwidth", limit_bandwidth, 0 },
		{ "volume", limit_volume, 0 },
		{ "dns", limit_dns, 0 },
		{ "memory", limit_memory, offsetof(struct limits, memory) },
	};

	const struct limits *l = &((struct agent_parse *)to)->a->limits;
	int r = load_map(ld, n, fields, ARRAY_SIZE(fields),
			 &((struct agent_parse *)to)->a->limits);

	if (r == 0 && l->conns > KERNEL_SHARE_CONNS)
		lint_node(ld, LINT_WARNING, "filter-bound", n,
			  "`conns: %u`: the packet filter lets a sandbox have "
			  "%d at one time",
			  l->conns, KERNEL_SHARE_CONNS);
	if (r == 0 && l->new_conns > KERNEL_SHARE_NEW)
		lint_node(ld, LINT_WARNING, "filter-bound", n,
			  "`new_conns: %u/s`: the packet filter lets a sandbox "
			  "begin %d a second",
			  l->new_conns, KERNEL_SHARE_NEW);
	return r;
}

static int field_on_limit(struct load *ld, const struct yaml_node *n, void *to)
{
	static const char *const words[] = { "throttle", "deny", "kill", NULL };
	static const enum on_limit limits[] = { LIMIT_THROTTLE, LIMIT_DENY,
						LIMIT_KILL };
	unsigned v;
	int r = load_word(ld, n, words, &v);

	if (r == 0)
		((struct agent_parse *)to)->a->limits.on_limit = limits[v];
	return r;
}

/* --- expires ------------------------------------------------------------- */

/* "2026-11-21T18:00:00Z" (RFC 3339 §5.6, whole seconds), -EINVAL. */
static int time_parse(const char *s, uint64_t *ret)
{
	struct tm tm = { 0 };
	const char *end = strptime(s, "%Y-%m-%dT%H:%M:%S", &tm);
	long offset = 0;
	unsigned hours, minutes;
	struct tm check;
	int used = 0;
	time_t t;

	if (!end || end - s != (ptrdiff_t)strlen("2026-11-21T18:00:00"))
		return -EINVAL;
	if (strcmp(end, "Z") != 0) {
		if ((*end != '+' && *end != '-') || strlen(end) != 6 ||
		    sscanf(end + 1, "%2u:%2u%n", &hours, &minutes, &used) !=
			    2 ||
		    used != 5 || hours > 23 || minutes > 59)
			return -EINVAL;
		offset = (long)(hours * 3600 + minutes * 60);
		if (*end == '-')
			offset = -offset;
	}
	check = tm;
	t = timegm(&check);
	/* strptime() lets February have 31 days. */
	if (t < 0 || check.tm_mday != tm.tm_mday || t - offset <= 0)
		return -EINVAL;
	*ret = (uint64_t)(t - offset);
	return 0;
}

static int field_expires(struct load *ld, const struct yaml_node *n, void *to)
{
	struct agent_parse *ap = to;
	uint64_t ms;

	if (n->kind != YAML_SCALAR)
		return load_refuse(ld, n, "a time is wanted here");
	ap->a->ends_ms = 0;
	if (time_parse(n->text, &ap->a->expires) == 0)
		return 0;
	if (str_parse_duration(n->text, &ms) < 0 || ms < 1000 ||
	    ms / 1000 > UINT32_MAX)
		return load_refuse(ld, n,
				   "a time such as 8h is wanted here, or "
				   "2026-11-21T18:00:00Z");
	ap->a->expires = ld->now + ms / 1000;
	ap->a->ends_ms = ld->now_ms + ms;
	return 0;
}

/* --- the agent ----------------------------------------------------------- */

static int field_id(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_id(ld, n, &((struct agent_parse *)to)->a->id);
}

static int field_mode(struct load *ld, const struct yaml_node *n, void *to)
{
	static const char *const words[] = { "enforce", "observe", NULL };
	unsigned v;
	int r = load_word(ld, n, words, &v);

	if (r == 0)
		((struct agent_parse *)to)->a->mode = v ? POLICY_OBSERVE :
							  POLICY_ENFORCE;
	return r;
}

static int refuse_preset(struct load *ld, const struct yaml_node *n,
			 const char *name)
{
	const struct policy *p = ld->policy;
	char text[256] = "";
	int at = 0;

	for (size_t i = 0; i < p->n_presets && at < (int)sizeof(text); i++)
		at += snprintf(text + at, sizeof(text) - (size_t)at, "%s%s",
			       i ? ", " : "", p->presets[i].name);
	ld->about = name;
	load_fault_as(ld, "no-preset", n,
		      "there is no preset '%s'; there is: %s", name,
		      text[0] ? text : "none");
	ld->about = NULL;
	return -EINVAL;
}

static int use_item(struct load *ld, const struct yaml_node *n, void *to)
{
	struct agent_policy *a = to;
	const struct policy *p = ld->policy;
	const char *name = NULL;
	int r = load_id(ld, n, &name);

	if (r < 0)
		return r;
	for (size_t i = 0; i < p->n_presets; i++) {
		const struct rule_set *set = &p->presets[i].set;

		if (strcmp(p->presets[i].name, name) != 0)
			continue;
		for (size_t j = 0; j < a->n_sets; j++) {
			if (a->sets[j] == set)
				return load_refuse(ld, n, "'%s' is here twice",
						   name);
		}
		if (a->n_sets == ARRAY_SIZE(a->sets))
			return load_refuse(ld, n, "more than %u presets",
					   POLICY_USE_MAX);
		a->sets[a->n_sets++] = set;
		return 0;
	}
	return refuse_preset(ld, n, name);
}

/* What must wait until the rest is known is kept as a node. */
static int field_later(struct load *ld, const struct yaml_node *n, void *to)
{
	(void)ld;
	*(const struct yaml_node **)to = n;
	return 0;
}

static const struct field agent_fields[] = {
	{ "id", field_id, 0 },
	{ "match", field_match, 0 },
	{ "mode", field_mode, 0 },
	{ "use", field_later, offsetof(struct agent_parse, use) },
	{ "allow", field_later, offsetof(struct agent_parse, allow) },
	{ "deny", field_later, offsetof(struct agent_parse, deny) },
	{ "limits", field_limits, 0 },
	{ "on_limit", field_on_limit, 0 },
	{ "expires", field_expires, 0 },
};

static int agent_rules(struct load *ld, struct agent_parse *ap)
{
	struct agent_policy *a = ap->a;
	int r = 0;

	a->sets[a->n_sets++] = &ld->policy->services;
	a->sets[a->n_sets++] = &a->allow;
	if (ap->use)
		r = load_list(ld, ap->use, use_item, a);
	if (r == 0 && ap->allow)
		r = load_allow_rules(ld, ap->allow, &a->allow);
	if (r == 0 && ap->deny)
		r = load_deny_rules(ld, ap->deny, &a->deny);
	if (r == 0)
		r = load_seal_set(ld, &a->allow);
	if (r == 0)
		r = load_seal_set(ld, &a->deny);
	return r;
}

static int agent_read(struct load *ld, const struct yaml_node *n,
		      struct agent_parse *ap)
{
	struct agent_policy *a = ap->a;
	int r = load_map(ld, n, agent_fields, ARRAY_SIZE(agent_fields), ap);

	if (r < 0)
		return r;
	if (!a->id)
		return load_refuse(ld, n, "the agent has no `id`");
	if (!ap->match || a->address.family == 0)
		return load_refuse(ld, n,
				   "the agent has no `match: {address: …}`");
	r = agent_rules(ld, ap);
	if (r < 0)
		return r;
	r = agent_policy_assign(a);
	if (r == -E2BIG)
		return load_refuse(ld, n, "more than %u names for `proto: tcp`",
				   POLICY_TCP_NAMES_MAX);
	return r < 0 ? load_nomem(ld) : 0;
}

int load_agent(struct load *ld, const struct yaml_node *n,
	       struct agent_policy **ret)
{
	struct arena *arena = ld->arena;
	const char *file = ld->file;
	struct agent_policy *a;
	struct agent_parse ap = { 0 };
	int r;

	if (agent_policy_new(ld->policy, &a) < 0)
		return load_nomem(ld);
	a->mode = ld->policy->defaults.mode;
	a->limits = (struct limits){
		.conns = LIMIT_DEFAULT_CONNS,
		.half_open = LIMIT_DEFAULT_HALF_OPEN,
		.new_conns = LIMIT_DEFAULT_NEW_CONNS,
		.dns_qps = LIMIT_DEFAULT_DNS_QPS,
		.new_names = LIMIT_DEFAULT_NEW_NAMES,
		.new_subdomains = LIMIT_DEFAULT_NEW_SUBDOMAINS,
		.memory = LIMIT_DEFAULT_MEMORY,
	};
	ap.a = a;
	ld->is_agent = true;
	ld->arena = &a->arena;
	/* Rules know their file, and outlive this load. */
	ld->file = arena_strn(ld->arena, file, strlen(file));
	r = ld->file ? agent_read(ld, n, &ap) : load_nomem(ld);
	ld->is_agent = false;
	ld->arena = arena;
	ld->file = file;
	if (r < 0) {
		agent_policy_unref(a);
		return r;
	}
	lint_reach(ld, &a->allow, a->sets + 2, a->n_sets - 2);
	lint_deny(ld, &a->allow, &ld->policy->deny);
	for (size_t i = 1; i < a->n_sets; i++)
		lint_deny(ld, a->sets[i], &a->deny);
	*ret = a;
	return 0;
}
