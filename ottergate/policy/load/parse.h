/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse.h - from YAML nodes to policy: shared by the loader's files
 *
 * Faults of form end a load at once; the linter's findings are collected, so
 * that one run shows all of them.
 *
 * Every int function returns 0. It fails with -EINVAL for a fault in the file,
 * or with -ENOMEM; ld->err then has the message. Output is unchanged or of no
 * use then. Results live in ld->arena unless the comment says otherwise.
 */
#ifndef OTTERGATE_POLICY_LOAD_PARSE_H
#define OTTERGATE_POLICY_LOAD_PARSE_H

#include "lib/schema.h"
#include "ottergate/policy/policy_impl.h"
#include "ottergate/yaml.h"

struct load { /* the state of one load; pointers are borrowed */
	/* The policy that is being made, or that an agent is compiled
	 * against. */
	struct policy *policy;
	struct arena *arena; /* of the policy or the agent that is being made */
	const char *file; /* that is being read; lives in arena */
	struct lint *lint; /* collects findings; may be NULL */
	struct err *err; /* the first fault */
	size_t n_errors; /* findings that are a LINT_ERROR */
	size_t n_names; /* names of all rules so far */
	uint64_t now; /* seconds since the epoch */
	uint64_t now_ms; /* clock_ms() */
	bool is_agent; /* an agent's own rules are being read */
	/* First name or address of the rule that is being read; NULL: none. */
	const char *about;
};

/* Reads the value @n into *@to, whose type the function's comment says. */
typedef int (*field_fn)(struct load *ld, const struct yaml_node *n, void *to);
struct field {
	struct schema_key is;
	field_fn fn;
	size_t offset; /* of what @fn fills, in the object of load_map() */
};

/* --- load/field.c: values ------------------------------------------------ */

/* Adds a finding with the code "form" at the position of @n. Sets ld->err to
 * "file:line:column: message", unless the linter found an error before. */
void load_fault(struct load *ld, const struct yaml_node *n, const char *fmt,
		...) ATTR_PRINTF(3, 4);
/* Does the same as an expression of value -EINVAL. */
#define load_refuse(ld, n, ...) (load_fault(ld, n, __VA_ARGS__), -EINVAL)
/* Does the same as load_fault() with another code, for programs. */
void load_fault_as(struct load *ld, const char *code, const struct yaml_node *n,
		   const char *fmt, ...) ATTR_PRINTF(4, 5);
/* Sets the message for want of memory. Returns -ENOMEM. */
static inline int load_nomem(struct load *ld)
{
	err_nomem(ld->err);
	return -ENOMEM;
}
/* Reads each key of the map @n by the field of that name, into the object @to
 * at the field's offset. Refuses other keys. A key may be missing. */
int load_map(struct load *ld, const struct yaml_node *n,
	     const struct field *fields, size_t n_fields, void *to);
/* Calls @fn with @to for each item of the list @n. */
int load_list(struct load *ld, const struct yaml_node *n, field_fn fn,
	      void *to);
/* Sets *@ret to the text of a string; it belongs to the node. */
int load_text(struct load *ld, const struct yaml_node *n, const char **ret);
/* Sets *@ret to the index in is->words of the word @n. */
int load_word(struct load *ld, const struct yaml_node *n,
	      const struct schema *is, unsigned *ret);
/* Read a number, and a size in bytes such as 16KiB, from is->min to is->max. */
int load_number(struct load *ld, const struct yaml_node *n,
		const struct schema *is, uint64_t *ret);
int load_size(struct load *ld, const struct yaml_node *n,
	      const struct schema *is, uint64_t *ret);
/* Reads a rate such as "50/s", with "/s" in @per: a number or, if @bytes, a
 * size, from 1 to @max. "none" is 0. */
int load_rate(struct load *ld, const struct yaml_node *n, const char *per,
	      bool bytes, uint64_t max, uint64_t *ret);
/* Reads a single address. */
int load_address(struct load *ld, const struct yaml_node *n, struct addr *ret);
/* Patterns of a SCHEMA_FORM for the rates that load_rate() reads. */
#define LOAD_COUNT_PER(per) "none|[1-9][0-9]*/" per
#define LOAD_BYTES_PER(per) "none|" SCHEMA_SIZE "/" per
#define LOAD_SIZE_FROM(low, high)                                            \
	{                                                                    \
		.kind = SCHEMA_AMOUNT, .pattern = SCHEMA_SIZE, .min = (low), \
		.max = (high)                                                \
	}
extern const struct schema load_id_is, load_ms_is, load_address_is;
/* Functions for fields. @to: const char *, an id of 1 to POLICY_ID_MAX
 * bytes. */
