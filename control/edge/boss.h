/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boss.h - the connection to acd, whose orders are followed
 */
#ifndef CONTROL_EDGE_BOSS_H
#define CONTROL_EDGE_BOSS_H

#include "control/edge/places.h"
#include "control/edge/listeners.h"

#define BOSS_RETRY_MS 200u
#define BOSS_PATIENCE_MS 30000u /* without acd; then there is nothing to do */
#define BOSS_UNUSED_MS 60000u /* with empty orders; likewise */

struct boss;

/*
 * Connects to acd at the unix socket @path (borrowed) and follows its orders by
 * places_set() and listeners_set(). If the connection ends, or acd breaks the
 * protocol, all are closed and it is tried again every BOSS_RETRY_MS. After
 * BOSS_PATIENCE_MS without acd, or BOSS_UNUSED_MS in which acd orders nothing,
 * stops @loop with code 0. Returns NULL without memory.
 */
struct boss *boss_new(struct loop *loop, const char *path,
		      struct places *places, struct listeners *ports);
/* Ends the connection; NULL is fine. */
void boss_free(struct boss *b);

#endif
