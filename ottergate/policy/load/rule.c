/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule.c - rules: allowing ones and denials
 */
#include "ottergate/policy/load/parse.h"

#include <string.h>

static const char *const field_use_words[] = { "tunnel", "inspect", NULL };
static const struct schema field_use_is = SCHEMA_WORDS(field_use_words);

static int field_use(struct load *ld, const struct yaml_node *n, void *to)
{
	struct rule_parse *rp = to;
	unsigned v;
	int rc = load_word(ld, n, &field_use_is, &v);

	if (rc == 0)
		rp->e->r.use = v ? RULE_INSPECT : RULE_TUNNEL;
	return rc;
}

static const char *const field_proto_words[] = { "tls", "http", "tcp", NULL };
const struct schema load_rule_proto_is = SCHEMA_WORDS(field_proto_words);

int load_rule_proto(struct load *ld, const struct yaml_node *n, void *to)
{
	static const enum rule_proto protos[] = { RULE_TLS, RULE_HTTP,
						  RULE_TCP };
	struct rule_parse *rp = to;
	unsigned v;
	int rc = load_word(ld, n, &load_rule_proto_is, &v);

	if (rc == 0) {
		rp->e->r.proto = protos[v];
		rp->e->r.proto_set = true;
	}
	return rc;
}

static const char *const field_ech_words[] = { "deny", "outer", NULL };
static const struct schema field_ech_is = SCHEMA_WORDS(field_ech_words);

static int field_ech(struct load *ld, const struct yaml_node *n, void *to)
{
	struct rule_parse *rp = to;
	unsigned v;
	int rc = load_word(ld, n, &field_ech_is, &v);

	if (rc == 0)
		rp->e->r.ech_outer = v == 1;
	return rc;
}

static const char *const field_cname_words[] = { "final-ip", "strict", NULL };
static const struct schema field_cname_is = SCHEMA_WORDS(field_cname_words);

static int field_cname(struct load *ld, const struct yaml_node *n, void *to)
{
	struct rule_parse *rp = to;
	unsigned v;
	int rc = load_word(ld, n, &field_cname_is, &v);

	if (rc == 0)
		rp->e->r.cname_strict = v == 1;
	return rc;
}

static int risk_item(struct load *ld, const struct yaml_node *n, void *to)
{
	struct rule_parse *rp = to;
	const char *s;
	int rc = load_text(ld, n, &s);

	if (rc < 0)
		return rc;
	if (!lint_risk_of(s))
		return load_refuse(ld, n,
				   "a known risk is wanted here: multi-tenant "
				   "or shared-cdn");
	rp->risk_ok |= lint_risk_of(s);
	return 0;
}

static const char *const risk_words[] = { "multi-tenant", "shared-cdn", NULL };
static const struct schema risk_is = SCHEMA_WORDS(risk_words);
static const struct schema field_risk_ok_is = SCHEMA_LIST_OF(&risk_is);

static int field_risk_ok(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_list(ld, n, risk_item, to);
}

int load_rule_id(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_id(ld, n, &((struct rule_parse *)to)->e->r.id);
}

static int field_ports(struct load *ld, const struct yaml_node *n, void *to)
{
	struct rule *rule = &((struct rule_parse *)to)->e->r;
	struct port_list ports;
	int rc = load_ports(ld, n, &ports);

	if (rc == 0) {
		rule->ports = ports.v;
		rule->n_ports = ports.n;
	}
	return rc;
}

static int field_websocket(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_bool(ld, n, &((struct rule_parse *)to)->e->r.websocket);
}

static int field_insecure(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_bool(ld, n, &((struct rule_parse *)to)->e->r.insecure);
}

/* What else the rule says decides what its names may be: they wait. */
static int field_names(struct load *ld, const struct yaml_node *n, void *to)
{
	(void)ld;
	((struct rule_parse *)to)->names = n;
	return 0;
}

static const struct schema field_ips_is = SCHEMA_LIST_OF(&load_cidr_is);

static int field_ips(struct load *ld, const struct yaml_node *n, void *to)
{
	(void)ld;
	((struct rule_parse *)to)->ips = n;
	return 0;
}

