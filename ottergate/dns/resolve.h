/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolve.h - names to addresses: c-ares in a worker's epoll, with a cache
 *
 * Asked only for names the policy allowed (never for a client's question).
 * Answers are kept 30 s to 1 h as their TTL says, failures 5 s; at most
 * RESOLVE_CACHE_MAX names a worker. Questions for one name at one time are
 * asked once.
 */
#ifndef OTTERGATE_DNS_RESOLVE_H
#define OTTERGATE_DNS_RESOLVE_H

#include "lib/err.h"
#include "ottergate/policy/addr.h"
#include "ottergate/policy/name.h"

struct agent;
struct worker;
struct resolver;
struct resolve_query;

#define RESOLVE_CACHE_MAX 4096u
#define RESOLVE_ADDRS_MAX 16u
#define RESOLVE_CNAMES_MAX 8u
#define RESOLVE_PENDING_MAX 1024u /* names that are waited for */
#define RESOLVE_TIMEOUT_MS 5000u

struct resolved {
	struct addr addrs[RESOLVE_ADDRS_MAX];
	uint8_t n; /* 0: the name has none */
	uint8_t n_aliases;
	struct name *aliases; /* the CNAME chain, in order; borrowed */
	int code; /* 0, -ENOENT (no such name, no address), -ETIMEDOUT,
		   * -ELOOP (chain too long), -EIO */
};
/* @res is borrowed for the call. */
typedef void (*resolve_fn)(void *arg, const struct resolved *res);

/* @servers: NULL-terminated "ip" or "ip:port"; NULL: /etc/resolv.conf. */
int resolver_new(struct worker *w, const char *const *servers,
		 struct resolver **ret, struct err *err);
/* When the worker's rounds are over: what was deferred must have run. No
 * callback; NULL is fine. */
void resolver_free(struct resolver *r);
/* In the cache? Then *ret is valid until the next call into the resolver and
 * true is returned: the common case costs no allocation. */
bool resolver_cached(struct resolver *r, const struct name *name,
		     const struct resolved **ret);
/* For @agent, NULL: nobody. -ENOMEM, -ENOSPC (too many pending), -EDQUOT (too
 * many that @agent asked for): @fn will not be called. Otherwise it is, never
 * from within. What is known, or asked already, counts against nobody. */
int resolver_ask(struct resolver *r, struct agent *agent,
		 const struct name *name, resolve_fn fn, void *arg,
		 struct resolve_query **ret);
void resolver_cancel(struct resolve_query *q); /* NULL is fine */

#endif
