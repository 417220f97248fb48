/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dial.h - resolves an allowed name, judges every address, connects
 *
 * Only addresses that this gateway resolved itself are dialled.
 * decide_address() judges all candidates (a metadata address among them denies
 * all, N14); the rest are tried as in RFC 8305: families interleaved, 250 ms
 * apart. Also handles `hosts:` records, services' fixed addresses, literals
 * that an `ips` rule allows, and `upstream_proxy:` (CONNECT through it).
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

struct dial_spec { /* borrowed for the call; the policy until the dial ends */
	struct agent *agent; /* charged for the lookup; NULL: no sandbox */
	const struct agent_policy *policy;
	const struct verdict *verdict;
	const struct name *name; /* len 0: use addr */
	struct addr addr;
	uint16_t port;
};

/*
 * Called once at the end. If @why is REASON_ALLOWED, @ev->fd is connected,
 * watched by the worker and the caller's from now on; @peer is its address
 * (with a proxy: the proxy's). Its first edge is used up, so the caller reads
 * and writes first and waits afterwards.
 *
 * Otherwise ev->fd is -1 and @why is one of DNS_FAILED, NO_ADDRESS,
 * BUILTIN_ADDRESS, DENY_ADDRESS, CONNECT_FAILED, CONNECT_REFUSED,
 * CONNECT_TIMEOUT, NO_ROUTE, DENIED_BY_PROXY, LIMIT_LOOKUPS, NO_MEMORY,
 * EDGE_DOWN (a service with a `socket`, and no ac-edge); of
 * several attempts the one that reason_of_two() prefers.
 */
typedef void (*dial_fn)(void *arg, enum reason why, const struct addr *peer);

/*
 * Starts a dial; uses @ev, which has no descriptor now, meanwhile, and restores
 * ev->fn before @fn is called. Never calls @fn from within. Returns 0, or
 * -ENOMEM if @fn will not be called. *@ret frees itself when @fn has returned;
 * before, dial_cancel() may end it. dial_cancel() from within @fn does nothing.
 */
int dial_start(struct worker *w, const struct dial_spec *spec, struct ev *ev,
	       dial_fn fn, void *arg, struct dial **ret);
/* Cancels the dial without a callback, closes ev->fd and restores ev->fn. NULL
 * is fine. */
void dial_cancel(struct dial *d);

#endif
