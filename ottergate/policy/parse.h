/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse.h - from YAML nodes to policy: shared by the loader's files
 *
 * Faults of form end a load at once; what the linter says is collected, so
 * that one run shows all of it.
 */
#ifndef OTTERGATE_POLICY_PARSE_H
#define OTTERGATE_POLICY_PARSE_H

#include "ottergate/policy/policy_impl.h"
#include "ottergate/policy/yaml.h"

struct load {
	struct policy *policy; /* being made, or compiled against */
	struct arena *arena; /* of what is being made */
	const char *file; /* now read; lives in @arena */
	struct lint *lint; /* may be NULL */
	struct err *err; /* holds the first fault */
	size_t n_errors; /* of the linter */
	size_t n_names;
	uint64_t now; /* seconds since the epoch */
	uint64_t now_ms; /* clock_ms() */
	bool is_agent; /* what is read are an agent's own rules */
	const char *about; /* what the rule now read is for, NULL: no rule is */
};

typedef int (*field_fn)(struct load *ld, const struct yaml_node *n, void *to);
struct field {
	const char *key;
	field_fn fn;
	size_t offset; /* of what @fn fills, within the object */
};

/* --- policy/field.c: values ---------------------------------------------- */

/* Sets @err to "file:line:col: …" unless it holds a fault. */
void load_fault(struct load *ld, const struct yaml_node *n, const char *fmt,
		...) ATTR_PRINTF(3, 4);
/* The same as an expression: analyzers shall see that it is a failure. */
#define load_refuse(ld, n, ...) (load_fault(ld, n, __VA_ARGS__), -EINVAL)
/* The same with a code for programs other than "form". */
void load_fault_as(struct load *ld, const char *code, const struct yaml_node *n,
		   const char *fmt, ...) ATTR_PRINTF(4, 5);
static inline int load_nomem(struct load *ld)
{
	err_nomem(ld->err);
	return -ENOMEM;
}
/* Each key of the map @n by its field; others are refused. */
int load_map(struct load *ld, const struct yaml_node *n,
	     const struct field *fields, size_t n_fields, void *to);
/* Each item of the list @n. */
int load_list(struct load *ld, const struct yaml_node *n, field_fn fn,
	      void *to);
int load_text(struct load *ld, const struct yaml_node *n, const char **ret);
/* One of @words, a NULL-terminated list: its index. */
int load_word(struct load *ld, const struct yaml_node *n,
	      const char *const *words, unsigned *ret);
int load_number(struct load *ld, const struct yaml_node *n, uint64_t min,
		uint64_t max, uint64_t *ret);
/* "50/s" when @per is "/s"; a number, or a size when @bytes. "none": 0. */
int load_rate(struct load *ld, const struct yaml_node *n, const char *per,
	      bool bytes, uint64_t max, uint64_t *ret);
int load_size(struct load *ld, const struct yaml_node *n, uint64_t min,
	      uint64_t max, uint64_t *ret);
int load_address(struct load *ld, const struct yaml_node *n, struct addr *ret);
/* Fields: */
int load_id(struct load *ld, const struct yaml_node *n, void *to);
int load_string(struct load *ld, const struct yaml_node *n, void *to);
int load_bool(struct load *ld, const struct yaml_node *n, void *to);
int load_ms(struct load *ld, const struct yaml_node *n, void *to);
int load_ignored(struct load *ld, const struct yaml_node *n, void *to);
/* Refuse a key that would have no effect, and say why: no file shall promise what
 * nobody keeps. The second takes `true` alone, which is so in any case. */
int load_no_effect(struct load *ld, const struct yaml_node *n, const char *why);
int load_only_true(struct load *ld, const struct yaml_node *n, const char *why);

/* --- policy/names.c: names, addresses, ports ----------------------------- */

struct port_list {
	const uint16_t *v; /* pairs */
	uint16_t n;
};
int load_ports(struct load *ld, const struct yaml_node *n, void *to);
/* A name that is not all ASCII, its U-labels converted; *ret by free(). -EINVAL
 * with *ret_why. */
int name_to_ascii(const char *s, char **ret, const char **ret_why);
/* ".a.b" with U-labels converted. */
int load_pattern(struct load *ld, const struct yaml_node *n, struct name *ret,
		 unsigned *ret_kind);
int load_exact_name(struct load *ld, const struct yaml_node *n,
		    struct name *ret);
int load_cidr(struct load *ld, const struct yaml_node *n, struct cidr *ret);

/* --- policy/rule.c ------------------------------------------------------- */

