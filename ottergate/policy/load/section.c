/* SPDX-License-Identifier: Apache-2.0 */
/*
 * section.c - the sections `defaults:`, `credentials:`, `audit:` and `metrics:`
 */
#include "ottergate/policy/load/parse.h"

#include <string.h>

#include "lib/str.h"
#include "ottergate/policy/audit_event.h"

/* --- defaults ------------------------------------------------------------ */

static const char *const default_mode_words[] = { "enforce", "observe", NULL };
static const struct schema default_mode_is = SCHEMA_WORDS(default_mode_words);

static int default_mode(struct load *ld, const struct yaml_node *n, void *to)
{
	unsigned v;
	int rc = load_word(ld, n, &default_mode_is, &v);

	if (rc == 0)
		((struct policy_defaults *)to)->mode = v ? POLICY_OBSERVE :
							   POLICY_ENFORCE;
	return rc;
}

static int default_ports(struct load *ld, const struct yaml_node *n, void *to)
{
	struct policy_defaults *d = to;
	struct port_list ports;
	int rc = load_ports(ld, n, &ports);

	if (rc == 0) {
		d->ports = ports.v;
		d->n_ports = ports.n;
	}
	return rc;
}

static const char *const tls_min_words[] = { "1.2", "1.3", NULL };
static const struct schema tls_min_is = SCHEMA_WORDS(tls_min_words);

static int tls_min(struct load *ld, const struct yaml_node *n, void *to)
{
	unsigned v;
	int rc = load_word(ld, n, &tls_min_is, &v);

	if (rc == 0)
		((struct policy_defaults *)to)->tls.min_version = v ? 0x0304 :
								      0x0303;
	return rc;
}

static const char *const tls_ech_words[] = { "deny", "outer", NULL };
static const struct schema tls_ech_is = SCHEMA_WORDS(tls_ech_words);

static int tls_ech(struct load *ld, const struct yaml_node *n, void *to)
{
	unsigned v;
	int rc = load_word(ld, n, &tls_ech_is, &v);

	if (rc == 0)
		((struct policy_defaults *)to)->tls.ech_allow = v == 1;
	return rc;
}

static const char *const tls_no_sni_words[] = { "deny", "connect", NULL };
static const struct schema tls_no_sni_is = SCHEMA_WORDS(tls_no_sni_words);

static int tls_no_sni(struct load *ld, const struct yaml_node *n, void *to)
{
	unsigned v;
	int rc = load_word(ld, n, &tls_no_sni_is, &v);

	if (rc == 0)
		((struct policy_defaults *)to)->tls.no_sni_allow = v == 1;
	return rc;
}

static const struct schema tls_hello_max_is = LOAD_SIZE_FROM(1024, 64 * 1024);

static int tls_hello_max(struct load *ld, const struct yaml_node *n, void *to)
{
	uint64_t v;
	int rc = load_size(ld, n, &tls_hello_max_is, &v);

	if (rc == 0)
		((struct policy_defaults *)to)->tls.hello_max = (uint32_t)v;
	return rc;
}

static const struct field default_tls_fields[] = {
	{ { "min", &tls_min_is }, tls_min, 0 },
	{ { "ech", &tls_ech_is }, tls_ech, 0 },
	{ { "no_sni", &tls_no_sni_is }, tls_no_sni, 0 },
	{ { "hello_max", &tls_hello_max_is }, tls_hello_max, 0 },
	{ { "hello_deadline", &load_ms_is },
	  load_ms,
	  offsetof(struct policy_defaults, timeouts.hello) },
};
static const struct schema default_tls_is = { SCHEMA_ROWS(default_tls_fields) };

static int default_tls(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_map(ld, n, default_tls_fields,
			ARRAY_SIZE(default_tls_fields), to);
}

static const char *const dns_answer_words[] = { "synthetic", NULL };
static const struct schema dns_answer_is = SCHEMA_WORDS(dns_answer_words);

static int dns_answer(struct load *ld, const struct yaml_node *n, void *to)
{
	unsigned v;

	(void)to;
	return load_word(ld, n, &dns_answer_is, &v);
}

static const struct schema dns_ttl_is = { .kind = SCHEMA_NUMBER,
					  .min = 1,
					  .max = 3600 };

static int dns_ttl(struct load *ld, const struct yaml_node *n, void *to)
{
	uint64_t v;
	int rc = load_number(ld, n, &dns_ttl_is, &v);

	if (rc == 0)
		((struct policy_defaults *)to)->dns_ttl = (uint32_t)v;
	return rc;
}

static const char *const dns_type_words[] = { "A", "AAAA", NULL };
static const struct schema dns_type_is = SCHEMA_WORDS(dns_type_words);

