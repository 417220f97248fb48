/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.c - one agent: who it is, what it uses, its limits
 */
#include "ottergate/policy/load/parse.h"

#include <string.h>
#include <time.h>

#include "lib/kernel_share.h"
#include "lib/str.h"
#include "ottergate/policy/limits.h"

struct agent_parse {
	struct agent_policy *a;
	const struct yaml_node *match, *use, *allow, *deny, *services;
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
	int rc = load_cidr(ld, n, &c);

	if (rc < 0)
		return rc;
	if (c.bits != (c.base.family == 4 ? 32 : 128))
		return load_refuse(ld, n,
				   "one address (/32) is wanted here: limits "
				   "and grants belong to one sandbox");
	a->address = c.base;
	return 0;
}

static const struct field field_match_fields[] = {
	{ { "address", &load_address_is }, match_address, 0 },
	{ { "net", &load_cidr_is }, match_net, 0 },
};
static const struct schema field_match_is = { SCHEMA_ROWS(field_match_fields) };

static int field_match(struct load *ld, const struct yaml_node *n, void *to)
{
	struct agent_parse *ap = to;

	ap->match = n;
	if (n->kind == YAML_MAP && n->first && n->first->next)
		return load_refuse(ld, n, "`address` or `net`, not both");
	return load_map(ld, n, field_match_fields,
			ARRAY_SIZE(field_match_fields), ap->a);
}

/* --- limits -------------------------------------------------------------- */

static const struct schema limit_count_is = {
	.kind = SCHEMA_NUMBER, .none = true, .min = 1, .max = 1000000
};

static int limit_count(struct load *ld, const struct yaml_node *n, void *to)
{
	uint64_t v = 0;
	int rc = 0;

	if (n->kind != YAML_SCALAR || strcmp(n->text, "none") != 0)
		rc = load_number(ld, n, &limit_count_is, &v);
	if (rc == 0)
		*(uint32_t *)to = (uint32_t)v;
	return rc;
}

static const struct schema limit_memory_is = { .kind = SCHEMA_AMOUNT,
					       .none = true,
					       .pattern = SCHEMA_SIZE,
					       .min = LIMIT_MEMORY_MIN,
					       .max = LIMIT_MEMORY_MAX };

static int limit_memory(struct load *ld, const struct yaml_node *n, void *to)
{
	if (n->kind == YAML_SCALAR && strcmp(n->text, "none") == 0) {
		*(uint64_t *)to = 0;
		return 0;
	}
	return load_size(ld, n, &limit_memory_is, to);
}

static int limit_rate32(struct load *ld, const struct yaml_node *n,
			const char *per, uint32_t *to)
{
	uint64_t v;
	int rc = load_rate(ld, n, per, false, 1000000, &v);

	if (rc == 0)
		*to = (uint32_t)v;
	return rc;
}

static const struct schema limit_second_is = { .kind = SCHEMA_FORM,
					       .pattern = LOAD_COUNT_PER("s") };

static int limit_second(struct load *ld, const struct yaml_node *n, void *to)
{
	return limit_rate32(ld, n, "/s", to);
}

static const struct schema limit_hour_is = { .kind = SCHEMA_FORM,
					     .pattern = LOAD_COUNT_PER("h") };

static int limit_hour(struct load *ld, const struct yaml_node *n, void *to)
{
	return limit_rate32(ld, n, "/h", to);
}

static const struct schema limit_bytes_second_is = {
	.kind = SCHEMA_FORM, .pattern = LOAD_BYTES_PER("s")
};

static int limit_bytes_second(struct load *ld, const struct yaml_node *n,
			      void *to)
{
	return load_rate(ld, n, "/s", true, UINT64_C(1) << 40, to);
}

static const struct schema limit_bytes_hour_is = {
	.kind = SCHEMA_FORM, .pattern = LOAD_BYTES_PER("h")
};

static int limit_bytes_hour(struct load *ld, const struct yaml_node *n,
			    void *to)
{
	return load_rate(ld, n, "/h", true, UINT64_C(1) << 50, to);
}

static const struct field limit_bandwidth_fields[] = {
	{ { "up", &limit_bytes_second_is },
	  limit_bytes_second,
	  offsetof(struct limits, up) },
	{ { "down", &limit_bytes_second_is },
	  limit_bytes_second,
	  offsetof(struct limits, down) },
};
static const struct schema limit_bandwidth_is = { SCHEMA_ROWS(
	limit_bandwidth_fields) };