/* Why a name may be no good in a tunnel. */
#define RISK_MULTI_TENANT 1u /* others can put their content there */
#define RISK_SHARED_CDN 2u /* the edge serves other names, too (T2) */

struct rule_parse {
	struct rule_entry *e;
	struct rule_set *set;
	const struct yaml_node *node, *names, *ips;
	const struct yaml_node *inspect; /* first key that needs inspection */
	struct http_rules *http;
	struct http_match own; /* `methods:`, `paths:` of the rule itself */
	bool has_auth, has_paths;
	bool lint; /* its names: it allows them */
	unsigned risk_ok;
};

/* The items of a list of rules into @set, not sealed yet. */
int load_allow_rules(struct load *ld, const struct yaml_node *n,
		     struct rule_set *set);
int load_deny_rules(struct load *ld, const struct yaml_node *n,
		    struct rule_set *set);
int load_services(struct load *ld, const struct yaml_node *n);
/* After the last rule: unique ids, lookups. @what is for the message. */
int load_seal_set(struct load *ld, struct rule_set *set);
int load_seal(struct load *ld, struct match *m, const char *what);

/* --- policy/requests.c -------------------------------------------------------
 * */

/* Those of a rule's fields that need inspection. @to: struct rule_parse. */
int load_rule_http(struct load *ld, const struct yaml_node *n, void *to);
int load_rule_methods(struct load *ld, const struct yaml_node *n, void *to);
int load_rule_paths(struct load *ld, const struct yaml_node *n, void *to);
int load_rule_auth(struct load *ld, const struct yaml_node *n, void *to);
int load_rule_stream(struct load *ld, const struct yaml_node *n, void *to);
int load_rule_upload(struct load *ld, const struct yaml_node *n, void *to);
int load_rule_response(struct load *ld, const struct yaml_node *n, void *to);
int load_rule_limits(struct load *ld, const struct yaml_node *n, void *to);
/* After the last field: fills the rule's http. */
int load_rule_http_end(struct load *ld, struct rule_parse *rp);

/* --- policy/section.c: what stands at the top ---------------------------- */

int load_defaults(struct load *ld, const struct yaml_node *n, void *to);
int load_credentials(struct load *ld, const struct yaml_node *n, void *to);
int load_audit(struct load *ld, const struct yaml_node *n, void *to);
int load_metrics(struct load *ld, const struct yaml_node *n, void *to);
int load_inspect(struct load *ld, const struct yaml_node *n, void *to);

/* --- policy/upstream.c -------------------------------------------------------
 * */

int load_hosts(struct load *ld, const struct yaml_node *n, void *to);
int load_upstream_proxy(struct load *ld, const struct yaml_node *n, void *to);
int load_dns_upstream(struct load *ld, const struct yaml_node *n, void *to);

/* --- policy/agent.c ------------------------------------------------------ */

/* A whole agent, against the sealed policy. *ret: one reference. */
int load_agent(struct load *ld, const struct yaml_node *n,
	       struct agent_policy **ret);

/* --- policy/lint.c ------------------------------------------------------- */

/* A finding more. Returns it, to be added to before the next one comes, or NULL:
 * nobody listens, or there are too many. A LINT_ERROR fails the load. */
struct lint_item *lint_say(struct load *ld, enum lint_level level,
			   const char *code, const char *file, unsigned line,
			   unsigned column, const char *fmt, ...)
	ATTR_PRINTF(7, 8);
/* A fault of form, which has its error already. */
void lint_form(struct load *ld, const char *code, unsigned line,
	       unsigned column, const char *text);
#define lint_node(ld, level, code, n, ...)                            \
	lint_say(ld, level, code, (ld)->file, (n)->line, (n)->column, \
		 __VA_ARGS__)
/* "multi-tenant": its bit, 0: no such. */
unsigned lint_risk_of(const char *code);
/* What a tunnel to the names of this pattern cannot see. */
unsigned lint_risks(const struct name *name, unsigned kind);
/* Says whether no rule may allow all that is below @name, "com" say. */
bool lint_is_public_suffix(const char *name);
/* One name that a rule allows, as it is read. */
void lint_name(struct load *ld, const struct rule_parse *rp,
	       const struct yaml_node *n, const struct name *name,
	       unsigned kind);
void lint_rule(struct load *ld, const struct rule_parse *rp);
/* Sealed sets: rules of @set that an earlier one, or one of @others, always
 * wins against; names that @deny takes away. */
void lint_reach(struct load *ld, const struct rule_set *set,
		const struct rule_set *const *others, size_t n_others);
void lint_deny(struct load *ld, const struct rule_set *set,
	       const struct rule_set *deny);
void lint_credentials(struct load *ld);

#endif
