/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_print.h - all that a compiled policy holds, a line for each thing
 */
#ifndef TESTS_UNIT_OTTERGATE_POLICY_POLICY_PRINT_H
#define TESTS_UNIT_OTTERGATE_POLICY_POLICY_PRINT_H

#include <stdio.h>

#include "ottergate/policy/request/graphql.h"
#include "ottergate/policy/policy_impl.h"

typedef unsigned long long ull;

static void print_words(FILE *f, const char *what, const char *const *v,
			size_t n)
{
	for (size_t i = 0; i < n; i++)
		fprintf(f, "%s %s\n", what, v[i]);
}

static void print_names(FILE *f, const char *what, const struct match *m)
{
	char text[NAME_LEN_MAX + 2];

	for (uint32_t i = 0; i < m->n; i++)
		fprintf(f, "%s %s\n", what,
			name_pattern_text(m, &m->v[i], text));
}

static void print_match(FILE *f, const char *what, const struct http_match *m)
{
	char line[64];

	snprintf(line, sizeof(line), "%s method", what);
	print_words(f, line, m->methods, m->n_methods);
	snprintf(line, sizeof(line), "%s path", what);
	print_words(f, line, m->paths, m->n_paths);
	if (m->body_max != UINT64_MAX)
		fprintf(f, "%s body %llu\n", what, (ull)m->body_max);
	fprintf(f, "%s forms %d push %d graphql %d\n", what, m->judge_forms,
		m->push, m->graphql != NULL);
	if (!m->graphql)
		return;
	print_words(f, "mutation", m->graphql->mutations.v,
		    m->graphql->mutations.n);
	print_words(f, "graphql push", m->graphql->push.v, m->graphql->push.n);
	print_words(f, "without", m->graphql->without.v, m->graphql->without.n);
}

static void print_http(FILE *f, const struct http_rules *h)
{
	for (uint32_t i = 0; i < h->n_within; i++)
		print_match(f, "within", &h->within[i]);
	for (uint32_t i = 0; i < h->n_allow; i++)
		print_match(f, "allow", &h->allow[i]);
	for (uint32_t i = 0; i < h->n_deny; i++)
		print_match(f, "deny", &h->deny[i]);
	fprintf(f, "exclusive %d as %s requests %llu\n", h->exclusive,
		h->auth_as ? h->auth_as : "-", (ull)h->requests_min);
	fprintf(f, "upload %llu\nresponse %llu\n", (ull)h->upload_max,
		(ull)h->response_max);
}

static void print_rule(FILE *f, const struct rule *r)
{
	char text[ADDR_TEXT_MAX] = "-";

	if (r->service)
		addr_text(&r->service_ip, text);
	fprintf(f, "rule %s of %s\n", r->id, r->source);
	fprintf(f, "use %d proto %d set %d\n", r->use, r->proto, r->proto_set);
	fprintf(f, "websocket %d\nech outer %d\ncname strict %d\n",
		r->websocket, r->ech_outer, r->cname_strict);
	fprintf(f, "insecure %d\n", r->insecure);
	fprintf(f, "socket %s\n", r->socket ? r->socket : "-");
	fprintf(f, "at %s with %s\n", text,
		r->credential ? r->credential : "-");
	for (uint16_t i = 0; i < r->n_ports; i++)
		fprintf(f, "port %u-%u\n", r->ports[2 * i],
			r->ports[2 * i + 1]);
	if (r->http)
		print_http(f, r->http);
}

static void print_set(FILE *f, const char *what, const struct rule_set *s)
{
	char text[ADDR_TEXT_MAX];

	fprintf(f, "set %s\n", what);
	for (uint32_t i = 0; i < s->n; i++)
		print_rule(f, &s->rules[i]->r);
	print_names(f, "name", &s->names);
	for (uint32_t i = 0; i < s->n_ips; i++)
		fprintf(f, "net %s/%u\n", addr_text(&s->ips[i].cidr.base, text),
			s->ips[i].cidr.bits);
}