static int limit_bandwidth(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_map(ld, n, limit_bandwidth_fields,
			ARRAY_SIZE(limit_bandwidth_fields), to);
}

static const struct field limit_volume_fields[] = {
	{ { "up", &limit_bytes_hour_is },
	  limit_bytes_hour,
	  offsetof(struct limits, volume_up) },
	{ { "down", &limit_bytes_hour_is },
	  limit_bytes_hour,
	  offsetof(struct limits, volume_down) },
};
static const struct schema limit_volume_is = { SCHEMA_ROWS(
	limit_volume_fields) };

static int limit_volume(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_map(ld, n, limit_volume_fields,
			ARRAY_SIZE(limit_volume_fields), to);
}

static const struct field limit_dns_fields[] = {
	{ { "qps", &limit_count_is },
	  limit_count,
	  offsetof(struct limits, dns_qps) },
	{ { "new_names", &limit_hour_is },
	  limit_hour,
	  offsetof(struct limits, new_names) },
	{ { "new_subdomains", &limit_hour_is },
	  limit_hour,
	  offsetof(struct limits, new_subdomains) },
};
static const struct schema limit_dns_is = { SCHEMA_ROWS(limit_dns_fields) };

static int limit_dns(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_map(ld, n, limit_dns_fields, ARRAY_SIZE(limit_dns_fields),
			to);
}

static const struct field field_limits_fields[] = {
	{ { "conns", &limit_count_is },
	  limit_count,
	  offsetof(struct limits, conns) },
	{ { "half_open", &limit_count_is },
	  limit_count,
	  offsetof(struct limits, half_open) },
	{ { "new_conns", &limit_second_is },
	  limit_second,
	  offsetof(struct limits, new_conns) },
	{ { "bandwidth", &limit_bandwidth_is }, limit_bandwidth, 0 },
	{ { "volume", &limit_volume_is }, limit_volume, 0 },
	{ { "dns", &limit_dns_is }, limit_dns, 0 },
	{ { "memory", &limit_memory_is },
	  limit_memory,
	  offsetof(struct limits, memory) },
};
static const struct schema field_limits_is = { SCHEMA_ROWS(
	field_limits_fields) };

static int field_limits(struct load *ld, const struct yaml_node *n, void *to)
{
	const struct limits *l = &((struct agent_parse *)to)->a->limits;
	int rc = load_map(ld, n, field_limits_fields,
			  ARRAY_SIZE(field_limits_fields),
			  &((struct agent_parse *)to)->a->limits);

	if (rc == 0 && l->conns > KERNEL_SHARE_CONNS)
		lint_node(ld, LINT_WARNING, "filter-bound", n,
			  "`conns: %u`: the packet filter lets a sandbox have "
			  "%d at one time",
			  l->conns, KERNEL_SHARE_CONNS);
	if (rc == 0 && l->new_conns > KERNEL_SHARE_NEW)
		lint_node(ld, LINT_WARNING, "filter-bound", n,
			  "`new_conns: %u/s`: the packet filter lets a sandbox "
			  "begin %d a second",
			  l->new_conns, KERNEL_SHARE_NEW);
	return rc;
}

static const char *const field_on_limit_words[] = { "throttle", "deny", "kill",
						    NULL };
static const struct schema field_on_limit_is =
	SCHEMA_WORDS(field_on_limit_words);

