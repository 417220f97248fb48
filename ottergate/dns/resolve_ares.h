/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolve_ares.h - one question to the upstream servers, by c-ares
 *
 * Called by resolve.c, which caches the answers. The chain of aliases in an
 * answer has been verified; its addresses have not been judged.
 */
#ifndef OTTERGATE_DNS_RESOLVE_ARES_H
#define OTTERGATE_DNS_RESOLVE_ARES_H

#include "ottergate/dns/resolve.h"

struct upstream;
struct upstream_lookup;

struct upstream_answer {
	struct addr addrs[RESOLVE_ADDRS_MAX];
	struct name aliases[RESOLVE_CNAMES_MAX];
	uint8_t n, n_aliases;
	uint32_t ttl; /* seconds, the smallest in the answer */
	int code; /* as in struct resolved */
};
typedef void (*upstream_fn)(void *arg, const struct upstream_answer *answer);

/* The account of one name that a sandbox asks for: counted against its share
 * (limits.h) until the last of its lookups has ended, even if no query waits
 * for it any more. */
struct upstream_share {
	struct agent *agent; /* a reference */
	unsigned refs;
};
/* Drops a reference. NULL is fine. */
void upstream_share_drop(struct upstream_share *s);

/* Makes an upstream, owned by the caller. @servers as for resolver_new().
 * Returns 0 or a negative errno with @err. */
int upstream_new(struct worker *w, const char *const *servers,
		 struct upstream **ret, struct err *err);
/* Frees it without callbacks; every lookup must have ended or been forgotten.
 * NULL is fine. */
void upstream_free(struct upstream *u);
/*
 * Asks for A (@family AF_INET) or AAAA (AF_INET6), on @share's account (NULL:
 * no account), to which it takes a reference of its own. Returns 0. @fn may be
 * called before it returns; *@ret is set before that call and invalid after it.
 * Fails with -ENOMEM or -ENOSPC (too many lookups); @fn is not called then and
 * *@ret is NULL.
 */
int upstream_ask(struct upstream *u, const struct name *name, int family,
		 struct upstream_share *share, upstream_fn fn, void *arg,
		 struct upstream_lookup **ret);
/* Makes sure that the callback is not called; c-ares ends the lookup by itself.
 * NULL is fine. */
void upstream_forget(struct upstream_lookup *l);

#endif