static const struct field allow_fields[] = {
	{ { "id", &load_id_is }, load_rule_id, 0 },
	{ { "names", &load_patterns_is }, field_names, 0 },
	{ { "ips", &field_ips_is }, field_ips, 0 },
	{ { "ports", &load_ports_is }, field_ports, 0 },
	{ { "use", &field_use_is }, field_use, 0 },
	{ { "proto", &load_rule_proto_is }, load_rule_proto, 0 },
	{ { "websocket", &schema_bool }, field_websocket, 0 },
	{ { "insecure", &schema_bool }, field_insecure, 0 },
	{ { "ech", &field_ech_is }, field_ech, 0 },
	{ { "cname", &field_cname_is }, field_cname, 0 },
	{ { "risk_ok", &field_risk_ok_is }, field_risk_ok, 0 },
	{ { "reason", &schema_text }, load_ignored, 0 },
	{ { "http", &load_rule_http_is }, load_rule_http, 0 },
	{ { "methods", &load_methods_is }, load_rule_methods, 0 },
	{ { "paths", &load_paths_is }, load_rule_paths, 0 },
	{ { "auth", &load_rule_auth_is }, load_rule_auth, 0 },
	{ { "stream", &load_rule_stream_is }, load_rule_stream, 0 },
	{ { "upload", &load_rule_upload_is }, load_rule_upload, 0 },
	{ { "response", &load_rule_response_is }, load_rule_response, 0 },
	{ { "limits", &load_rule_limits_is }, load_rule_limits, 0 },
};

static const char *const from_words[] = { "blueprint", NULL };
static const struct schema field_from_is = SCHEMA_WORDS(from_words);

/* An instance's denials are its own, or its blueprint's. */
static int field_from(struct load *ld, const struct yaml_node *n, void *to)
{
	if (n->kind != YAML_SCALAR || strcmp(n->text, "blueprint") != 0)
		return load_refuse(ld, n, "`from` is blueprint, or left out");
	((struct rule_parse *)to)->e->r.source = "blueprint";
	return 0;
}

static const struct field deny_fields[] = {
	{ { "id", &load_id_is }, load_rule_id, 0 },
	{ { "names", &load_patterns_is }, field_names, 0 },
	{ { "ips", &field_ips_is }, field_ips, 0 },
	{ { "ports", &load_ports_is }, field_ports, 0 },
	{ { "reason", &schema_text }, load_ignored, 0 },
	{ { "from", &field_from_is }, field_from, 0 },
};

static const char *const rule_needs[] = { "id", NULL };
static const struct schema allow_is = { SCHEMA_ROWS(allow_fields),
					.required = rule_needs };
static const struct schema deny_is = { SCHEMA_ROWS(deny_fields),
				       .required = rule_needs };
const struct schema load_allow_rules_is = SCHEMA_LIST_OF(&allow_is);
const struct schema load_deny_rules_is = SCHEMA_LIST_OF(&deny_is);

static int names_item(struct load *ld, const struct yaml_node *n, void *to)
{
	struct rule_parse *rp = to;
	struct name name;
	unsigned kind;
	int rc = load_pattern(ld, n, &name, &kind);

	if (rc < 0)
		return rc;
	if (rp->e->r.insecure && kind != MATCH_EXACT)
		return load_refuse(ld, n,
				   "`insecure` needs exact names: those of "
				   "services");
	if (rp->e->r.proto_set && rp->e->r.proto == RULE_TCP &&
	    kind != MATCH_EXACT)
		return load_refuse(ld, n,
				   "`proto: tcp` needs exact names: plain TCP "
				   "does not say one");
	if (++ld->n_names > POLICY_RULES_MAX)
		return load_refuse(ld, n, "more than %u names",
				   POLICY_RULES_MAX);
	if (rp->lint)
		lint_name(ld, rp, n, &name, kind);
	if (match_add(&rp->set->names, &name, kind, rp->set->n - 1) < 0)
		return load_nomem(ld);
	rp->e->n_names++;
	return 0;
}

