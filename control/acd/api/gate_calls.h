/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_calls.h - what other handlers of the API tell of the gateway's policy
 */
#ifndef CONTROL_ACD_API_GATE_CALLS_H
#define CONTROL_ACD_API_GATE_CALLS_H

#include <jansson.h>

struct acd;

/* Adds to @list, which holds texts for the user, that policy/policy.yaml has a
 * fault and the policy before it still holds. Adds nothing if that is not so. */
void api_policy_warn(const struct acd *acd, json_t *list);

#endif
