/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy.h - compiled policy, and the one decision function
 *
 * Compiled objects are immutable and reference-counted; workers read them
 * without locks. A `struct policy` is what all sandboxes share (defaults,
 * global deny, services, presets); a `struct agent_policy` is what one sandbox,
 * the agent, may reach, and holds a reference to the policy it was compiled
 * against. What functions return by pointer belongs to the policy that they
 * were given, unless the comment says otherwise.
 *
 * Order of decide(), the first match decides: built-in denial → global deny,
 * then the agent's → the most specific allow, of the agent, a preset or a
 * service (exact before suffix, longer suffix before shorter; of equals,
 * inspect before tunnel) → observe mode → denial. decide_http() then judges
 * each request by the inspect rule. Addresses are judged after resolution by
 * decide_address().
 */
#ifndef OTTERGATE_POLICY_POLICY_H
#define OTTERGATE_POLICY_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "ottergate/policy/net/addr.h"
#include "ottergate/policy/net/name.h"
#include "ottergate/reason.h"

enum policy_mode { POLICY_ENFORCE, POLICY_OBSERVE };
enum rule_use { RULE_TUNNEL, RULE_INSPECT };
/* If a rule does not say it: http on port 80, tls on every other. RULE_TCP: any
 * bytes. */
enum rule_proto { RULE_TLS, RULE_HTTP, RULE_TCP };
enum on_limit { LIMIT_THROTTLE, LIMIT_DENY, LIMIT_KILL };

/* How a connection came; also how it is named in the audit. */
enum path {
	PATH_DNS,
	PATH_TLS, /* transparent */
	PATH_HTTP, /* transparent, plain */
	PATH_TCP, /* transparent, `proto: tcp` by synthetic address */
	PATH_CONNECT, /* explicit proxy */
	PATH_PROXY, /* explicit proxy, absolute-URI */
	PATH_CHECK, /* no one connects: `check`, `policy check` */
	PATHS, /* how many there are */
};
/* Returns the word for the audit, such as "tls", static. */
const char *path_name(enum path p);

struct limits { /* 0: no limit */
	uint32_t conns; /* at once */
	uint32_t half_open; /* of these, without a complete request */
	uint32_t new_conns; /* a second, bursts of twice that */
	uint64_t up, down; /* bytes a second */
	uint64_t volume_up, volume_down; /* bytes an hour */
	uint64_t memory; /* bytes that the gateway holds for the sandbox */
	uint32_t dns_qps; /* DNS questions a second, bursts of twice that */
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
	bool proto_set; /* the rule says `proto`; else it goes by the port */
	bool websocket; /* may be used, with inspection */
	/* An encrypted hello may pass; it is judged by its outer name. */
	bool ech_outer;
	bool cname_strict; /* aliases must be allowed too: decide_alias() */
	bool service; /* of `services:`; it is at service_ip and nowhere else */
	bool insecure; /* may inspect plain HTTP, of a service alone */
	struct addr service_ip;
	/* Of a service on the user's own loopback: the name of the unix socket
	 * that is dialled in place of service_ip. NULL: another service. */
	const char *socket;
	/* n_ports pairs: first, last. A denial without ports is for all. */
	const uint16_t *ports;
	uint16_t n_ports;
	const char *credential; /* id, NULL: none */
	/* What inspection judges a request by; NULL: nothing. */
	const struct http_rules *http;
};

struct igraphql_rule;
struct policy; /* shared part */
struct agent_policy;

struct request {
	enum path path;
	const struct name *name; /* len 0: see addr */
	struct addr addr; /* the literal asked for, when there is no name */
	/* 0 on PATH_DNS: allowed if the name is allowed on any port. */
	uint16_t port;
	struct slice method, target; /* HTTP only; not used by decide() */
};

struct verdict {
	bool allow;
	enum reason reason;
	/* The rule that decided, of allowed and denied requests; NULL: none. It
	 * is the policy's. */
	const struct rule *rule;
	enum rule_use use; /* of a rule that allows the name */
	enum rule_proto proto; /* of such a rule; else of the path */
	bool observed; /* let through by observe mode only */
	uint8_t below; /* labels below the wildcard that allowed it, else 0 */
	uint16_t port; /* of the request */
	/* The service that has this name and port: its address is dialled, and
	 * no other. NULL: the name is resolved. */
	const struct rule *service;
	/* More about the reason, for people, static; NULL or "": nothing. */
	const char *detail;
};

/* Take a reference and return their argument, which must not be NULL. */
struct policy *policy_ref(struct policy *p);
void policy_unref(struct policy *p); /* NULL is fine */
struct agent_policy *agent_policy_ref(struct agent_policy *a);
void agent_policy_unref(struct agent_policy *a); /* NULL is fine */

/* Return the sandbox's name and its address. */
const char *agent_policy_id(const struct agent_policy *a);
struct addr agent_policy_address(const struct agent_policy *a);
/* Returns the time, in seconds since the epoch, after which everything is
 * denied; 0: never. */
