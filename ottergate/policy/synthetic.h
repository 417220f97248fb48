/* SPDX-License-Identifier: Apache-2.0 */
/*
 * synthetic.h - the addresses that stand for names: 198.18.0.0/15
 *
 * The range is for benchmarks (RFC 2544, appendix C.2.2), so nothing that
 * could be reached has one of these. Which a name gets is a matter of the name
 * alone, as far as places are free: clients keep addresses over a reload and
 * over a restart of the gateway. Pure.
 */
#ifndef OTTERGATE_POLICY_SYNTHETIC_H
#define OTTERGATE_POLICY_SYNTHETIC_H

#include "ottergate/policy/name.h"

/* Where the place of @name is sought first. */
uint32_t synthetic_home(const struct name *name);
/* The @n-th place from there on; never the range's first or last. */
struct addr synthetic_at(uint32_t home, uint32_t n);
/* Is it of the range at all? */
bool synthetic_has(const struct addr *a);

#endif