int load_id(struct load *ld, const struct yaml_node *n, void *to);
/* @to: const char *, a copy of any string. */
int load_string(struct load *ld, const struct yaml_node *n, void *to);
/* @to: bool. Accepts true and false without quotes. */
int load_bool(struct load *ld, const struct yaml_node *n, void *to);
/* @to: uint32_t, milliseconds, from 100 to those of a week. */
int load_ms(struct load *ld, const struct yaml_node *n, void *to);
/* Accepts any string and drops it; @to is not used. */
int load_ignored(struct load *ld, const struct yaml_node *n, void *to);
/* Refuse a key that would have no effect, with the reason @why: a file must not
 * promise what the gateway does not do. load_no_effect() always fails;
 * load_only_true() accepts `true`, which is how it is in any case. */
int load_no_effect(struct load *ld, const struct yaml_node *n, const char *why);
int load_only_true(struct load *ld, const struct yaml_node *n, const char *why);

/* --- load/endpoint.c: names, addresses, ports ---------------------------- */

struct port_list {
	const uint16_t *v; /* n pairs: first, last */
	uint16_t n;
};
extern const struct schema load_ports_is, load_cidr_is;
/* A list of names and patterns of names (.x and +x); one exact name. */
extern const struct schema load_patterns_is, load_exact_name_is;
/* Reads a list of ports and ranges. @to: struct port_list. */
int load_ports(struct load *ld, const struct yaml_node *n, void *to);
/* Converts the U-labels of a name that is not all ASCII. Sets *@ret, which the
 * caller frees. Returns 0, -ENOMEM, or -EINVAL with a static text in
 * *@ret_why. */
int name_to_ascii(const char *s, char **ret, const char **ret_why);
/* Reads a pattern such as ".a.b", with U-labels converted, into the name and
 * the MATCH_ bits. */
int load_pattern(struct load *ld, const struct yaml_node *n, struct name *ret,
		 unsigned *ret_kind);
/* Reads a name that is no pattern. */
int load_exact_name(struct load *ld, const struct yaml_node *n,
		    struct name *ret);
/* Reads a range of addresses, or a single address. */
int load_cidr(struct load *ld, const struct yaml_node *n, struct cidr *ret);

/* --- load/rule.c --------------------------------------------------------- */

/* Bits: why a name may be dangerous to reach by a tunnel. */
#define RISK_MULTI_TENANT 1u /* others can put their content there */
#define RISK_SHARED_CDN 2u /* its servers answer for other names, too (T2) */

struct rule_parse { /* a rule that is being read */
	struct rule_entry *e;
	struct rule_set *set; /* that it will be added to */
	const struct yaml_node *node, *names, *ips; /* the rule; its lists */
	const struct yaml_node *inspect; /* first key that needs inspection */
	struct http_rules *http; /* NULL: no such key so far */
	struct http_match own; /* `methods:`, `paths:` of the rule itself */
	bool has_auth, has_paths; /* such keys were read */
	bool lint; /* an allowing rule, whose names lint_name() checks */
	unsigned risk_ok; /* RISK_ bits that the rule accepts */
};

extern const struct schema load_allow_rules_is, load_deny_rules_is,
	load_services_is, load_rule_proto_is;
/* Append the items of a list of rules to @set, which is not sealed yet. */
int load_allow_rules(struct load *ld, const struct yaml_node *n,
		     struct rule_set *set);
int load_deny_rules(struct load *ld, const struct yaml_node *n,
		    struct rule_set *set);
/* load/service.c */
int load_services(struct load *ld, const struct yaml_node *n,
		  struct rule_set *set);
/* Begin a rule of @set, and add it with its names and addresses. */
int load_rule_begin(struct load *ld, const struct yaml_node *n,
		    struct rule_set *set, struct rule_parse *rp);
int load_rule_end(struct load *ld, struct rule_parse *rp);
/* Functions for fields. @to: struct rule_parse. */
int load_rule_id(struct load *ld, const struct yaml_node *n, void *to);
int load_rule_proto(struct load *ld, const struct yaml_node *n, void *to);
/* Makes @set ready for lookups, after its last rule. Fails if two rules have
 * the same id. */
int load_seal_set(struct load *ld, struct rule_set *set);
/* Does match_seal() with the policy's seed; @what names @m in the message. */
int load_seal(struct load *ld, struct match *m, const char *what);

/* --- load/requests.c ----------------------------------------------------- */

