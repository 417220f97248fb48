/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judged.h - the mistakes of a blueprint, as the API shows them
 */
#ifndef CONTROL_ACD_API_JUDGED_H
#define CONTROL_ACD_API_JUDGED_H

#include <jansson.h>

#include "control/acd/blueprint/mistakes.h"

/* Returns {"ok", "more", "errors"}, a new reference, or NULL without memory. */
json_t *blueprint_judged_json(const struct blueprint_mistakes *m);

#endif
