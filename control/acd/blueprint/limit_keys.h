/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limit_keys.h - limits, lifetime and file system of a blueprint
 */
#ifndef CONTROL_ACD_BLUEPRINT_LIMIT_KEYS_H
#define CONTROL_ACD_BLUEPRINT_LIMIT_KEYS_H

#include "control/acd/blueprint/blueprint.h"
#include "lib/schema.h"

/* Bounds of a blueprint's limits, and of those in a request. */
#define BLUEPRINT_CPU_MILLI_MAX (1024u * 1000)
#define BLUEPRINT_MEMORY_MIN (16u * 1024 * 1024)
#define BLUEPRINT_DISK_MIN (16u * 1024 * 1024)
#define BLUEPRINT_PIDS_MAX 4194304u /* of Linux */

#define BLUEPRINT_POOL_MAX 16u
#define BLUEPRINT_BLOCKED_MAX 256u

/* What the values of `limits`, of `ttl` and `idle`, of `pool`, `filesystem` and
 * `blocked_paths` may be. */
extern const struct schema blueprint_limits_is, blueprint_life_is,
	blueprint_pool_is, blueprint_filesystem_is, blueprint_blocked_is;

/* Sets limits for CPUs, memory and processes, those of blueprints/base, so that
 * a blueprint that names none does not use the whole machine. To be called
 * before anything is read, which may change them. */
void blueprint_default_limits(struct blueprint *bp);

#endif
