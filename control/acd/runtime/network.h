/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network.h - the engine's network for sandboxes, ac0
 */
#ifndef CONTROL_ACD_RUNTIME_NETWORK_H
#define CONTROL_ACD_RUNTIME_NETWORK_H

#include "control/acd/runtime/engine.h"
#include "lib/err.h"

/* @err: NULL on success. */
typedef void (*network_fn)(void *arg, const struct err *err);
/* Makes the engine's network ac0 unless it is there as it must be. Returns 0,
 * and calls @fn later, or a negative errno. */
int network_ensure(struct engine *engine, network_fn fn, void *arg);

#endif
