/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credential_keys.h - the key `credentials` of a blueprint
 */
#ifndef CONTROL_ACD_BLUEPRINT_CREDENTIAL_KEYS_H
#define CONTROL_ACD_BLUEPRINT_CREDENTIAL_KEYS_H

#include "control/acd/credential/credentials.h"
#include "control/shared/yaml_tree.h"

/* Reads the list @n into @ret, which is the caller's to release whatever the
 * result. -EINVAL with a position. */
int blueprint_read_credentials(const struct yaml_tree *tree,
			       const struct yaml_node *n,
			       struct credentials *ret, struct err *err);

#endif
