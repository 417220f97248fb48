/* SPDX-License-Identifier: Apache-2.0 */
/*
 * egress_keys.h - the key `egress` of a blueprint
 */
#ifndef CONTROL_ACD_BLUEPRINT_EGRESS_KEYS_H
#define CONTROL_ACD_BLUEPRINT_EGRESS_KEYS_H

#include "control/acd/egress/egress.h"
#include "control/shared/yaml_tree.h"

/* Reads the map @n into @ret, which is the caller's to release whatever the
 * result. -EINVAL with a position. */
int blueprint_read_egress(const struct yaml_tree *tree,
			  const struct yaml_node *n, struct egress *ret,
			  struct err *err);

#endif