static void print_defaults(FILE *f, const struct policy_defaults *d)
{
	const struct timeouts *t = &d->timeouts;

	fprintf(f, "default mode %d\n", d->mode);
	for (uint16_t i = 0; i < d->n_ports; i++)
		fprintf(f, "default port %u-%u\n", d->ports[2 * i],
			d->ports[2 * i + 1]);
	fprintf(f, "tls min %x\ntls ech %d\ntls no_sni %d\ntls hello %u\n",
		d->tls.min_version, d->tls.ech_allow, d->tls.no_sni_allow,
		d->tls.hello_max);
	fprintf(f, "ms connect %u\nms idle %u\nms tunnel %u\n", t->connect,
		t->idle, t->tunnel_max);
	fprintf(f, "ms header %u\nms hello %u\n", t->request_header, t->hello);
	fprintf(f, "dns ttl %u\ndefault cname strict %d\n", d->dns_ttl,
		d->cname_strict);
}

static void print_settings(FILE *f, const struct policy *p)
{
	const struct gate_settings *s = &p->settings;
	char text[ADDR_TEXT_MAX];

	for (size_t i = 0; i < s->dns_upstream.n; i++)
		fprintf(f, "server %s\n", s->dns_upstream.v[i]);
	fprintf(f, "audit bytes %llu\naudit files %u\n",
		(ull)s->audit_max_bytes, s->audit_files);
	fprintf(f, "audit deny %d\naudit events %x\n", s->audit_on_full_deny,
		s->audit_events);
	fprintf(f, "ca %u\nleaf %u\n", p->inspect.ca_seconds,
		p->inspect.leaf_lifetime);
	fprintf(f, "proxy %s %u %s\n", p->proxy.host ? p->proxy.host : "-",
		p->proxy.port,
		p->proxy.authorization ? p->proxy.authorization : "-");
	print_names(f, "direct", &p->no_proxy);
	print_names(f, "host", &p->host_names);
	for (size_t i = 0; i < p->n_hosts; i++)
		for (size_t k = 0; k < p->hosts[i].n; k++)
			fprintf(f, "host at %s\n",
				addr_text(&p->hosts[i].addrs[k], text));
	for (size_t i = 0; i < p->n_credentials; i++)
		fprintf(f, "credential %s\n", p->credentials[i].id);
}

static void print_limits(FILE *f, const struct limits *l)
{
	fprintf(f, "conns %u\nhalf open %u\nnew conns %u\n", l->conns,
		l->half_open, l->new_conns);
	fprintf(f, "up %llu\ndown %llu\n", (ull)l->up, (ull)l->down);
	fprintf(f, "volume up %llu\nvolume down %llu\n", (ull)l->volume_up,
		(ull)l->volume_down);
	fprintf(f, "memory %llu\nqps %u\n", (ull)l->memory, l->dns_qps);
	fprintf(f, "new names %u\nnew subdomains %u\non limit %d\n",
		l->new_names, l->new_subdomains, l->on_limit);
}

static void print_agent(FILE *f, const struct agent_policy *a)
{
	char text[ADDR_TEXT_MAX];

	fprintf(f, "agent %s at %s mode %d ends %d\n", a->id,
		addr_text(&a->address, text), a->mode, a->expires != 0);
	for (size_t i = 3; i < a->n_sets; i++)
		fprintf(f, "uses %s\n", a->sets[i]->source);
	print_limits(f, &a->limits);
	print_set(f, "agent services", &a->services);
	print_set(f, "agent allow", &a->allow);
	print_set(f, "agent deny", &a->deny);
}

static void policy_print(FILE *f, const struct policy *p)
{
	print_defaults(f, &p->defaults);
	print_settings(f, p);
	print_set(f, "deny", &p->deny);
	print_set(f, "services", &p->services);
	for (size_t i = 0; i < p->n_presets; i++)
		print_set(f, p->presets[i].name, &p->presets[i].set);
	for (size_t i = 0; i < p->n_agents; i++)
		print_agent(f, p->agents[i]);
}

static inline void lint_print(FILE *f, const struct lint *l)
{
	for (size_t i = 0; i < l->n; i++)
		fprintf(f, "finding %s\n", l->v[i].code);
}

#endif