static int dns_type(struct load *ld, const struct yaml_node *n, void *to)
{
	unsigned v;
	int rc = load_word(ld, n, &dns_type_is, &v);

	(void)to;
	if (rc == 0 && v == 1)
		lint_node(ld, LINT_INFO, "no-aaaa", n,
			  "AAAA is answered with no data: sandboxes have no "
			  "IPv6");
	return rc;
}

static const struct schema dns_types_is = SCHEMA_LIST_OF(&dns_type_is);

static int dns_types(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_list(ld, n, dns_type, to);
}

static const char *const dns_cname_words[] = { "final-ip", "strict", NULL };
static const struct schema dns_cname_is = SCHEMA_WORDS(dns_cname_words);

static int dns_cname(struct load *ld, const struct yaml_node *n, void *to)
{
	unsigned v;
	int rc = load_word(ld, n, &dns_cname_is, &v);

	if (rc == 0)
		((struct policy_defaults *)to)->cname_strict = v == 1;
	return rc;
}

static const struct field default_dns_fields[] = {
	{ { "answer", &dns_answer_is }, dns_answer, 0 },
	{ { "ttl", &dns_ttl_is }, dns_ttl, 0 },
	{ { "types", &dns_types_is }, dns_types, 0 },
	{ { "upstream", &load_dns_upstream_is }, load_dns_upstream, 0 },
	{ { "cname", &dns_cname_is }, dns_cname, 0 },
};
static const struct schema default_dns_is = { SCHEMA_ROWS(default_dns_fields) };

static int default_dns(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_map(ld, n, default_dns_fields,
			ARRAY_SIZE(default_dns_fields), to);
}

static const struct field default_timeouts_fields[] = {
	{ { "connect", &load_ms_is },
	  load_ms,
	  offsetof(struct policy_defaults, timeouts.connect) },
	{ { "idle", &load_ms_is },
	  load_ms,
	  offsetof(struct policy_defaults, timeouts.idle) },
	{ { "tunnel_max", &load_ms_is },
	  load_ms,
	  offsetof(struct policy_defaults, timeouts.tunnel_max) },
	{ { "request_header", &load_ms_is },
	  load_ms,
	  offsetof(struct policy_defaults, timeouts.request_header) },
};
static const struct schema default_timeouts_is = { SCHEMA_ROWS(
	default_timeouts_fields) };

static int default_timeouts(struct load *ld, const struct yaml_node *n,
			    void *to)
{
	return load_map(ld, n, default_timeouts_fields,
			ARRAY_SIZE(default_timeouts_fields), to);
}

static const struct field load_defaults_fields[] = {
	{ { "mode", &default_mode_is }, default_mode, 0 },
	{ { "ports", &load_ports_is }, default_ports, 0 },
	{ { "tls", &default_tls_is }, default_tls, 0 },
	{ { "dns", &default_dns_is }, default_dns, 0 },
	{ { "timeouts", &default_timeouts_is }, default_timeouts, 0 },
};
const struct schema load_defaults_is = { SCHEMA_ROWS(load_defaults_fields) };

int load_defaults(struct load *ld, const struct yaml_node *n, void *to)
{
	(void)to;
	return load_map(ld, n, load_defaults_fields,
			ARRAY_SIZE(load_defaults_fields),
			&ld->policy->defaults);
}

/* --- credentials --------------------------------------------------------- */

/* A policy file is no place for a secret, nor for where one is. */
static int credential_field(struct load *ld, const struct yaml_node *n,
			    void *to)
{
	(void)to;
	return load_no_effect(
		ld, n, "the values come from the vault (`ac vault add`)");
}

static const struct field credential_fields_fields[] = {
	{ { "source", NULL }, credential_field, 0 },
	{ { "reload", NULL }, credential_field, 0 },
	{ { "kind", NULL }, credential_field, 0 },
	{ { "header", NULL }, credential_field, 0 },
	{ { "region", NULL }, credential_field, 0 },
	{ { "service", NULL }, credential_field, 0 },
	{ { "ttl", NULL }, credential_field, 0 },
};
static const struct schema credential_fields_is = { SCHEMA_ROWS(
	credential_fields_fields) };

static int credential_fields(struct load *ld, const struct yaml_node *n)
{
	return load_map(ld, n, credential_fields_fields,
			ARRAY_SIZE(credential_fields_fields), ld);
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
	int rc;

	if (!v)
		return load_nomem(ld);
	p->credentials = v;
	c = &v[p->n_credentials];
	*c = (struct credential){ .file = ld->file,
				  .line = n->key_line,
				  .column = n->key_column };
	rc = load_id(ld, &id, &c->id);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < p->n_credentials; i++) {
		if (strcmp(v[i].id, c->id) == 0)
			return load_refuse(ld, &id,
					   "credential '%s' is also at %s:%u",
					   c->id, v[i].file, v[i].line);
	}
	p->n_credentials++;
	return credential_fields(ld, n);
}

