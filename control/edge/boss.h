/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boss.h - the connection to acd, whose orders are followed
 */
#ifndef CONTROL_EDGE_BOSS_H
#define CONTROL_EDGE_BOSS_H

#include "control/edge/places.h"

#define BOSS_RETRY_MS 200u
#define BOSS_PATIENCE_MS 30000u /* without acd; then there is nothing to do */

struct boss;

/*
 * Connects to acd at the unix socket @path (borrowed) and follows its orders by
 * places_set(). If the connection ends, or acd breaks the protocol, all places
 * are closed and it is tried again every BOSS_RETRY_MS. After BOSS_PATIENCE_MS
 * without acd, stops @loop with code 0. Returns NULL without memory.
 */
struct boss *boss_new(struct loop *loop, const char *path,
		      struct places *places);
/* Ends the connection; NULL is fine. */
void boss_free(struct boss *b);

#endif