static int ips_item(struct load *ld, const struct yaml_node *n, void *to)
{
	struct rule_parse *rp = to;
	struct cidr c;
	int rc = load_cidr(ld, n, &c);

	if (rc < 0)
		return rc;
	rc = rule_set_add_ip(rp->set, &c, rp->set->n - 1);
	if (rc == -E2BIG)
		return load_refuse(ld, n, "more than %u addresses and ranges",
				   POLICY_IPS_MAX);
	if (rc < 0)
		return load_nomem(ld);
	rp->e->n_ips++;
	return 0;
}

int load_rule_end(struct load *ld, struct rule_parse *rp)
{
	struct rule_set *set = rp->set;
	int rc = 0;

	if (!rp->e->r.id)
		return load_refuse(ld, rp->node, "the rule has no `id`");
	if (!rp->names && !rp->ips)
		return load_refuse(ld, rp->node,
				   "the rule has neither `names` nor `ips`");
	if (!rp->e->r.source)
		rp->e->r.source = set->source;
	rp->e->first_name = set->names.n;
	rp->e->first_ip = set->n_ips;
	if (rule_set_add(set, rp->e) < 0)
		return load_nomem(ld);
	if (rp->names)
		rc = load_list(ld, rp->names, names_item, rp);
	if (rc == 0 && rp->ips)
		rc = load_list(ld, rp->ips, ips_item, rp);
	if (rc == 0 && rp->e->n_names + rp->e->n_ips == 0)
		rc = load_refuse(ld, rp->node, "the rule is for nothing");
	return rc;
}

/* What a rule is for, as it is written: its first name or address. */
static const char *about_of(const struct yaml_node *n)
{
	const struct yaml_node *c = n->kind == YAML_MAP ? n->first : NULL;

	for (; c; c = c->next)
		if ((strcmp(c->key, "names") == 0 ||
		     strcmp(c->key, "ips") == 0) &&
		    c->kind == YAML_LIST && c->first &&
		    c->first->kind == YAML_SCALAR)
			return c->first->text;
	return NULL;
}

/* @fn for the rule @n: what is said meanwhile is about what it is for. */
static int rule_item(struct load *ld, const struct yaml_node *n, void *to,
		     field_fn fn)
{
	int rc;

	ld->about = about_of(n);
	rc = fn(ld, n, to);
	ld->about = NULL;
	return rc;
}

int load_rule_begin(struct load *ld, const struct yaml_node *n,
		    struct rule_set *set, struct rule_parse *rp)
{
	*rp = (struct rule_parse){ .node = n, .set = set };
	if (set->n == POLICY_SET_RULES_MAX)
		return load_refuse(ld, n, "more than %u rules in one list",
				   POLICY_SET_RULES_MAX);
	rp->e = arena_alloc(ld->arena, sizeof(*rp->e));
	if (!rp->e)
		return load_nomem(ld);
	rp->e->file = ld->file;
	rp->e->line = n->line;
	rp->e->column = n->column;
	return 0;
}

static int allow_rule(struct load *ld, const struct yaml_node *n, void *to)
{
	const struct policy_defaults *def = &ld->policy->defaults;
	struct rule_parse rp;
	int rc = load_rule_begin(ld, n, to, &rp);

	if (rc < 0)
		return rc;
	rp.lint = true;
	rp.e->r.cname_strict = def->cname_strict;
	rc = load_map(ld, n, allow_fields, ARRAY_SIZE(allow_fields), &rp);
	if (rc < 0)
		return rc;
	if (rp.e->r.n_ports == 0) {
		rp.e->r.ports = def->ports;
		rp.e->r.n_ports = def->n_ports;
	}
	if (rp.e->r.use == RULE_INSPECT && rp.e->r.proto_set &&
	    rp.e->r.proto == RULE_TCP)
		return load_refuse(ld, n,
				   "`use: inspect` reads HTTP: not with "
				   "`proto: tcp`");
	if (rp.e->r.insecure &&
	    (rp.e->r.use != RULE_INSPECT || !rp.e->r.proto_set ||
	     rp.e->r.proto != RULE_HTTP || rp.ips))
		return load_refuse(ld, n,
				   "`insecure` is for `use: inspect` with "
				   "`proto: http` and `names`");
	rc = load_rule_http_end(ld, &rp);
	if (rc < 0)
		return rc;
	lint_rule(ld, &rp);
	return load_rule_end(ld, &rp);
}

