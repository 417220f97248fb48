/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credential_keys.h - the key `credentials` of a blueprint
 */
#ifndef CONTROL_ACD_BLUEPRINT_CREDENTIAL_KEYS_H
#define CONTROL_ACD_BLUEPRINT_CREDENTIAL_KEYS_H

#include "lib/schema.h"

/* What the key's value may be. */
extern const struct schema blueprint_credentials_is;

#endif
