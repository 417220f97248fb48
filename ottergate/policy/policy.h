/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy.h - compiled policy, and the one decision function
 *
 * Compiled objects are immutable and counted; workers read them without
 * locks. A `struct policy` is what all sandboxes share (defaults, global
 * deny, services, presets); a `struct agent_policy` is what one may reach
 * and holds a reference to the policy it was compiled against.
 *
 * Order of the decision, first match ends (policy.md): built-in denial →
 * global deny, agent's deny → rule-local deny → the most specific allow,
 * preset or service (exact before suffix, longer suffix before shorter;
 * ties: inspect before tunnel) → observe → default deny. Addresses are
 * judged a second time, after resolution, by decide_address().
 */
#ifndef OTTERGATE_POLICY_POLICY_H
#define OTTERGATE_POLICY_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "ottergate/policy/addr.h"
#include "ottergate/policy/name.h"
#include "ottergate/reason.h"

enum policy_mode { POLICY_ENFORCE, POLICY_OBSERVE };
enum rule_use { RULE_TUNNEL, RULE_INSPECT };
enum rule_proto {
	RULE_TLS,
	RULE_HTTP,
	RULE_TCP
}; /* default by port: 80 is
						    * http, the rest tls */
enum on_limit { LIMIT_THROTTLE, LIMIT_DENY, LIMIT_KILL };

/* How a connection came; also how it is named in the audit. */
enum path {
	PATH_DNS,
	PATH_TLS, /* transparent */
	PATH_HTTP, /* transparent, plain */
	PATH_TCP, /* transparent, `proto: tcp` by synthetic address */
	PATH_CONNECT, /* explicit proxy */
	PATH_PROXY, /* explicit proxy, absolute-URI */
	PATH_CHECK, /* nobody connects: `check`, `policy check` */
	PATHS,
};
const char *path_name(enum path p); /* "tls" */

struct limits { /* 0: no limit */
	uint32_t conns; /* at once */
	uint32_t half_open; /* of these, without a complete request */
	uint32_t new_conns; /* a second, bursts of twice that */
	uint64_t up, down; /* bytes a second */
	uint64_t volume_up, volume_down; /* bytes an hour */
	uint64_t memory; /* bytes that the gateway holds for it */
	uint32_t dns_qps;
	uint32_t new_names; /* an hour, distinct */
	uint32_t new_subdomains; /* an hour, distinct, below one wildcard */
	enum on_limit on_limit;
};

struct timeouts { /* milliseconds */
	uint32_t connect, idle, tunnel_max, request_header, hello;
};

struct tls_rules {
	uint16_t min_version; /* 0x0303 */
	bool ech_allow; /* `ech: outer` */
	bool no_sni_allow; /* only ever on CONNECT, with the CONNECT name */
	uint32_t hello_max; /* bytes */
};

/* One rule, as the verdict points to it. Strings belong to the policy. */
struct rule {
	const char *id;
	/* Who brought it: a preset, "agent", "blueprint" (of an agent's denial
	 * with `from`) or "deny". */
	const char *source;
	/* Of a denial that names one host: it, as in the policy. Else NULL. */
	const char *host;
	enum rule_use use;
	enum rule_proto proto;
	bool proto_set;
	bool websocket;
	bool ech_outer;
	bool cname_strict;
	bool service; /* exact private address below */
	struct addr service_ip;
	const uint16_t *ports; /* n_ports pairs first, last */
	uint16_t n_ports;
	const char *credential; /* id, NULL: none */
	const struct http_rules *http; /* NULL: none; inspection (issue 6) */
};

struct igraphql_rule;
struct policy; /* shared part */
struct agent_policy;

struct request {
	enum path path;
	const struct name *name; /* len 0: see addr */
	struct addr addr; /* the literal asked for, when there is no name */
	uint16_t port; /* 0 for DNS: any port the name is allowed on */
	struct slice method, target; /* HTTP paths only */
};

struct verdict {
	bool allow;
	enum reason reason;
	const struct rule *rule; /* NULL: none decided (default deny) */
	enum rule_use use;
	enum rule_proto proto; /* denied: what the path speaks */
	bool observed; /* let through by observe mode only */
	uint8_t below; /* labels below the wildcard that allowed it, else 0 */
	uint16_t port; /* of the request */
	/* What more is known for people, a constant; NULL or "": nothing. */
	const char *detail;
};