/* What takes a denial back names the host that is denied. All below a public
 * suffix may be denied, but no rule may allow it. */
static int set_host(struct load *ld, struct rule_parse *rp)
{
	const struct rule_set *set = rp->set;
	const struct rule_entry *e = rp->e;
	char text[NAME_LEN_MAX + 2];

	if (e->n_names + e->n_ips != 1)
		return 0;
	if (e->n_names) {
		name_pattern_text(&set->names, &set->names.v[e->first_name],
				  text);
		if ((*text == '.' || *text == '+') &&
		    lint_is_public_suffix(text + 1))
			return 0;
	} else {
		const struct cidr *c = &set->ips[e->first_ip].cidr;

		addr_text(&c->base, text);
		if (c->bits < (c->base.family == 6 ? 128 : 32))
			snprintf(text + strlen(text), 5, "/%u", c->bits);
	}
	rp->e->r.host = arena_strn(ld->arena, text, strlen(text));
	return rp->e->r.host ? 0 : load_nomem(ld);
}

static int deny_rule(struct load *ld, const struct yaml_node *n, void *to)
{
	struct rule_parse rp;
	int rc = load_rule_begin(ld, n, to, &rp);

	if (rc == 0)
		rc = load_map(ld, n, deny_fields, ARRAY_SIZE(deny_fields), &rp);
	if (rc == 0 && rp.e->r.source && strcmp(rp.set->source, "agent") != 0)
		rc = load_refuse(ld, n, "`from` is for an agent's denials");
	if (rc == 0)
		rc = load_rule_end(ld, &rp);
	return rc < 0 ? rc : set_host(ld, &rp);
}

static int allow_item(struct load *ld, const struct yaml_node *n, void *to)
{
	return rule_item(ld, n, to, allow_rule);
}

static int deny_item(struct load *ld, const struct yaml_node *n, void *to)
{
	return rule_item(ld, n, to, deny_rule);
}

int load_allow_rules(struct load *ld, const struct yaml_node *n,
		     struct rule_set *set)
{
	return load_list(ld, n, allow_item, set);
}

int load_deny_rules(struct load *ld, const struct yaml_node *n,
		    struct rule_set *set)
{
	return load_list(ld, n, deny_item, set);
}

int load_seal(struct load *ld, struct match *m, const char *what)
{
	int rc = match_seal(m, ld->policy->seed);

	if (rc == -E2BIG) {
		if (ld->n_errors == 0)
			err_set(ld->err, -EINVAL,
				"%s: one name is in more than %u entries", what,
				MATCH_SAME_MAX);
		return -EINVAL;
	}
	return rc < 0 ? load_nomem(ld) : 0;
}

static int entry_cmp(const void *a, const void *b)
{
	const struct rule_entry *const *pa = a, *const *pb = b;
	int c = strcmp((*pa)->r.id, (*pb)->r.id);

	return c ? c :
		   ((*pa)->line > (*pb)->line) - ((*pa)->line < (*pb)->line);
}

/* The audit names a rule by its source and id: there is one. */
static int check_ids(struct load *ld, const struct rule_set *set)
{
	size_t size = set->n * sizeof(struct rule_entry *);
	SCOPED_MEM mem = malloc(size ? size : 1);
	struct rule_entry **v = mem;

	if (!v)
		return load_nomem(ld);
	if (size)
		memcpy(v, set->rules, size);
	qsort(v, set->n, sizeof(struct rule_entry *), entry_cmp);
	for (uint32_t i = 1; i < set->n; i++) {
		if (strcmp(v[i - 1]->r.id, v[i]->r.id) != 0)
			continue;
		if (ld->n_errors == 0)
			err_set(ld->err, -EINVAL,
				"%s:%u:%u: rule '%s' is also at %s:%u",
				v[i]->file, v[i]->line, v[i]->column,
				v[i]->r.id, v[i - 1]->file, v[i - 1]->line);
		return -EINVAL;
	}
	return 0;
}

int load_seal_set(struct load *ld, struct rule_set *set)
{
	int rc = check_ids(ld, set);

	return rc < 0 ? rc : load_seal(ld, &set->names, set->source);
}