extern const struct schema load_methods_is, load_paths_is, load_rule_http_is,
	load_rule_auth_is, load_rule_stream_is, load_rule_upload_is,
	load_rule_response_is, load_rule_limits_is;
/* Read those of a rule's fields that need inspection. @to: struct
 * rule_parse. */
int load_rule_http(struct load *ld, const struct yaml_node *n, void *to);
int load_rule_methods(struct load *ld, const struct yaml_node *n, void *to);
int load_rule_paths(struct load *ld, const struct yaml_node *n, void *to);
int load_rule_auth(struct load *ld, const struct yaml_node *n, void *to);
int load_rule_stream(struct load *ld, const struct yaml_node *n, void *to);
int load_rule_upload(struct load *ld, const struct yaml_node *n, void *to);
int load_rule_response(struct load *ld, const struct yaml_node *n, void *to);
int load_rule_limits(struct load *ld, const struct yaml_node *n, void *to);
/* Sets the rule's http, if there is any, after the rule's last field. */
int load_rule_http_end(struct load *ld, struct rule_parse *rp);

/* --- load/section.c: what stands at the top ------------------------------ */

/* The functions for sections, here and in the next two files, fill ld->policy;
 * @to is not used. */
extern const struct schema load_defaults_is, load_credentials_is, load_audit_is,
	load_metrics_is, load_inspect_is;
int load_defaults(struct load *ld, const struct yaml_node *n, void *to);
int load_credentials(struct load *ld, const struct yaml_node *n, void *to);
int load_audit(struct load *ld, const struct yaml_node *n, void *to);
int load_metrics(struct load *ld, const struct yaml_node *n, void *to);

/* --- load/inspect.c ------------------------------------------------------ */

int load_inspect(struct load *ld, const struct yaml_node *n, void *to);

/* --- load/upstream.c ----------------------------------------------------- */

extern const struct schema load_hosts_is, load_upstream_proxy_is,
	load_dns_upstream_is;
int load_hosts(struct load *ld, const struct yaml_node *n, void *to);
int load_upstream_proxy(struct load *ld, const struct yaml_node *n, void *to);
int load_dns_upstream(struct load *ld, const struct yaml_node *n, void *to);

/* --- load/agent.c -------------------------------------------------------- */

extern const struct schema load_agent_is;
/* Compiles a whole agent against ld->policy, whose sets are sealed. The caller
 * owns the reference in *@ret. */
int load_agent(struct load *ld, const struct yaml_node *n,
	       struct agent_policy **ret);

/* --- load/lint.c --------------------------------------------------------- */

/* Adds a finding to ld->lint. Returns it, valid until the next one is added;
 * NULL if ld->lint is NULL or full, or without memory. A LINT_ERROR makes the
 * whole load fail at its end; the first one is the message in ld->err. */
struct lint_item *lint_say(struct load *ld, enum lint_level level,
			   const char *code, const char *file, unsigned line,
			   unsigned column, const char *fmt, ...)
	ATTR_PRINTF(7, 8);
/* Adds a LINT_ERROR for a fault of form, without setting ld->err. */
void lint_form(struct load *ld, const char *code, unsigned line,
	       unsigned column, const char *text);
#define lint_node(ld, level, code, n, ...)                            \
	lint_say(ld, level, code, (ld)->file, (n)->line, (n)->column, \
		 __VA_ARGS__)
/* Returns the RISK_ bit of a code such as "multi-tenant"; 0 if there is
 * none. */
unsigned lint_risk_of(const char *code);
/* Returns the RISK_ bits of a tunnel to the names of this pattern. */
unsigned lint_risks(const struct name *name, unsigned kind);
/* Returns true if no rule may allow all that is below @name, such as "com". */
bool lint_is_public_suffix(const char *name);
/* The next functions add findings; they cannot fail otherwise.
 *
 * Checks one name that a rule allows, when it is read, and counts it for the
 * rule's credential. */
void lint_name(struct load *ld, const struct rule_parse *rp,
	       const struct yaml_node *n, const struct name *name,
	       unsigned kind);
/* Checks what the fields of an allowing rule say together. */
void lint_rule(struct load *ld, const struct rule_parse *rp);
/* Reports rules of @set that never decide, because another one of @set or of
 * @others always wins. All sets are sealed. */
void lint_reach(struct load *ld, const struct rule_set *set,
		const struct rule_set *const *others, size_t n_others);
/* Reports names that @set allows and @deny denies. Both are sealed. */
void lint_deny(struct load *ld, const struct rule_set *set,
	       const struct rule_set *deny);
/* Reports credentials that go to more than one name, at the end of a load. */
void lint_credentials(struct load *ld);

#endif
