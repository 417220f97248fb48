/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limit_keys.h - limits, lifetime and file system of a blueprint
 *
 * Parts of blueprint_parse(): each reads the value of one key into @bp and
 * returns 0, or a negative errno with the place of the mistake in @err.
 */
#ifndef CONTROL_ACD_BLUEPRINT_LIMIT_KEYS_H
#define CONTROL_ACD_BLUEPRINT_LIMIT_KEYS_H

#include "control/acd/blueprint/blueprint.h"
#include "control/shared/yaml_tree.h"

/* Of a blueprint's limits and of those that a request asks for. */
#define BLUEPRINT_CPU_MILLI_MAX (1024u * 1000)
#define BLUEPRINT_MEMORY_MIN (16u * 1024 * 1024)
#define BLUEPRINT_DISK_MIN (16u * 1024 * 1024)
#define BLUEPRINT_PIDS_MAX 4194304u /* of Linux */

#define BLUEPRINT_POOL_MAX 16u
#define BLUEPRINT_BLOCKED_MAX 256u

/* Those of blueprints/base, for a blueprint that is silent: it must not get all
 * of the machine. Before anything is read; "none" takes one away. */
void blueprint_default_limits(struct blueprint *bp);
int blueprint_read_limits(const struct yaml_tree *tree,
			  const struct yaml_node *n, struct blueprint *bp,
			  struct err *err);
/* "pool", "ttl" or "idle". */
int blueprint_read_life(const struct yaml_tree *tree, const struct yaml_node *n,
			struct blueprint *bp, struct err *err);
int blueprint_read_filesystem(const struct yaml_tree *tree,
			      const struct yaml_node *n, struct blueprint *bp,
			      struct err *err);
int blueprint_read_blocked(const struct yaml_tree *tree,
			   const struct yaml_node *n, struct blueprint *bp,
			   struct err *err);

#endif
