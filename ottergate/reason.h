/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reason.h - the reasons of verdicts, in the same words everywhere
 *
 * The code appears in the audit, the metrics and the answer of `check`; the
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
	X(BAD_NAME, "bad-name", "this is not a host name")                     \
	X(NO_AGENT, "no-agent", "this address belongs to no sandbox")          \
	X(EXPIRED, "expired", "the policy of this sandbox has expired")        \
	X(NO_SNI, "no-sni", "the TLS hello names no server")                   \
	X(BAD_HELLO, "bad-hello", "the TLS hello is malformed or not allowed") \
	X(NOT_TLS, "not-tls", "neither TLS nor HTTP")                          \
	X(TLS_VERSION, "tls-version", "the TLS version is too old")            \
	X(ECH, "ech", "encrypted client hello hides the name")                 \
	X(SNI_MISMATCH, "sni-mismatch",                                        \
	  "the TLS name is not the requested one")                             \
	X(HELLO_TIMEOUT, "hello-timeout", "the request did not come in time")  \
	X(BAD_HTTP, "bad-http",                                                \
	  "the HTTP request is malformed or not allowed")                      \
	X(HOST_MISMATCH, "host-mismatch", "Host and target differ")            \
	X(METHOD, "method", "the rule does not allow this method or path")     \
	X(NEEDS_INSPECT, "needs-inspect",                                      \
	  "the rule inspects requests, which needs TLS")                       \
	X(LIMIT_CONNS, "limit-conns", "too many connections")                  \
	X(LIMIT_HALF_OPEN, "limit-half-open",                                  \
	  "too many connections without a request")                            \
	X(LIMIT_RATE, "limit-rate", "too many new connections a second")       \
	X(LIMIT_VOLUME, "limit-volume",                                        \
	  "the volume of this period is used up")                              \
	X(LIMIT_DNS, "limit-dns", "too many name queries")                     \
	X(LIMIT_NAMES, "limit-names", "too many new names")                    \
	X(LIMIT_KILLED, "limit-killed", "cut off: a limit was exceeded")       \
	X(LIMIT_AGE, "limit-age", "the connection reached its maximum age")    \
	X(AUDIT_FULL, "audit-full", "the audit log cannot be written")         \
	X(NO_ADDRESS, "no-address", "the name has no address")                 \
	X(DNS_FAILED, "dns-failed", "the name could not be resolved")          \
	X(CONNECT_FAILED, "connect-failed", "the server could not be reached") \
	X(CONNECT_TIMEOUT, "connect-timeout", "the server did not answer")     \
	X(POLICY_GONE, "policy-gone", "the policy no longer allows it")        \
	X(NO_MEMORY, "no-memory",                                              \
	  "the gateway is out of memory or descriptors")                       \
	X(DNS_TYPE, "dns-type", "this record type is not answered")            \
	X(BAD_DNS, "bad-dns", "the DNS question is malformed or not allowed")  \
	X(DENIED_BY_PROXY, "upstream-proxy", "the upstream proxy refused it")  \
	X(PROTO, "proto", "the name is allowed, but for another protocol")     \
	X(LIMIT_LOOKUPS, "limit-lookups",                                      \
	  "too many names are being looked up at one time")                    \
	X(UPSTREAM_CERT, "upstream-cert",                                      \
	  "the server's certificate does not prove its name")                  \
	X(UPSTREAM_TLS, "upstream-tls", "TLS with the server failed")          \
	X(CLIENT_TLS, "client-tls",                                            \
	  "the client ended TLS: it lacks our CA, or pins another one")        \
	X(PATH, "path", "this path can be read in more than one way")          \
	X(CREDENTIAL, "credential",                                            \
	  "the credential is not one of this sandbox")                         \
	X(CANARY, "canary", "a surrogate was sent where it does not belong")   \
	X(NO_SECRET, "no-secret",                                              \
	  "the credential does not exist, or no longer")                       \
	X(BODY_LIMIT, "body-limit", "the body is longer than the rule allows") \
	X(GRAPHQL, "graphql",                                                  \
	  "the rule does not allow this GraphQL, or it cannot be judged")      \
	X(MASK, "mask", "the answer cannot be searched for the credential")    \
	X(WEBSOCKET, "websocket", "the rule does not allow WebSocket")         \
	X(LIMIT_REQUESTS, "limit-requests", "too many requests a minute")      \
	X(CA_EXPIRED, "ca-expired",                                            \
	  "the sandbox has outlived its CA: start it again")                   \
	X(UPSTREAM_HTTP, "upstream-http",                                      \
	  "the server's answer is malformed HTTP")                             \
	X(PATH_LONG, "path-long",                                              \
	  "the path is longer than 4 KiB, or has more than 64 segments, or "   \
	  "is longer than 8 KiB with its query")                               \
	X(HELLO_RECORDS, "hello-records",                                      \
	  "the TLS hello comes in more than 256 records, or in an empty one")  \
	X(HELLO_LONG, "hello-long",                                            \
	  "the TLS hello is longer than `tls: {hello_max}` allows")            \
	X(LIMIT_MEMORY, "limit-memory",                                        \
	  "the gateway's memory for this sandbox is used up: answers wait "    \
	  "that it does not read")                                             \
	X(REFLECTION, "reflection",                                            \
	  "the server sent the real credential back, in another encoding")     \
	X(REVOKED, "revoked",                                                  \
	  "a server sent this credential back: it is revoked for this run")    \
	X(CONNECT_REFUSED, "connect-refused",                                  \
	  "the server refused the connection")                                 \
	X(NO_ROUTE, "no-route", "there is no route to the server")             \
	X(NO_HELLO, "no-hello", "it was closed before any data was sent")      \
	X(EDGE_DOWN, "edge-down",                                              \
	  "ac-edge, which reaches the user's own machine, does not run: `ac "  \
	  "start` there starts it")

#define REASON_ENUM(id, code, text) REASON_##id,
enum reason { REASON_TABLE(REASON_ENUM) REASONS };
#undef REASON_ENUM

/* Returns true if the reason is a limit of the sandbox, which has an audit
 * event of its own. */
bool reason_is_limit(enum reason r);
/* Returns the reason for a dial that failed with @code, a negative errno from
 * connect(2) or SO_ERROR. */
enum reason reason_of_connect(int code);
/* Returns the more informative of the reasons of two failed dials to one name:
 * an answer of the server before silence, no route last; @a if they are equal.
 * REASON_ALLOWED means that nothing has failed yet. */
enum reason reason_of_two(enum reason a, enum reason b);
/* Return the code, such as "not-allowed", and the text, one clause without a
 * full stop, in static storage; "unknown" and "reason unknown" for a number
 * that is none. */
const char *reason_code(enum reason r);
const char *reason_text(enum reason r);

#endif
