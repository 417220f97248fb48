/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reason.h - why a connection was allowed or not; the same words everywhere
 *
 * The code goes into the audit, the metrics and the answer of `check`; the
 * text is for people. Append only: codes are part of the audit's format.
 */
#ifndef OTTERGATE_REASON_H
#define OTTERGATE_REASON_H

#include <stdbool.h>

#define REASON_TABLE(X)                                                        \
	X(ALLOWED, "allowed", "a rule allows it")                              \
	X(OBSERVED, "observed", "observe mode: no rule allows it")             \
	X(NOT_ALLOWED, "not-allowed", "no rule allows it")                     \
	X(PORT, "port", "the name is allowed, but not on this port")           \
	X(DENY_RULE, "deny-rule", "a deny rule names it")                      \
	X(DENY_ADDRESS, "deny-address", "it resolves to a denied address")     \
	X(BUILTIN_NAME, "builtin-name", "never allowed: a built-in denial")    \
	X(BUILTIN_ADDRESS, "builtin-address",                                  \
	  "never allowed: it resolves to a local or reserved address")         \
	X(ADDRESS_LITERAL, "address-literal",                                  \
	  "an address instead of a name: only `ips` rules allow that")         \
	X(BAD_NAME, "bad-name", "this is no host name")                        \
	X(NO_AGENT, "no-agent", "this address belongs to no sandbox")          \
	X(EXPIRED, "expired", "the policy of this sandbox has expired")        \
	X(NO_SNI, "no-sni", "the TLS hello names no server")                   \
	X(BAD_HELLO, "bad-hello", "this is no TLS hello that may pass")        \
	X(NOT_TLS, "not-tls", "neither TLS nor HTTP")                          \
	X(TLS_VERSION, "tls-version", "the TLS version is too old")            \
	X(ECH, "ech", "encrypted client hello hides the name")                 \
	X(SNI_MISMATCH, "sni-mismatch", "the TLS name is not the asked one")   \
	X(HELLO_TIMEOUT, "hello-timeout", "the request did not come in time")  \
	X(BAD_HTTP, "bad-http", "this is no HTTP request that may pass")       \
	X(HOST_MISMATCH, "host-mismatch", "Host and target differ")            \
	X(METHOD, "method", "the rule does not allow this method or path")     \
	X(NEEDS_INSPECT, "needs-inspect",                                      \
	  "the rule inspects requests, which needs TLS")                       \
	X(LIMIT_CONNS, "limit-conns", "too many connections")                  \
	X(LIMIT_HALF_OPEN, "limit-half-open",                                  \
	  "too many connections without a request")                            \
	X(LIMIT_RATE, "limit-rate", "too many new connections a second")       \
	X(LIMIT_VOLUME, "limit-volume", "the volume of this period is used")   \
	X(LIMIT_DNS, "limit-dns", "too many name queries")                     \
	X(LIMIT_NAMES, "limit-names", "too many new names")                    \
	X(LIMIT_KILLED, "limit-killed", "cut off: a limit was passed")         \
	X(LIMIT_AGE, "limit-age", "the connection reached its highest age")    \
	X(AUDIT_FULL, "audit-full", "the audit log cannot be written")         \
	X(NO_ADDRESS, "no-address", "the name has no address")                 \
	X(DNS_FAILED, "dns-failed", "the name could not be resolved")          \
	X(CONNECT_FAILED, "connect-failed", "the server refused or is away")   \
	X(CONNECT_TIMEOUT, "connect-timeout", "the server did not answer")     \
	X(POLICY_GONE, "policy-gone", "the policy allows it no longer")        \
	X(NO_MEMORY, "no-memory", "the gateway is out of memory or of files")  \
	X(DNS_TYPE, "dns-type", "this record type is not answered")            \
	X(BAD_DNS, "bad-dns", "this is no DNS question that may pass")         \
	X(DENIED_BY_PROXY, "upstream-proxy", "the upstream proxy refused it")  \
	X(PROTO, "proto", "the name is allowed, but for another protocol")     \
	X(LIMIT_LOOKUPS, "limit-lookups",                                      \
	  "too many names are being looked up at one time")                    \
	X(UPSTREAM_CERT, "upstream-cert",                                      \
	  "the server's certificate does not prove its name")                  \
	X(UPSTREAM_TLS, "upstream-tls", "TLS with the server failed")          \
	X(CLIENT_TLS, "client-tls",                                            \
	  "the client broke off TLS: it lacks our CA, or pins another one")    \
	X(PATH, "path", "this path can be read in more than one way")          \
	X(CREDENTIAL, "credential",                                            \
	  "a credential that is none of this sandbox's")                       \
	X(CANARY, "canary",                                                    \
	  "a stand-in of a credential where it has no business")               \
	X(NO_SECRET, "no-secret",                                              \
	  "the credential is not there, or not any longer")                    \
	X(BODY_LIMIT, "body-limit", "the body is longer than the rule allows") \
	X(GRAPHQL, "graphql",                                                  \
	  "the rule does not allow this GraphQL, or it cannot be judged")      \
	X(MASK, "mask", "the answer cannot be searched for the credential")    \
	X(WEBSOCKET, "websocket", "the rule does not allow WebSocket")         \
	X(LIMIT_REQUESTS, "limit-requests", "too many requests a minute")      \
	X(CA_EXPIRED, "ca-expired",                                            \
	  "the sandbox has outlived its CA: start it again")                   \
	X(UPSTREAM_HTTP, "upstream-http",                                      \
	  "the server's answer is no HTTP that may pass")                      \
	X(PATH_LONG, "path-long",                                              \
	  "the path is longer than 4 KiB, or has more than 64 segments, or "   \
	  "is longer than 8 KiB with its query")                               \
	X(HELLO_RECORDS, "hello-records",                                      \
	  "the TLS hello comes in more than 256 records, or in an empty one")  \
	X(HELLO_LONG, "hello-long",                                            \
	  "the TLS hello is longer than `tls: {hello_max}` allows")            \
	X(LIMIT_MEMORY, "limit-memory",                                        \
	  "the gateway's memory for this sandbox is used: answers wait "       \
	  "that it does not read")                                             \
	X(REFLECTION, "reflection",                                            \
	  "the server sent the real credential back, in another encoding")     \
	X(REVOKED, "revoked",                                                  \
	  "a server sent this credential back: it is revoked for this run")    \
	X(CONNECT_REFUSED, "connect-refused",                                  \
	  "the server refused the connection")                                 \
	X(NO_ROUTE, "no-route", "there is no route to the server")             \
	X(NO_HELLO, "no-hello", "it was closed before anything was said")

#define REASON_ENUM(id, code, text) REASON_##id,
enum reason { REASON_TABLE(REASON_ENUM) REASONS };
#undef REASON_ENUM

/* A limit of the sandbox, which is an event of its own in the audit. */
bool reason_is_limit(enum reason r);
/* Of a dial that ended with @code of connect(2) or SO_ERROR, negative. */
enum reason reason_of_connect(int code);
/* Of two attempts at one name that failed, what says more of it: the server
 * that is there before the one that is silent, no route last. */
enum reason reason_of_two(enum reason a, enum reason b);
const char *reason_code(enum reason r); /* "not-allowed" */
const char *reason_text(enum reason r); /* one clause, no full stop */

#endif
