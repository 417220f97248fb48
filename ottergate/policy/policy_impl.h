/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_impl.h - what policies are made of; for the policy modules only
 */
#ifndef OTTERGATE_POLICY_POLICY_IMPL_H
#define OTTERGATE_POLICY_POLICY_IMPL_H

#include <stdatomic.h>

#include "lib/arena.h"
#include "ottergate/policy/igraphql.h"
#include "ottergate/policy/ipath_set.h"
#include "ottergate/policy/match.h"
#include "ottergate/policy/own.h"
#include "ottergate/policy/policy.h"
#include "ottergate/policy/load.h"

#define POLICY_ID_MAX 63u /* fits the audit's fields */
#define POLICY_IPS_MAX 4096u /* of one set: they are tried one by one */
#define POLICY_PORTS_MAX 64u /* ranges of a rule */
#define POLICY_SET_RULES_MAX 1000000u
#define POLICY_USE_MAX 32u /* presets of an agent */
#define POLICY_TCP_NAMES_MAX 1024u /* of an agent: each needs an address */

/* What a rule with `use: inspect` demands; judged by inspection alone. */
struct http_match {
	const char *const *methods, *const *paths; /* n: any */
	uint32_t n_methods, n_paths;
	uint64_t body_max; /* bytes; UINT64_MAX: any */
	const struct igraphql_rule *graphql; /* of the body; NULL: any */
	bool judge_forms; /* they may name no other method */
	bool push; /* of a denial: `git push: allow` lifts it */
};

struct http_rules {
	const struct http_match *within, *allow, *deny;
	uint32_t n_within, n_allow, n_deny;
	/* Their paths: those of @allow, then those of @within, as they are; those
	 * of @deny, then those of @allow, in every way in which a server may read
	 * one. */
	const struct ipath_set *exact, *alike;
	bool restricted; /* some of them name methods */
	bool exclusive;
	const char *auth_as; /* `auth: {as}` */
	uint64_t upload_max, response_max; /* bytes; UINT64_MAX: any */
	uint64_t requests_min; /* a minute, 0: any */
};

/* A rule and where it stands. */
struct rule_entry {
	struct rule r; /* first: the verdict points to it */
	const char *file;
	uint32_t line, column;
	uint32_t first_name, n_names; /* in the set's match */
	uint32_t first_ip, n_ips;
};

struct rule_ip {
	struct cidr cidr;
	uint32_t rule;
};

/* Rules, and the names and addresses that they are for. Sealed: read only. */
struct rule_set {
	const char *source;
	struct rule_entry **rules;
	uint32_t n, cap;
	struct match names;
	struct rule_ip *ips;
	uint32_t n_ips, cap_ips;
};
int rule_set_add(struct rule_set *s, struct rule_entry *e);
int rule_set_add_ip(struct rule_set *s, const struct cidr *c, uint32_t rule);

struct preset {
	const char *name;
	struct rule_set set;
};

struct credential {
	const char *id;
	uint32_t names; /* that get it: the linter counts */
	const char *file;
	uint32_t line, column;
};

struct static_host {
	const struct addr *addrs;
	size_t n;
};

struct inspect_settings {
	uint32_t ca_seconds;
	uint32_t leaf_lifetime; /* ms */
};

struct policy_defaults {
	enum policy_mode mode;
	const uint16_t *ports;
	uint16_t n_ports;
	struct tls_rules tls;
	struct timeouts timeouts;
	uint32_t dns_ttl;
	bool cname_strict;
};

struct policy {
	atomic_uint refs;
	uint64_t seed;
	struct arena arena;
	struct policy_defaults defaults;
	struct inspect_settings inspect;
	struct rule_set builtin, deny, services;
	struct preset *presets;
	size_t n_presets;
	struct credential *credentials;
	size_t n_credentials;
	struct static_host *hosts;
	struct match host_names;
	size_t n_hosts;
	struct upstream_proxy proxy; /* host NULL: none */
	struct match no_proxy;
	struct gate_settings settings;
	struct own own; /* of this machine, when it was loaded */
	struct agent_policy **agents; /* of the files themselves */
	size_t n_agents;
	char hash[65];
};

/* A name with an address of its own; by name and by address. */
struct synthetic {
	struct name name;
	struct addr addr;
};

struct agent_policy {
	atomic_uint refs;
	struct policy *policy; /* a reference, unless @inner */
	bool inner; /* belongs to the policy: counted with it */
	struct arena arena;
	const char *id;
	struct addr address;
	enum policy_mode mode;
	uint64_t expires; /* seconds since the epoch; 0: never */
	uint64_t ends_ms; /* of a span: the same by clock_ms(); 0: a date */
	struct limits limits;
	struct rule_set allow, deny;
	const struct rule_set *sets[POLICY_USE_MAX + 2]; /* services, allow,
							  * presets */
	size_t n_sets;
	struct synthetic *synthetic; /* by name */
	const struct synthetic **by_addr;
	size_t n_synthetic;
	char hash[65];
};

/* --- policy.c ------------------------------------------------------------ */

/* With the built-in denials and the defaults; one reference. */
int policy_new(struct policy **ret);
int agent_policy_new(struct policy *p, struct agent_policy **ret);
/* Gives every `proto: tcp` name of @a its address. -E2BIG. */
int agent_policy_assign(struct agent_policy *a);

/* --- decide.c ------------------------------------------------------------ */

/* The built-in denial of this name, NULL: none. */
const struct rule *policy_builtin_name(const struct policy *p,
				       const struct match_key *k);
/* The rule of the deny set @s for the key's name. @port 0: only rules for all
 * ports count. */
const struct rule *rule_set_denies(const struct rule_set *s,
				   const struct match_key *k, uint16_t port);
bool rule_has_port(const struct rule *r, uint16_t port);
/* Does the protocol that @r allows on @port come by this path? */
bool rule_takes_path(const struct rule *r, uint16_t port, enum path path);

/* --- builtin.c ----------------------------------------------------------- */

struct builtin_name {
	const char *pattern; /* "x", ".x", "+x" */
	const char *id; /* of the rule */
	const char *what;
};
extern const struct builtin_name builtin_names[];
extern const size_t n_builtin_names;

/* "+a.b": the name and the MATCH_ bits. As name_canon(). */
int name_pattern_parse(const char *s, struct name *ret, unsigned *ret_kind);
/* ".a.b", back again. @out: NAME_LEN_MAX + 2 bytes. */
char *name_pattern_text(const struct match *m, const struct match_entry *e,
			char *out);

#endif
