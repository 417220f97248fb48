/* SPDX-License-Identifier: Apache-2.0 */
/*
 * synthetic.h - the addresses that stand for names: 198.18.0.0/15
 *
 * The range is for benchmarks (RFC 2544, appendix C.2.2), so no server has one
 * of these addresses. A name's first choice depends on the name alone, so most
 * names keep their address over a reload and a restart of the gateway, which
 * clients rely on. No side effects.
 */
#ifndef OTTERGATE_POLICY_NET_SYNTHETIC_H
#define OTTERGATE_POLICY_NET_SYNTHETIC_H

#include "ottergate/policy/net/name.h"

/* Returns where to begin the search for an address of @name: a number for
 * synthetic_at(). */
uint32_t synthetic_home(const struct name *name);
/* Returns the @n-th address from @home on, beginning again at the end of the
 * range; never the range's first or last. */
struct addr synthetic_at(uint32_t home, uint32_t n);
/* Returns true if @a is in the range. */
bool synthetic_has(const struct addr *a);

#endif
