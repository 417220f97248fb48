/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolve.h - resolves names: c-ares in a worker's epoll, with a cache
 *
 * Used only for names that the policy allowed, never for a client's DNS
 * question. Answers are kept for 30 s to 1 h according to their TTL, failures
 * for 5 s, at most RESOLVE_CACHE_MAX names in each worker. Simultaneous
 * questions for one name are sent once. All functions run in the worker's
 * thread.
 */
#ifndef OTTERGATE_DNS_RESOLVE_H
#define OTTERGATE_DNS_RESOLVE_H

#include "lib/err.h"
#include "ottergate/policy/net/addr.h"
#include "ottergate/policy/net/name.h"

struct agent;
struct worker;
struct resolver;
struct resolve_query;

#define RESOLVE_CACHE_MAX 4096u
#define RESOLVE_ADDRS_MAX 16u
#define RESOLVE_CNAMES_MAX 8u
#define RESOLVE_PENDING_MAX 1024u /* names with a query waiting */
#define RESOLVE_TIMEOUT_MS 5000u

struct resolved {
	struct addr addrs[RESOLVE_ADDRS_MAX];
	uint8_t n; /* 0 after a failure */
	uint8_t n_aliases;
	struct name *aliases; /* the CNAME chain, in order; the resolver's */
	/* 0, -ENOENT (no such name or no address), -ETIMEDOUT, -ELOOP (chain
	 * too long), -EIO (all else) */
	int code;
};
/* Called once with the result, which is valid during the call only. */
typedef void (*resolve_fn)(void *arg, const struct resolved *res);

/* Makes a resolver for the worker @w, which it borrows; the caller owns *@ret.
 * @servers: NULL-terminated "ip" or "ip:port"; NULL: /etc/resolv.conf. Returns
 * 0 or a negative errno with @err. */
int resolver_new(struct worker *w, const char *const *servers,
		 struct resolver **ret, struct err *err);
/* Frees the resolver and its queries without callbacks. Call it after the
 * worker's last round, when deferred functions have run. NULL is fine. */
void resolver_free(struct resolver *r);
/* Looks the name up in the cache, without allocating. Returns true with *@ret,
 * which may be a failure (code) and is valid until the next call into the
 * resolver; false if the cache does not have the name. */
bool resolver_cached(struct resolver *r, const struct name *name,
		     const struct resolved **ret);
/*
 * Starts a query and sets *@ret, valid until @fn is called or
 * resolver_cancel(). @fn is never called from within. A question sent upstream
 * counts against @agent's share (NULL: no sandbox's); cached and pending ones
 * do not.
 *
 * Returns 0. Fails with -ENOMEM, -ENOSPC (too many names pending) or -EDQUOT
 * (too many for @agent); @fn is not called then.
 */
int resolver_ask(struct resolver *r, struct agent *agent,
		 const struct name *name, resolve_fn fn, void *arg,
		 struct resolve_query **ret);
/* Cancels a query; its callback is not called. NULL is fine. */
void resolver_cancel(struct resolve_query *q);

#endif
