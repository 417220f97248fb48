/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network.h - the rules that keep sandboxes in, and their bridge
 */
#ifndef CONTROL_ACD_NETWORK_H
#define CONTROL_ACD_NETWORK_H

#include "control/acd/engine.h"
#include "lib/err.h"

#define NETWORK_RULES "/usr/share/ac/images/host/nftables.conf"

/* Loads the rules at @path in one transaction and looks whether they are
 * there. Any failure means that no sandbox may start. */
int network_rules_load(const char *path, struct err *err);
/* Are the chains that drop in @json, the output of `nft -j list ruleset`?
 * Pure. -ENOENT: @err names the first that is not. */
int network_rules_check(const char *json, struct err *err);

typedef void (*network_fn)(void *arg, const struct err *err);
/* Makes the engine's network ac0 unless it is there. Negative: @fn is not
 * called. */
int network_ensure(struct engine *engine, network_fn fn, void *arg);

#endif
