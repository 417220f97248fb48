/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolve_ares.h - one question to the upstream servers, by c-ares
 *
 * What resolve.c caches is asked here. An answer has passed the checks on its
 * chain of aliases; its addresses have not been judged.
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
	uint32_t ttl; /* seconds, the least in the answer */
	int code; /* as of struct resolved */
};
typedef void (*upstream_fn)(void *arg, const struct upstream_answer *answer);

/* One name on behalf of a sandbox, counted against its share (limits.h) until
 * the last of its lookups has ended, even if nobody waits for them any more. */
struct upstream_share {
	struct agent *agent; /* a reference */
	unsigned refs;
};
void upstream_share_drop(struct upstream_share *s); /* NULL is fine */

/* @servers as for resolver_new(). */
int upstream_new(struct worker *w, const char *const *servers,
		 struct upstream **ret, struct err *err);
void upstream_free(struct upstream *u); /* no callback; NULL is fine */
/*
 * Asks for A (@family AF_INET) or AAAA, on @share's account (NULL: nobody's;
 * a reference of its own is taken). @fn may be called before this returns; *ret is set before it is, and no longer valid after. -ENOMEM,
 * -ENOSPC (too many are out): no call, *ret is NULL.
 */
int upstream_ask(struct upstream *u, const struct name *name, int family,
		 struct upstream_share *share, upstream_fn fn, void *arg,
		 struct upstream_lookup **ret);
/* No call any more; c-ares finishes on its own. NULL is fine. */
void upstream_forget(struct upstream_lookup *l);

#endif
