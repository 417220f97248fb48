/* SPDX-License-Identifier: Apache-2.0 */
/*
 * section.c - defaults, credentials, audit and what inspection needs
 */
#include "ottergate/policy/parse.h"

#include <string.h>

#include "lib/str.h"
#include "ottergate/policy/audit_event.h"

/* --- defaults ------------------------------------------------------------ */

static int default_mode(struct load *ld, const struct yaml_node *n, void *to)
{
	static const char *const words[] = { "enforce", "observe", NULL };
	unsigned v;
	int r = load_word(ld, n, words, &v);

	if (r == 0)
		((struct policy_defaults *)to)->mode = v ? POLICY_OBSERVE :
							   POLICY_ENFORCE;
	return r;
}

static int default_ports(struct load *ld, const struct yaml_node *n, void *to)
{
	struct policy_defaults *d = to;
	struct port_list ports;
	int r = load_ports(ld, n, &ports);

	if (r == 0) {
		d->ports = ports.v;
		d->n_ports = ports.n;
	}
	return r;
}

static int tls_min(struct load *ld, const struct yaml_node *n, void *to)
{
	static const char *const words[] = { "1.2", "1.3", NULL };
	unsigned v;
	int r = load_word(ld, n, words, &v);

	if (r == 0)
		((struct policy_defaults *)to)->tls.min_version = v ? 0x0304 :
								      0x0303;
	return r;
}

static int tls_ech(struct load *ld, const struct yaml_node *n, void *to)
{
	static const char *const words[] = { "deny", "outer", NULL };
	unsigned v;
	int r = load_word(ld, n, words, &v);

	if (r == 0)
		((struct policy_defaults *)to)->tls.ech_allow = v == 1;
	return r;
}

static int tls_no_sni(struct load *ld, const struct yaml_node *n, void *to)
{
	static const char *const words[] = { "deny", "connect", NULL };
	unsigned v;
	int r = load_word(ld, n, words, &v);

	if (r == 0)
		((struct policy_defaults *)to)->tls.no_sni_allow = v == 1;
	return r;
}

static int tls_hello_max(struct load *ld, const struct yaml_node *n, void *to)
{
	uint64_t v;
	int r = load_size(ld, n, 1024, 64 * 1024, &v);

	if (r == 0)
		((struct policy_defaults *)to)->tls.hello_max = (uint32_t)v;
	return r;
}

static int default_tls(struct load *ld, const struct yaml_node *n, void *to)
{
	static const struct field fields[] = {
		{ "min", tls_min, 0 },
		{ "ech", tls_ech, 0 },
		{ "no_sni", tls_no_sni, 0 },
		{ "hello_max", tls_hello_max, 0 },
		{ "hello_deadline", load_ms,
		  offsetof(struct policy_defaults, timeouts.hello) },
	};

	return load_map(ld, n, fields, ARRAY_SIZE(fields), to);
}

static int dns_answer(struct load *ld, const struct yaml_node *n, void *to)
{
	static const char *const words[] = { "synthetic", NULL };
	unsigned v;

	(void)to;
	return load_word(ld, n, words, &v);
}

static int dns_ttl(struct load *ld, const struct yaml_node *n, void *to)
{
	uint64_t v;
	int r = load_number(ld, n, 1, 3600, &v);

	if (r == 0)
		((struct policy_defaults *)to)->dns_ttl = (uint32_t)v;
	return r;
}

static int dns_type(struct load *ld, const struct yaml_node *n, void *to)
{
	static const char *const words[] = { "A", "AAAA", NULL };
	unsigned v;
	int r = load_word(ld, n, words, &v);

	(void)to;
	if (r == 0 && v == 1)
		lint_node(ld, LINT_INFO, "no-aaaa", n,
			  "AAAA is answered with no data: sandboxes have no "
			  "IPv6");
	return r;
}

static int dns_types(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_list(ld, n, dns_type, to);
}

static int dns_cname(struct load *ld, const struct yaml_node *n, void *to)
{
	static const char *const words[] = { "final-ip", "strict", NULL };
	unsigned v;
	int r = load_word(ld, n, words, &v);

	if (r == 0)
		((struct policy_defaults *)to)->cname_strict = v == 1;
	return r;
}

static int default_dns(struct load *ld, const struct yaml_node *n, void *to)
{
	static const struct field fields[] = {
		{ "answer", dns_answer, 0 },
		{ "ttl", dns_ttl, 0 },
		{ "types", dns_types, 0 },
		{ "upstream", load_dns_upstream, 0 },
		{ "cname", dns_cname, 0 },
	};

	return load_map(ld, n, fields, ARRAY_SIZE(fields), to);
}

static int default_timeouts(struct load *ld, const struct yaml_node *n,
			    void *to)
{
	static const struct field fields[] = {
		{ "connect", load_ms,
		  offsetof(struct policy_defaults, timeouts.connect) },
		{ "idle", load_ms,
		  offsetof(struct policy_defaults, timeouts.idle) },
		{ "tunnel_max", load_ms,
		  offsetof(struct policy_defaults, timeouts.tunnel_max) },
		{ "request_header", load_ms,
		  offsetof(struct policy_defaults, timeouts.request_header) },
	};

	return load_map(ld, n, fields, ARRAY_SIZE(fields), to);
}

int load_defaults(struct load *ld, const struct yaml_node *n, void *to)
{
	static const struct field fields[] = {
		{ "mode", default_mode, 0 },
		{ "ports", default_ports, 0 },
		{ "tls", default_tls, 0 },
		{ "dns", default_dns, 0 },
		{ "timeouts", default_timeouts, 0 },
	};

	(void)to;
	return load_map(ld, n, fields, ARRAY_SIZE(fields),
			&ld->policy->defaults);
}

