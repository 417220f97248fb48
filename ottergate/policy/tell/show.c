/* SPDX-License-Identifier: Apache-2.0 */
/*
 * show.c - policies for people and programs to look at
 */
#include "ottergate/policy/policy_impl.h"

#include <string.h>

#include "lib/jsonw.h"

/* A list of a million names is cut here, and says so: the answer must fit a
 * frame of the admin socket. */
#define SHOW_MAX (128u * 1024)

static void show_range(void *arg, const struct cidr *c, enum addr_class cls,
		       const char *what)
{
	char text[ADDR_TEXT_MAX];
	struct jsonw *w = arg;

	if (w->rc >= 0)
		w->rc = buf_printf(w->out, "  %s/%u  %s: %s\n",
				   addr_text(&c->base, text), c->bits,
				   addr_class_name(cls), what);
}

int policy_show_builtin(struct buf *out)
{
	struct jsonw w = { .out = out };

	w.rc = buf_printf(out, "Denied always; no policy can allow these.\n\n"
			       "names (`.x`: below x, `+x`: x and below)\n");
	for (size_t i = 0; i < n_builtin_names && w.rc >= 0; i++)
		w.rc = buf_printf(out, "  %s  %s\n", builtin_names[i].pattern,
				  builtin_names[i].what);
	if (w.rc >= 0)
		w.rc = buf_printf(out,
				  "\naddresses (the narrowest range counts; "
				  "a `services:` entry opens one\nthat is "
				  "private or cgnat)\n");
	addr_builtin_each(show_range, &w);
	if (w.rc >= 0)
		w.rc = buf_printf(out, "\nprotocols\n  UDP but port 53, ICMP, "
				       "IPv6, and all other than TCP\n");
	return w.rc < 0 ? w.rc : 0;
}

struct show {
	struct jsonw w;
	size_t start;
	bool cut;
};

/* Is there room for more? */
static bool show_more(struct show *s)
{
	if (buf_len(s->w.out) - s->start > SHOW_MAX)
		s->cut = true;
	return !s->cut;
}

static void show_ports(struct show *s, const struct rule *r)
{
	char text[16];

	if (r->n_ports == 0)
		return;
	jsonw_open(&s->w, "ports", '[');
	for (unsigned i = 0; i < r->n_ports; i++) {
		unsigned first = r->ports[2 * i], last = r->ports[2 * i + 1];

		snprintf(text, sizeof(text), first == last ? "%u" : "%u-%u",
			 first, last);
		jsonw_str(&s->w, NULL, text);
	}
	jsonw_close(&s->w, ']');
}

static void show_targets(struct show *s, const struct rule_set *set,
			 const struct rule_entry *e)
{
	char pattern[NAME_LEN_MAX + 2], text[ADDR_TEXT_MAX + 4];

	if (e->n_names) {
		jsonw_open(&s->w, "names", '[');
		for (uint32_t i = 0; i < e->n_names && show_more(s); i++)
			jsonw_str(&s->w, NULL,
				  name_pattern_text(
					  &set->names,
					  &set->names.v[e->first_name + i],
					  pattern));
		jsonw_close(&s->w, ']');
	}
	if (e->n_ips) {
		jsonw_open(&s->w, "ips", '[');
		for (uint32_t i = 0; i < e->n_ips && show_more(s); i++) {
			const struct cidr *c = &set->ips[e->first_ip + i].cidr;

			addr_text(&c->base, text);
			snprintf(text + strlen(text), 5, "/%u", c->bits);
			jsonw_str(&s->w, NULL, text);
		}
		jsonw_close(&s->w, ']');
	}
}

static void show_words(struct show *s, const char *key,
		       const char *const *words, uint32_t n)
{
	if (n == 0)
		return;
	jsonw_open(&s->w, key, '[');
	for (uint32_t i = 0; i < n && show_more(s); i++)
		jsonw_str(&s->w, NULL, words[i]);
	jsonw_close(&s->w, ']');
}

static void show_names(struct show *s, const char *key,
		       const struct igraphql_names *names)
{
	show_words(s, key, names->v, names->n);
}

static void show_graphql(struct show *s, const struct igraphql_rule *g)
{
	if (g->mutations.n + g->push.n + g->without.n == 0) {
		jsonw_str(&s->w, "graphql", "query-only");
		return;
	}
	jsonw_open(&s->w, "graphql", '{');
	show_names(s, "mutations", &g->mutations);
	show_names(s, "push", &g->push);
	show_names(s, "without", &g->without);
	jsonw_close(&s->w, '}');
}