uint64_t agent_policy_expires(const struct agent_policy *a);
/*
 * Returns the milliseconds until then: 0 if it has passed, UINT64_MAX for
 * never. @wall_ms: CLOCK_REALTIME; @now_ms: clock_ms(). An expiry that was
 * given as a span ends by whichever clock is first, so that setting the wall
 * clock back does not prolong it.
 */
uint64_t agent_policy_left(const struct agent_policy *a, uint64_t wall_ms,
			   uint64_t now_ms);
/* Return single settings. */
enum policy_mode agent_policy_mode(const struct agent_policy *a);
const struct limits *agent_policy_limits(const struct agent_policy *a);
const struct timeouts *agent_policy_timeouts(const struct agent_policy *a);
const struct tls_rules *agent_policy_tls(const struct agent_policy *a);
uint32_t agent_policy_dns_ttl(const struct agent_policy *a); /* seconds */

/* Returns the decision on a request. Has no side effects, takes no lock and
 * allocates nothing. Does not look at the clock: the caller judges the expiry
 * (agent_policy_left()), and the usage limits (limits.h). */
struct verdict decide(const struct agent_policy *a, const struct request *rq);

/* GraphQL rules for one path. If more fit, the request is refused. */
#define HTTP_GRAPHQL_MAX 4u

/*
 * What an inspect rule says about one request for a name that it allows. If
 * several entries of `http: {allow}` fit, the demands of all of them apply.
 */
struct http_verdict {
	enum reason reason; /* ALLOWED, METHOD, PATH_LONG, NO_MEMORY */
	int status; /* to answer if it is not allowed: 403, 405, 414, 503 */
	bool restricted; /* the rule names methods, allowed or denied */
	bool push; /* denied, and `git push: allow` would allow it */
	/* The body must be GraphQL that passes each of these. */
	const struct igraphql_rule *graphql[HTTP_GRAPHQL_MAX];
	uint32_t n_graphql;
	bool judge_forms; /* forms that name another method are to be refused */
	bool exclusive; /* no credential but the rule's own may pass */
	const char *as; /* `auth: {as}`, NULL: not given */
	uint64_t body_max, response_max; /* bytes; UINT64_MAX: any */
	uint64_t requests_min; /* requests a minute, 0: any number */
	/* Nodes that were visited for the path (request/path_set.h). */
	uint64_t work;
};

/* Judges one request by @rule. @path is canonical (request/path.h), without
 * query. Has no side effects, but allocates for the length of the call: without
 * memory the request is denied with NO_MEMORY. */
struct http_verdict decide_http(const struct rule *rule, struct slice method,
				struct slice path);

/* Returns addr_classify(), but ADDR_SELF for an address of this machine
 * (own.h), unless the class is ADDR_METADATA or ADDR_LOOPBACK. */
enum addr_class agent_policy_addr_class(const struct agent_policy *a,
					const struct addr *addr);

/*
 * Judges whether the connection that @v allowed may go to @addr, one of the
 * addresses that its name resolved to. Returns REASON_ALLOWED,
 * REASON_BUILTIN_ADDRESS or REASON_DENY_ADDRESS. The name and port of a service
 * (v->service) may go to its address alone, which may also be of class
 * ADDR_PRIVATE or ADDR_CGNAT, and is of class ADDR_LOOPBACK if its `socket` is
 * dialled in place of it; all others to ADDR_PUBLIC alone.
 */
enum reason decide_address(const struct agent_policy *a,
			   const struct verdict *v, const struct addr *addr);
/* Returns true if the name that @v allowed may be an alias (CNAME) of @target.
 * For a `cname: strict` rule (N15) the target must be allowed itself, on the
 * same port; for others any target will do. */
bool decide_alias(const struct agent_policy *a, const struct verdict *v,
		  const struct name *target);

/*
 * Plain TCP does not say which name it is for. So each name of a `proto: tcp`
 * rule (exact names only) has a fixed address in 198.18.0.0/15.
 * agent_policy_synthetic() returns the address of @name; family 0 if it has
 * none (lease.h may have one). agent_policy_synthetic_name() returns the name
 * of @addr, or NULL. The name may have other rules on other ports: where
 * PATH_TCP is denied, the first bytes decide, as for any connection.
 */
struct addr agent_policy_synthetic(const struct agent_policy *a,
				   const struct name *name);
const struct name *agent_policy_synthetic_name(const struct agent_policy *a,
					       const struct addr *addr);

struct upstream_proxy { /* `upstream_proxy:` */
	/* Name or address. It is resolved like any other, but may be private,
	 * since the user wrote it. */
	char *host;
	uint16_t port;
	char *authorization; /* "Basic …" or NULL */
};
/* Returns the proxy for @name; NULL if there is none or `no_proxy` has the
 * name: then it is dialled directly. */
const struct upstream_proxy *agent_policy_upstream(const struct agent_policy *a,
						   const struct name *name);
/* Returns the service that has @name and @port, or NULL. */
const struct rule *agent_policy_service(const struct agent_policy *a,
					const struct name *name, uint16_t port);
/* Returns how many addresses `hosts:` has for @name and sets *@ret to the
 * first; 0, with *@ret unchanged, if it has none. */
size_t agent_policy_hosts(const struct agent_policy *a, const struct name *name,
			  const struct addr **ret);

#endif