const struct schema load_credentials_is = {
	.kind = SCHEMA_NAMED,
	.item = &credential_fields_is,
	.pattern = "[A-Za-z0-9][A-Za-z0-9._-]*"
};

int load_credentials(struct load *ld, const struct yaml_node *n, void *to)
{
	(void)to;
	if (n->kind != YAML_MAP)
		return load_refuse(ld, n, "a map is wanted here, not %s",
				   yaml_kind_name(n));
	for (const struct yaml_node *c = n->first; c; c = c->next) {
		int rc = credential_add(ld, c);

		if (rc < 0)
			return rc;
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
	int rc = load_text(ld, n, &s);

	if (rc < 0)
		return rc;
	for (unsigned i = 0; i < AUDIT_EVENTS; i++) {
		if (strcmp(s, audit_event_name((enum audit_event)i)) == 0) {
			*mask |= 1u << i;
			return 0;
		}
	}
	return load_refuse(ld, n, "there is no such event");
}

static const struct schema audit_event_is = { .kind = SCHEMA_WORD,
					      .words = audit_event_names };
static const struct schema audit_events_is = SCHEMA_LIST_OF(&audit_event_is);

static int audit_events(struct load *ld, const struct yaml_node *n, void *to)
{
	uint32_t mask = 0;
	int rc = load_list(ld, n, audit_event_item, &mask);

	/* acd has to hear of an alarm, whatever the user wants to read. */
	mask |= 1u << AUDIT_ALARM;
	if (rc == 0)
		((struct gate_settings *)to)->audit_events = mask;
	return rc;
}

static const char *const audit_chain_words[] = { "sha256", NULL };
static const struct schema audit_chain_is = SCHEMA_WORDS(audit_chain_words);

static int audit_chain(struct load *ld, const struct yaml_node *n, void *to)
{
	unsigned v;

	(void)to;
	return load_word(ld, n, &audit_chain_is, &v);
}

static const char *const audit_on_full_words[] = { "deny", "drop", NULL };
static const struct schema audit_on_full_is = SCHEMA_WORDS(audit_on_full_words);

static int audit_on_full(struct load *ld, const struct yaml_node *n, void *to)
{
	unsigned v;
	int rc = load_word(ld, n, &audit_on_full_is, &v);

	if (rc == 0)
		((struct gate_settings *)to)->audit_on_full_deny = v == 0;
	return rc;
}

static const struct schema audit_max_bytes_is =
	LOAD_SIZE_FROM(64 * 1024, UINT64_C(1) << 40);

static int audit_max_bytes(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_size(ld, n, &audit_max_bytes_is,
			 &((struct gate_settings *)to)->audit_max_bytes);
}

static const struct schema audit_files_is = { .kind = SCHEMA_NUMBER,
					      .min = 1,
					      .max = 100 };

static int audit_files(struct load *ld, const struct yaml_node *n, void *to)
{
	uint64_t v;
	int rc = load_number(ld, n, &audit_files_is, &v);

	if (rc == 0)
		((struct gate_settings *)to)->audit_files = (uint32_t)v;
	return rc;
}

static int audit_fields(struct load *ld, const struct yaml_node *n, void *to)
{
	(void)to;
	return load_no_effect(ld, n,
			      "the audit has no query, no header and no body");
}

static const struct field load_audit_fields[] = {
	{ { "sink", NULL }, refuse_place, 0 },
	{ { "events", &audit_events_is }, audit_events, 0 },
	{ { "fields", NULL }, audit_fields, 0 },
	{ { "chain", &audit_chain_is }, audit_chain, 0 },
	{ { "on_full", &audit_on_full_is }, audit_on_full, 0 },
	{ { "max_bytes", &audit_max_bytes_is }, audit_max_bytes, 0 },
	{ { "files", &audit_files_is }, audit_files, 0 },
};
const struct schema load_audit_is = { SCHEMA_ROWS(load_audit_fields) };

int load_audit(struct load *ld, const struct yaml_node *n, void *to)
{
	(void)to;
	return load_map(ld, n, load_audit_fields, ARRAY_SIZE(load_audit_fields),
			&ld->policy->settings);
}

static int metrics_per(struct load *ld, const struct yaml_node *n, void *to)
{
	(void)to;
	return load_no_effect(ld, n,
			      "what the metrics have is always the same");
}

static const struct field load_metrics_fields[] = {
	{ { "listen", NULL }, refuse_place, 0 },
	{ { "per_agent", NULL }, metrics_per, 0 },
	{ { "per_rule", NULL }, metrics_per, 0 },
};
const struct schema load_metrics_is = { SCHEMA_ROWS(load_metrics_fields) };

int load_metrics(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_map(ld, n, load_metrics_fields,
			ARRAY_SIZE(load_metrics_fields), to);
}