struct policy *policy_ref(struct policy *p);
void policy_unref(struct policy *p); /* NULL is fine */
struct agent_policy *agent_policy_ref(struct agent_policy *a);
void agent_policy_unref(struct agent_policy *a); /* NULL is fine */

const char *agent_policy_id(const struct agent_policy *a);
struct addr agent_policy_address(const struct agent_policy *a);
/* Seconds since the epoch after which everything is denied, 0: never. */
uint64_t agent_policy_expires(const struct agent_policy *a);
/*
 * Milliseconds until then, UINT64_MAX: never. @wall_ms: CLOCK_REALTIME;
 * @now_ms: clock_ms(). A span ends when either of them says so: a wall clock
 * that is set back prolongs none.
 */
uint64_t agent_policy_left(const struct agent_policy *a, uint64_t wall_ms,
			   uint64_t now_ms);
enum policy_mode agent_policy_mode(const struct agent_policy *a);
const struct limits *agent_policy_limits(const struct agent_policy *a);
const struct timeouts *agent_policy_timeouts(const struct agent_policy *a);
const struct tls_rules *agent_policy_tls(const struct agent_policy *a);
uint32_t agent_policy_dns_ttl(const struct agent_policy *a); /* seconds */

/* The decision. Pure but for nothing: no clock, no lock, no allocation; the
 * time is the caller's (expiry is judged by him, see table.h). */
struct verdict decide(const struct agent_policy *a, const struct request *rq);

#define HTTP_GRAPHQL_MAX 4u /* more for one path: none passes */

/*
 * What an inspect rule says of one request for a name that it allows; what
 * several entries of `http: {allow}` that fit say, the strictest of them says.
 */
struct http_verdict {
	enum reason reason; /* ALLOWED, METHOD, PATH_LONG, NO_MEMORY */
	int status; /* to answer when it is not allowed: 403, 405, 414, 503 */
	bool restricted; /* it matters to the rule which method it is */
	bool push; /* not allowed, and `git push: allow` would change that */
	/* The body is GraphQL that passes each of these, or it is refused. */
	const struct igraphql_rule *graphql[HTTP_GRAPHQL_MAX];
	uint32_t n_graphql;
	bool judge_forms; /* a form that names another method is refused */
	bool exclusive; /* no credential but the rule's own */
	const char *as; /* `auth: {as}`, NULL: not said */
	uint64_t body_max, response_max; /* bytes; UINT64_MAX: any */
	uint64_t requests_min; /* a minute, 0: any */
	uint64_t work; /* nodes that were visited for the path (ipath_set.h) */
};

/* @path is canonical (ipath.h), without query. Pure. */
struct http_verdict decide_http(const struct rule *rule, struct slice method,
				struct slice path);

/* addr_classify(), and ADDR_SELF for what this machine itself has. */
enum addr_class agent_policy_addr_class(const struct agent_policy *a,
					const struct addr *addr);

/*
 * May @v's connection go to @addr, one of those its name resolved to?
 * REASON_ALLOWED, REASON_BUILTIN_ADDRESS, REASON_DENY_ADDRESS. A service's
 * own address passes as the services entry says.
 */
enum reason decide_address(const struct agent_policy *a,
			   const struct verdict *v, const struct addr *addr);
/* Is an alias @target of an allowed name all right? Only `cname: strict`
 * rules mind (N15): the target must be allowed itself, on the same port. */
bool decide_alias(const struct agent_policy *a, const struct verdict *v,
		  const struct name *target);

/*
 * Names that may be reached by plain TCP (`proto: tcp`, exact names only) have
 * an address of 198.18.0.0/15 for good, since TCP says no name: from the name
 * to the address (family 0: lease.h has one), and back (NULL: no such). The
 * name may have other rules on other ports: where PATH_TCP is denied, the first
 * bytes still decide as for any connection.
 */
struct addr agent_policy_synthetic(const struct agent_policy *a,
				   const struct name *name);
const struct name *agent_policy_synthetic_name(const struct agent_policy *a,
					       const struct addr *addr);

/* `upstream_proxy:`; NULL: dial directly. @name is matched with no_proxy. */
struct upstream_proxy {
	char *host; /* name or address; resolved like any other, but may be
		     * private: the user wrote it */
	uint16_t port;
	char *authorization; /* "Basic …" or NULL */
};
const struct upstream_proxy *agent_policy_upstream(const struct agent_policy *a,
						   const struct name *name);
/* `hosts:` static records: n addresses for @name, 0: none. */
size_t agent_policy_hosts(const struct agent_policy *a, const struct name *name,
			  const struct addr **ret);

#endif