static void show_matches(struct show *s, const char *key,
			 const struct http_match *v, uint32_t n)
{
	if (n == 0)
		return;
	jsonw_open(&s->w, key, '[');
	for (uint32_t i = 0; i < n && show_more(s); i++) {
		jsonw_open(&s->w, NULL, '{');
		show_words(s, "methods", v[i].methods, v[i].n_methods);
		show_words(s, "paths", v[i].paths, v[i].n_paths);
		if (v[i].graphql)
			show_graphql(s, v[i].graphql);
		if (v[i].judge_forms)
			jsonw_str(&s->w, "forms", "judge");
		if (v[i].push)
			jsonw_bool(&s->w, "push", true);
		jsonw_close(&s->w, '}');
	}
	jsonw_close(&s->w, ']');
}

/* What of a request is let through; without it: any. */
static void show_http(struct show *s, const struct http_rules *h)
{
	jsonw_open(&s->w, "http", '{');
	show_matches(s, "within", h->within, h->n_within);
	show_matches(s, "allow", h->allow, h->n_allow);
	show_matches(s, "deny", h->deny, h->n_deny);
	jsonw_close(&s->w, '}');
}

static void show_allow(struct show *s, const struct rule *r)
{
	static const char *const protos[] = { "tls", "http", "tcp" };
	char text[ADDR_TEXT_MAX];

	jsonw_str(&s->w, "use", r->use == RULE_INSPECT ? "inspect" : "tunnel");
	if (r->proto_set)
		jsonw_str(&s->w, "proto", protos[r->proto]);
	if (r->service)
		jsonw_str(&s->w, "ip", addr_text(&r->service_ip, text));
	if (r->socket)
		jsonw_str(&s->w, "socket", r->socket);
	if (r->insecure)
		jsonw_bool(&s->w, "insecure", true);
	if (r->credential)
		jsonw_str(&s->w, "credential", r->credential);
	if (r->http)
		show_http(s, r->http);
	if (r->websocket)
		jsonw_bool(&s->w, "websocket", true);
	if (r->ech_outer)
		jsonw_str(&s->w, "ech", "outer");
	if (r->cname_strict)
		jsonw_str(&s->w, "cname", "strict");
}

static void show_set(struct show *s, const struct rule_set *set, bool allow)
{
	for (uint32_t i = 0; i < set->n && show_more(s); i++) {
		const struct rule_entry *e = set->rules[i];

		jsonw_open(&s->w, NULL, '{');
		jsonw_str(&s->w, "id", e->r.id);
		jsonw_str(&s->w, "source", e->r.source);
		show_targets(s, set, e);
		show_ports(s, &e->r);
		if (allow)
			show_allow(s, &e->r);
		jsonw_close(&s->w, '}');
	}
}

static void show_limits(struct show *s, const struct limits *l)
{
	static const char *const on_limit[] = { "throttle", "deny", "kill" };
	const struct {
		const char *key;
		uint64_t v;
	} rows[] = {
		{ "conns", l->conns },
		{ "half_open", l->half_open },
		{ "new_conns", l->new_conns },
		{ "up", l->up },
		{ "down", l->down },
		{ "volume_up", l->volume_up },
		{ "volume_down", l->volume_down },
		{ "dns_qps", l->dns_qps },
		{ "new_names", l->new_names },
		{ "new_subdomains", l->new_subdomains },
		{ "memory", l->memory },
	};

	jsonw_open(&s->w, "limits", '{');
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].v)
			jsonw_u64(&s->w, rows[i].key, rows[i].v);
	}
	jsonw_str(&s->w, "on_limit", on_limit[l->on_limit]);
	jsonw_close(&s->w, '}');
}

int agent_policy_json(const struct agent_policy *a, struct buf *out)
{
	struct show s = { .start = buf_len(out) };
	char text[320];

	jsonw_init(&s.w, out);
	jsonw_open(&s.w, NULL, '{');
	jsonw_str(&s.w, "agent", a->id);
	jsonw_str(&s.w, "address", addr_text(&a->address, text));
	jsonw_str(&s.w, "mode",
		  a->mode == POLICY_OBSERVE ? "observe" : "enforce");
	if (a->expires)
		jsonw_u64(&s.w, "expires", a->expires);
	jsonw_str(&s.w, "hash", a->hash);
	jsonw_str(&s.w, "policy_hash", a->policy->hash);
	show_limits(&s, &a->limits);
	if (a->policy->proxy.host) {
		snprintf(text, sizeof(text), "%s:%u", a->policy->proxy.host,
			 a->policy->proxy.port);
		jsonw_str(&s.w, "upstream_proxy", text);
	}
	jsonw_open(&s.w, "rules", '[');
	for (size_t i = 0; i < a->n_sets; i++)
		show_set(&s, a->sets[i], true);
	jsonw_close(&s.w, ']');
	jsonw_open(&s.w, "deny", '[');
	show_set(&s, &a->deny, false);
	show_set(&s, &a->policy->deny, false);
	jsonw_close(&s.w, ']');
	if (s.cut)
		jsonw_bool(&s.w, "cut", true);
	jsonw_close(&s.w, '}');
	return s.w.rc;
}
