/* SPDX-License-Identifier: Apache-2.0 */
/*
 * egress_keys.h - the key `egress` of a blueprint
 */
#ifndef CONTROL_ACD_BLUEPRINT_EGRESS_KEYS_H
#define CONTROL_ACD_BLUEPRINT_EGRESS_KEYS_H

#include "lib/schema.h"

/* Of version 1 and of version 2. */
extern const struct schema blueprint_egress1_is, blueprint_egress2_is,
	blueprint_egress_build_is;

#endif