/* --- credentials --------------------------------------------------------- */

/* A policy file is no place for a secret, nor for where one is. */
static int credential_field(struct load *ld, const struct yaml_node *n,
			    void *to ATTR_UNUSED)
{
	return load_no_effect(
		ld, n, "the values come from the vault (`ac vault add`)");
}

static int credential_fields(struct load *ld, const struct yaml_node *n)
{
	static const struct field fields[] = {
		{ "source", credential_field, 0 },
		{ "reload", credential_field, 0 },
		{ "kind", credential_field, 0 },
		{ "header", credential_field, 0 },
		{ "region", credential_field, 0 },
		{ "service", credential_field, 0 },
		{ "ttl", credential_field, 0 },
	};

	return load_map(ld, n, fields, ARRAY_SIZE(fields), ld);
}

static int credential_add(struct load *ld, const struct yaml_node *n)
{
	/* The key is the id. */
	struct yaml_node id = { .text = n->key,
				.line = n->key_line,
				.column = n->key_column };
	struct policy *p = ld->policy;
	struct credential *v =
		realloc(p->credentials, (p->n_credentials + 1) * sizeof(*v));
	struct credential *c;
	int r;

	if (!v)
		return load_nomem(ld);
	p->credentials = v;
	c = &v[p->n_credentials];
	*c = (struct credential){ .file = ld->file,
				  .line = n->key_line,
				  .column = n->key_column };
	r = load_id(ld, &id, &c->id);
	if (r < 0)
		return r;
	for (size_t i = 0; i < p->n_credentials; i++) {
		if (strcmp(v[i].id, c->id) == 0)
			return load_refuse(ld, &id,
					   "credential '%s' is also at %s:%u",
					   c->id, v[i].file, v[i].line);
	}
	p->n_credentials++;
	return credential_fields(ld, n);
}

int load_credentials(struct load *ld, const struct yaml_node *n, void *to)
{
	(void)to;
	if (n->kind != YAML_MAP)
		return load_refuse(ld, n, "a map is wanted here, not %s",
				   yaml_kind_name(n));
	for (const struct yaml_node *c = n->first; c; c = c->next) {
		int r = credential_add(ld, c);

		if (r < 0)
			return r;
	}
	return 0;
}

/* --- audit, metrics ------------------------------------------------------ */

static int refuse_place(struct load *ld, const struct yaml_node *n, void *to)
{
	(void)to;
	return load_refuse(ld, n,
			   "where this goes is decided by acd, which starts "
			   "the gateway: leave it out");
}

static int audit_event_item(struct load *ld, const struct yaml_node *n,
			    void *to)
{
	uint32_t *mask = to;
	const char *s;
	int r = load_text(ld, n, &s);

	if (r < 0)
		return r;
	for (unsigned i = 0; i < AUDIT_EVENTS; i++) {
		if (strcmp(s, audit_event_name((enum audit_event)i)) == 0) {
			*mask |= 1u << i;
			return 0;
		}
	}
	return load_refuse(ld, n, "there is no such event");
}

static int audit_events(struct load *ld, const struct yaml_node *n, void *to)
{
	uint32_t mask = 0;
	int r = load_list(ld, n, audit_event_item, &mask);

	/* acd has to hear of an alarm, whatever the user wants to read. */
	mask |= 1u << AUDIT_ALARM;
	if (r == 0)
		((struct gate_settings *)to)->audit_events = mask;
	return r;
}

static int audit_chain(struct load *ld, const struct yaml_node *n, void *to)
{
	static const char *const words[] = { "sha256", NULL };
	unsigned v;

	(void)to;
	return load_word(ld, n, words, &v);
}

static int audit_on_full(struct load *ld, const struct yaml_node *n, void *to)
{
	static const char *const words[] = { "deny", "drop", NULL };
	unsigned v;
	int r = load_word(ld, n, words, &v);

	if (r == 0)
		((struct gate_settings *)to)->audit_on_full_deny = v == 0;
	return r;
}

static int audit_max_bytes(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_size(ld, n, 64 * 1024, UINT64_C(1) << 40,
			 &((struct gate_settings *)to)->audit_max_bytes);
}

static int audit_files(struct load *ld, const struct yaml_node *n, void *to)
{
	uint64_t v;
	int r = load_number(ld, n, 1, 100, &v);

	if (r == 0)
		((struct gate_settings *)to)->audit_files = (uint32_t)v;
	return r;
}

static int audit_fields(struct load *ld, const struct yaml_node *n,
			void *to ATTR_UNUSED)
{
	return load_no_effect(ld, n,
			      "the audit has no query, no header and no body");
}

int load_audit(struct load *ld, const struct yaml_node *n, void *to)
{
	static const struct field fields[] = {
		{ "sink", refuse_place, 0 },
		{ "events", audit_events, 0 },
		{ "fields", audit_fields, 0 },
		{ "chain", audit_chain, 0 },
		{ "on_full", audit_on_full, 0 },
		{ "max_bytes", audit_max_bytes, 0 },
		{ "files", audit_files, 0 },
	};

	(void)to;
	return load_map(ld, n, fields, ARRAY_SIZE(fields),
			&ld->policy->settings);
}

static int metrics_per(struct load *ld, const struct yaml_node *n,
		       void *to ATTR_UNUSED)
{
	return load_no_effect(ld, n,
			      "what the metrics have is always the same");
}

int load_metrics(struct load *ld, const struct yaml_node *n, void *to)
{
	static const struct field fields[] = {
		{ "listen", refuse_place, 0 },
		{ "per_agent", metrics_per, 0 },
		{ "per_rule", metrics_per, 0 },
	};

	return load_map(ld, n, fields, ARRAY_SIZE(fields), to);
}
