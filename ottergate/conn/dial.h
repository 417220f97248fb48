/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dial.h - resolve a name that was allowed, check every address, connect
 *
 * Only addresses that this gateway resolved itself are dialled. All
 * candidates are judged by decide_address() (metadata among them denies all,
 * N14); the rest are tried as RFC 8305 has it: families interleaved, 250 ms
 * apart. `hosts:` records, services' fixed addresses, literals that an `ips`
 * rule allows, and `upstream_proxy:` (CONNECT through it) are handled here.
 */
#ifndef OTTERGATE_CONN_DIAL_H
#define OTTERGATE_CONN_DIAL_H

#include "ottergate/policy/policy.h"

struct agent;
struct worker;
struct ev;
struct dial;

#define DIAL_CANDIDATES_MAX 16u
#define DIAL_STAGGER_MS 250u

struct dial_spec { /* borrowed for the call; the policy until the end */
	struct agent *agent; /* whose lookup it is; NULL: nobody's */
	const struct agent_policy *policy;
	const struct verdict *verdict;
	const struct name *name; /* len 0: addr */
	struct addr addr;
	uint16_t port;
};

/*
 * @why REASON_ALLOWED: @ev->fd is connected, watched by the worker and the
 * caller's from now on; @peer is where (with a proxy: the proxy). The edge
 * that said so is spent: the caller reads and writes first, and waits after.
 * Else ev->fd is -1 and @why is one of DNS_FAILED, NO_ADDRESS,
 * BUILTIN_ADDRESS, DENY_ADDRESS, CONNECT_FAILED, CONNECT_REFUSED,
 * CONNECT_TIMEOUT, NO_ROUTE, DENIED_BY_PROXY, LIMIT_LOOKUPS, NO_MEMORY; of
 * several attempts that which reason_of_two() prefers.
 */
typedef void (*dial_fn)(void *arg, enum reason why, const struct addr *peer);

/* ev->fn is kept and set again before @fn is called. @fn is never called from
 * within dial_start(). -ENOMEM: @fn will not be called. *ret is valid until
 * @fn is called; dial_cancel() from within @fn does nothing. */
int dial_start(struct worker *w, const struct dial_spec *spec, struct ev *ev,
	       dial_fn fn, void *arg, struct dial **ret);
/* No callback any more; ev->fd is closed. NULL is fine. */
void dial_cancel(struct dial *d);

#endif