static int field_on_limit(struct load *ld, const struct yaml_node *n, void *to)
{
	static const enum on_limit limits[] = { LIMIT_THROTTLE, LIMIT_DENY,
						LIMIT_KILL };
	unsigned v;
	int rc = load_word(ld, n, &field_on_limit_is, &v);

	if (rc == 0)
		((struct agent_parse *)to)->a->limits.on_limit = limits[v];
	return rc;
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

static const struct schema field_expires_is = {
	.kind = SCHEMA_AMOUNT,
	.pattern = SCHEMA_DURATION
	"|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(Z|[+-][0-9]{2}:[0-9]{2})"
};

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

static const char *const field_mode_words[] = { "enforce", "observe", NULL };
static const struct schema field_mode_is = SCHEMA_WORDS(field_mode_words);

static int field_mode(struct load *ld, const struct yaml_node *n, void *to)
{
	unsigned v;
	int rc = load_word(ld, n, &field_mode_is, &v);

	if (rc == 0)
		((struct agent_parse *)to)->a->mode = v ? POLICY_OBSERVE :
							  POLICY_ENFORCE;
	return rc;
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
	int rc = load_id(ld, n, &name);

	if (rc < 0)
		return rc;
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

static const struct schema use_is = { .kind = SCHEMA_LIST,
				      .item = &load_id_is,
				      .max = POLICY_USE_MAX };

static const struct field agent_fields[] = {
	{ { "id", &load_id_is }, field_id, 0 },
	{ { "match", &field_match_is }, field_match, 0 },
	{ { "mode", &field_mode_is }, field_mode, 0 },
	{ { "use", &use_is }, field_later, offsetof(struct agent_parse, use) },
	{ { "allow", &load_allow_rules_is },
	  field_later,
	  offsetof(struct agent_parse, allow) },
	{ { "deny", &load_deny_rules_is },
	  field_later,
	  offsetof(struct agent_parse, deny) },
	{ { "services", &load_services_is },
	  field_later,
	  offsetof(struct agent_parse, services) },
	{ { "limits", &field_limits_is }, field_limits, 0 },
	{ { "on_limit", &field_on_limit_is }, field_on_limit, 0 },
	{ { "expires", &field_expires_is }, field_expires, 0 },
};

static const char *const agent_needs[] = { "id", "match", NULL };
const struct schema load_agent_is = { SCHEMA_ROWS(agent_fields),
				      .required = agent_needs };

static int agent_rules(struct load *ld, struct agent_parse *ap)
{
	struct agent_policy *a = ap->a;
	int rc = 0;

	a->sets[a->n_sets++] = &ld->policy->services;
	a->sets[a->n_sets++] = &a->services;
	a->sets[a->n_sets++] = &a->allow;
	if (ap->use)
		rc = load_list(ld, ap->use, use_item, a);
	if (rc == 0 && ap->services)
		rc = load_services(ld, ap->services, &a->services);
	if (rc == 0 && ap->allow)
		rc = load_allow_rules(ld, ap->allow, &a->allow);
	if (rc == 0 && ap->deny)
		rc = load_deny_rules(ld, ap->deny, &a->deny);
	if (rc == 0)
		rc = load_seal_set(ld, &a->services);
	if (rc == 0)
		rc = load_seal_set(ld, &a->allow);
	if (rc == 0)
		rc = load_seal_set(ld, &a->deny);
	return rc;
}

static int agent_read(struct load *ld, const struct yaml_node *n,
		      struct agent_parse *ap)
{
	struct agent_policy *a = ap->a;
	int rc = load_map(ld, n, agent_fields, ARRAY_SIZE(agent_fields), ap);

	if (rc < 0)
		return rc;
	if (!a->id)
		return load_refuse(ld, n, "the agent has no `id`");
	if (!ap->match || a->address.family == 0)
		return load_refuse(ld, n,
				   "the agent has no `match: {address: …}`");
	rc = agent_rules(ld, ap);
	if (rc < 0)
		return rc;
	rc = agent_policy_assign(a);
	if (rc == -E2BIG)
		return load_refuse(ld, n, "more than %u names for `proto: tcp`",
				   POLICY_TCP_NAMES_MAX);
	return rc < 0 ? load_nomem(ld) : 0;
}

int load_agent(struct load *ld, const struct yaml_node *n,
	       struct agent_policy **ret)
{
	struct arena *arena = ld->arena;
	const char *file = ld->file;
	struct agent_policy *a;
	struct agent_parse ap = { 0 };
	int rc;

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
	rc = ld->file ? agent_read(ld, n, &ap) : load_nomem(ld);
	ld->is_agent = false;
	ld->arena = arena;
	ld->file = file;
	if (rc < 0) {
		agent_policy_unref(a);
		return rc;
	}
	lint_reach(ld, &a->allow, a->sets + 3, a->n_sets - 3);
	lint_deny(ld, &a->allow, &ld->policy->deny);
	for (size_t i = 1; i < a->n_sets; i++)
		lint_deny(ld, a->sets[i], &a->deny);
	*ret = a;
	return 0;
}
