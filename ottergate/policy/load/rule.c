/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule.c - rules: allowing ones, denials, services
 */
#include "ottergate/policy/parse.h"

#include <string.h>

static int field_use(struct load *ld, const struct yaml_node *n, void *to)
{
	static const char *const words[] = { "tunnel", "inspect", NULL };
	struct rule_parse *rp = to;
	unsigned v;
	int r = load_word(ld, n, words, &v);

	if (r == 0)
		rp->e->r.use = v ? RULE_INSPECT : RULE_TUNNEL;
	return r;
}

static int field_proto(struct load *ld, const struct yaml_node *n, void *to)
{
	static const char *const words[] = { "tls", "http", "tcp", NULL };
	static const enum rule_proto protos[] = { RULE_TLS, RULE_HTTP,
						  RULE_TCP };
	struct rule_parse *rp = to;
	unsigned v;
	int r = load_word(ld, n, words, &v);

	if (r == 0) {
		rp->e->r.proto = protos[v];
		rp->e->r.proto_set = true;
	}
	return r;
}

static int field_ech(struct load *ld, const struct yaml_node *n, void *to)
{
	static const char *const words[] = { "deny", "outer", NULL };
	struct rule_parse *rp = to;
	unsigned v;
	int r = load_word(ld, n, words, &v);

	if (r == 0)
		rp->e->r.ech_outer = v == 1;
	return r;
}

static int field_cname(struct load *ld, const struct yaml_node *n, void *to)
{
	static const char *const words[] = { "final-ip", "strict", NULL };
	struct rule_parse *rp = to;
	unsigned v;
	int r = load_word(ld, n, words, &v);

	if (r == 0)
		rp->e->r.cname_strict = v == 1;
	return r;
}

static int risk_item(struct load *ld, const struct yaml_node *n, void *to)
{
	struct rule_parse *rp = to;
	const char *s;
	int r = load_text(ld, n, &s);

	if (r < 0)
		return r;
	if (!lint_risk_of(s))
		return load_refuse(ld, n,
				   "a known risk is wanted here: multi-tenant "
				   "or shared-cdn");
	rp->risk_ok |= lint_risk_of(s);
	return 0;
}

static int field_risk_ok(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_list(ld, n, risk_item, to);
}

static int field_id(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_id(ld, n, &((struct rule_parse *)to)->e->r.id);
}

static int field_ports(struct load *ld, const struct yaml_node *n, void *to)
{
	struct rule *rule = &((struct rule_parse *)to)->e->r;
	struct port_list ports;
	int r = load_ports(ld, n, &ports);

	if (r == 0) {
		rule->ports = ports.v;
		rule->n_ports = ports.n;
	}
	return r;
}

static int field_websocket(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_bool(ld, n, &((struct rule_parse *)to)->e->r.websocket);
}

/* What else the rule says decides what its names may be: they wait. */
static int field_names(struct load *ld, const struct yaml_node *n, void *to)
{
	(void)ld;
	((struct rule_parse *)to)->names = n;
	return 0;
}

static int field_ips(struct load *ld, const struct yaml_node *n, void *to)
{
	(void)ld;
	((struct rule_parse *)to)->ips = n;
	return 0;
}

static const struct field allow_fields[] = {
	{ "id", field_id, 0 },
	{ "names", field_names, 0 },
	{ "ips", field_ips, 0 },
	{ "ports", field_ports, 0 },
	{ "use", field_use, 0 },
	{ "proto", field_proto, 0 },
	{ "websocket", field_websocket, 0 },
	{ "ech", field_ech, 0 },
	{ "cname", field_cname, 0 },
	{ "risk_ok", field_risk_ok, 0 },
	{ "reason", load_ignored, 0 },
	{ "http", load_rule_http, 0 },
	{ "methods", load_rule_methods, 0 },
	{ "paths", load_rule_paths, 0 },
	{ "auth", load_rule_auth, 0 },
	{ "stream", load_rule_stream, 0 },
	{ "upload", load_rule_upload, 0 },
	{ "response", load_rule_response, 0 },
	{ "limits", load_rule_limits, 0 },
};

/* An instance's denials are its own, or its blueprint's. */
static int field_from(struct load *ld, const struct yaml_node *n, void *to)
{
	if (n->kind != YAML_SCALAR || strcmp(n->text, "blueprint") != 0)
		return load_refuse(ld, n, "`from` is blueprint, or left out");
	((struct rule_parse *)to)->e->r.source = "blueprint";
	return 0;
}

static const struct field deny_fields[] = {
	{ "id", field_id, 0 },         { "names", field_names, 0 },
	{ "ips", field_ips, 0 },       { "ports", field_ports, 0 },
	{ "reason", load_ignored, 0 }, { "from", field_from, 0 },
};

static int names_item(struct load *ld, const struct yaml_node *n, void *to)
{
	struct rule_parse *rp = to;
	struct name name;
	unsigned kind;
	int r = load_pattern(ld, n, &name, &kind);

	if (r < 0)
		return r;
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
	int r = load_cidr(ld, n, &c);

	if (r < 0)
		return r;
	r = rule_set_add_ip(rp->set, &c, rp->set->n - 1);
	if (r == -E2BIG)
		return load_refuse(ld, n, "more than %u addresses and ranges",
				   POLICY_IPS_MAX);
	if (r < 0)
		return load_nomem(ld);
	rp->e->n_ips++;
	return 0;
}

/* Hangs the rule into its set and gives it its names. */
static int rule_end(struct load *ld, struct rule_parse *rp)
{
	struct rule_set *set = rp->set;
	int r = 0;

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
		r = load_list(ld, rp->names, names_item, rp);
	if (r == 0 && rp->ips)
		r = load_list(ld, rp->ips, ips_item, rp);
	if (r == 0 && rp->e->n_names + rp->e->n_ips == 0)
		r = load_refuse(ld, rp->node, "the rule is for nothing");
	return r;
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
	int r;

	ld->about = about_of(n);
	r = fn(ld, n, to);
	ld->about = NULL;
	return r;
}

