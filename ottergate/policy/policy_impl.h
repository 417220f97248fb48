/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_impl.h - what policies are made of; for the policy modules only
 */
#ifndef OTTERGATE_POLICY_POLICY_IMPL_H
#define OTTERGATE_POLICY_POLICY_IMPL_H

#include <stdatomic.h>

#include "lib/arena.h"
#include "ottergate/policy/request/graphql.h"
#include "ottergate/policy/request/path_set.h"
#include "ottergate/policy/net/match.h"
#include "ottergate/policy/net/own.h"
#include "ottergate/policy/policy.h"
#include "ottergate/policy/load.h"

#define POLICY_ID_MAX 63u /* fits the audit's fields */
#define POLICY_IPS_MAX 4096u /* ranges of one set, which are tried in turn */
#define POLICY_PORTS_MAX 64u /* ranges of a rule */
#define POLICY_SET_RULES_MAX 1000000u
#define POLICY_USE_MAX 32u /* presets of an agent */
#define POLICY_TCP_NAMES_MAX 1024u /* of an agent: each needs an address */

/* What a rule with `use: inspect` demands; judged by inspection alone. */
struct http_match {
	const char *const *methods, *const *paths; /* n_… 0: any */
	uint32_t n_methods, n_paths;
	uint64_t body_max; /* bytes; UINT64_MAX: any */
	const struct igraphql_rule *graphql; /* of the body; NULL: any */
	bool judge_forms; /* forms may name no other method */
	bool push; /* a denial that `git push: allow` would remove */
};

struct http_rules {
	const struct http_match *within, *allow, *deny;
	uint32_t n_within, n_allow, n_deny;
	/* The paths of @allow, then of @within, for ipath_set_match(); and of
	 * @deny, then of @allow, for ipath_set_like(). The items count in this
	 * order. */
	const struct ipath_set *exact, *alike;
	bool restricted; /* some of them name methods */
	bool exclusive; /* no credential but the rule's own may pass */
	const char *auth_as; /* `auth: {as}` */
	uint64_t upload_max, response_max; /* bytes; UINT64_MAX: any */
	uint64_t requests_min; /* a minute, 0: any */
};

/* A rule and where it stands. */
struct rule_entry {
	struct rule r; /* first: the verdict points to it */
	const char *file;
	uint32_t line, column;
	uint32_t first_name, n_names; /* in names.v of the set */
	uint32_t first_ip, n_ips; /* in ips of the set */
};

struct rule_ip {
	struct cidr cidr;
	uint32_t rule; /* index in the set */
};

/* Rules, and the names and addresses that they are for. Only read after
 * load_seal_set(). */
struct rule_set {
	const char *source; /* rule.source of its rules */
	struct rule_entry **rules;
	uint32_t n, cap;
	struct match names;
	struct rule_ip *ips;
	uint32_t n_ips, cap_ips;
};
/* Appends @e, which is borrowed as long as the set lives: it lies in an arena
 * of the same policy. Returns 0 or -ENOMEM (also for too many). */
int rule_set_add(struct rule_set *s, struct rule_entry *e);
/* Appends a copy of @c for the rule with the index @rule. Returns 0, -ENOMEM,
 * or -E2BIG beyond POLICY_IPS_MAX. */
int rule_set_add_ip(struct rule_set *s, const struct cidr *c, uint32_t rule);

struct preset {
	const char *name;
	struct rule_set set;
};

struct credential {
	const char *id;
	/* How many names rules send it to; a wildcard counts as two. For the
	 * linter. */
	uint32_t names;
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
	uint64_t seed; /* of all its struct match, and of their keys */
	struct arena arena;
	struct policy_defaults defaults;
	struct inspect_settings inspect;
	struct rule_set builtin, deny, services;
	struct preset *presets;
	size_t n_presets;
	struct credential *credentials;
	size_t n_credentials;
	struct static_host *hosts;
	struct match host_names; /* rule: an index of hosts */
	size_t n_hosts;
	struct upstream_proxy proxy; /* host NULL: none */
	struct match no_proxy;
	struct gate_settings settings;
	struct own own; /* of this machine, when it was loaded */
	struct agent_policy **agents; /* defined in the shared files */
	size_t n_agents;
	char hash[65]; /* policy_hash() */
};

/* A name of a `proto: tcp` rule, and its fixed address. */
struct synthetic {
	struct name name;
	struct addr addr;
};

struct agent_policy {
	atomic_uint refs;
	struct policy *policy; /* a reference, unless @inner */
	/* One of policy->agents: a reference to it is one to the policy. */
	bool inner;
	struct arena arena;
	const char *id;
	struct addr address;
	enum policy_mode mode;
	uint64_t expires; /* seconds since the epoch; 0: never */
	/* The same by clock_ms(), if it was given as a span; 0: as a date. */
	uint64_t ends_ms;
	struct limits limits;
	struct rule_set allow, deny, services; /* of its own */
	/* What allows: the policy's services, its own, allow, the policy's
	 * presets. */
	const struct rule_set *sets[POLICY_USE_MAX + 3];
	size_t n_sets;
	struct synthetic *synthetic; /* sorted by name */
	const struct synthetic **by_addr; /* the same, sorted by address */
	size_t n_synthetic;
	char hash[65];
};

/* --- policy.c ------------------------------------------------------------ */

/* Makes a policy with the built-in denials and the defaults; the caller owns
 * the reference in *@ret. Returns 0 or -ENOMEM. */
int policy_new(struct policy **ret);
/* Makes an empty policy of a sandbox against @p, of which it takes a reference;
 * the caller owns the reference in *@ret. Returns 0 or -ENOMEM. */
int agent_policy_new(struct policy *p, struct agent_policy **ret);
/* Gives every `proto: tcp` name in the sets of @a its address; called once,
 * when the sets are complete. Returns 0, -ENOMEM, or -E2BIG beyond
 * POLICY_TCP_NAMES_MAX. */
int agent_policy_assign(struct agent_policy *a);

/* --- decide.c ------------------------------------------------------------ */

/* Returns the built-in denial of the key's name, or NULL if there is none. */
const struct rule *policy_builtin_name(const struct policy *p,
				       const struct match_key *k);
/* Returns the rule of the deny set @s for the key's name and @port, or NULL.
 * @port 0, for a name alone: only rules for all ports count. */
const struct rule *rule_set_denies(const struct rule_set *s,
				   const struct match_key *k, uint16_t port);
/* Returns true if @port is in the list of @r; false if that is empty. */
bool rule_has_port(const struct rule *r, uint16_t port);
/* Returns true if the protocol that @r allows on @port can come by @path. */
bool rule_takes_path(const struct rule *r, uint16_t port, enum path path);

/* --- builtin.c ----------------------------------------------------------- */

struct builtin_name {
	const char *pattern; /* "x", ".x", "+x" */
	const char *id; /* of the rule */
	const char *what; /* what the name stands for, for people */
};
extern const struct builtin_name builtin_names[];
extern const size_t n_builtin_names;

/* Reads a pattern such as "+a.b" into the name and the MATCH_ bits. Returns 0.
 * Fails like name_canon(); *@ret and *@ret_kind are unchanged then. */
int name_pattern_parse(const char *s, struct name *ret, unsigned *ret_kind);
/* Writes the pattern of @e, such as ".a.b", to @out, which has NAME_LEN_MAX + 2
 * bytes. Returns @out. */
char *name_pattern_text(const struct match *m, const struct match_entry *e,
			char *out);

#endif