static int rule_begin(struct load *ld, const struct yaml_node *n,
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
	int r = rule_begin(ld, n, to, &rp);

	if (r < 0)
		return r;
	rp.lint = true;
	rp.e->r.cname_strict = def->cname_strict;
	r = load_map(ld, n, allow_fields, ARRAY_SIZE(allow_fields), &rp);
	if (r < 0)
		return r;
	if (rp.e->r.n_ports == 0) {
		rp.e->r.ports = def->ports;
		rp.e->r.n_ports = def->n_ports;
	}
	if (rp.e->r.use == RULE_INSPECT && rp.e->r.proto_set &&
	    rp.e->r.proto == RULE_TCP)
		return load_refuse(ld, n,
				   "`use: inspect` reads HTTP: not with "
				   "`proto: tcp`");
	r = load_rule_http_end(ld, &rp);
	if (r < 0)
		return r;
	lint_rule(ld, &rp);
	return rule_end(ld, &rp);
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
	int r = rule_begin(ld, n, to, &rp);

	if (r == 0)
		r = load_map(ld, n, deny_fields, ARRAY_SIZE(deny_fields), &rp);
	if (r == 0 && rp.e->r.source && strcmp(rp.set->source, "agent") != 0)
		r = load_refuse(ld, n, "`from` is for an agent's denials");
	if (r == 0)
		r = rule_end(ld, &rp);
	return r < 0 ? r : set_host(ld, &rp);
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
	int r = match_seal(m, ld->policy->seed);

	if (r == -E2BIG) {
		if (ld->n_errors == 0)
			err_set(ld->err, -EINVAL,
				"%s: one name is in more than %u entries", what,
				MATCH_SAME_MAX);
		return -EINVAL;
	}
	return r < 0 ? load_nomem(ld) : 0;
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
	int r = check_ids(ld, set);

	return r < 0 ? r : load_seal(ld, &set->names, set->source);
}

/* --- services ------------------------------------------------------------ */

struct service_parse {
	struct rule_parse rp;
	const struct yaml_node *name, *ip;
	uint16_t port;
};

static int service_id(struct load *ld, const struct yaml_node *n, void *to)
{
	return field_id(ld, n, &((struct service_parse *)to)->rp);
}

static int service_proto(struct load *ld, const struct yaml_node *n, void *to)
{
	return field_proto(ld, n, &((struct service_parse *)to)->rp);
}

static int service_name(struct load *ld, const struct yaml_node *n, void *to)
{
	(void)ld;
	((struct service_parse *)to)->name = n;
	return 0;
}

static int service_ip(struct load *ld, const struct yaml_node *n, void *to)
{
	struct service_parse *sp = to;
	struct rule *rule = &sp->rp.e->r;
	enum addr_class cls;
	int r = load_address(ld, n, &rule->service_ip);

	if (r < 0)
		return r;
	sp->ip = n;
	cls = addr_classify(&rule->service_ip);
	if (cls != ADDR_PUBLIC && cls != ADDR_PRIVATE && cls != ADDR_CGNAT)
		return load_refuse(ld, n,
				   "no service may be at this address: it is "
				   "of class %s",
				   addr_class_name(cls));
	return 0;
}

static int service_port(struct load *ld, const struct yaml_node *n, void *to)
{
	uint64_t v;
	int r = load_number(ld, n, 1, UINT16_MAX, &v);

	if (r == 0)
		((struct service_parse *)to)->port = (uint16_t)v;
	return r;
}

static const struct field service_fields[] = {
	{ "id", service_id, 0 },       { "name", service_name, 0 },
	{ "ip", service_ip, 0 },       { "port", service_port, 0 },
	{ "proto", service_proto, 0 }, { "reason", load_ignored, 0 },
};

static int service_end(struct load *ld, struct service_parse *sp)
{
	struct rule *rule = &sp->rp.e->r;
	uint16_t *ports = arena_array(ld->arena, 2, sizeof(*ports));
	struct match_key key;
	struct name name;
	int r;

	if (!ports)
		return load_nomem(ld);
	r = load_exact_name(ld, sp->name, &name);
	if (r < 0)
		return r;
	match_key_init(&key, &name, ld->policy->seed);
	if (policy_builtin_name(ld->policy, &key))
		return load_refuse(ld, sp->name,
				   "this name is denied always: give the "
				   "service another");
	ports[0] = ports[1] = sp->port;
	rule->ports = ports;
	rule->n_ports = 1;
	rule->service = true;
	return 0;
}

static int service_item(struct load *ld, const struct yaml_node *n, void *to)
{
	/* The one name stands as a scalar where a rule has a list. */
	struct yaml_node names = { .kind = YAML_LIST };
	struct yaml_node name;
	struct service_parse sp = { 0 };
	int r = rule_begin(ld, n, to, &sp.rp);

	if (r == 0)
		r = load_map(ld, n, service_fields, ARRAY_SIZE(service_fields),
			     &sp);
	if (r < 0)
		return r;
	if (!sp.name || !sp.ip || !sp.port)
		return load_refuse(ld, n,
				   "a service is `id`, `name`, `ip` and "
				   "`port`");
	r = service_end(ld, &sp);
	if (r < 0)
		return r;
	name = *sp.name;
	name.next = NULL;
	names.first = &name;
	sp.rp.names = &names;
	return rule_end(ld, &sp.rp);
}

int load_services(struct load *ld, const struct yaml_node *n)
{
	return load_list(ld, n, service_item, &ld->policy->services);
}
