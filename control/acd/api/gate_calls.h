/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_calls.h - a warning about the gateway's policy, for other handlers
 */
#ifndef CONTROL_ACD_API_GATE_CALLS_H
#define CONTROL_ACD_API_GATE_CALLS_H

#include <jansson.h>

struct acd;

/* Adds a line to @list, texts for the user, if the gateway is up and
 * policy/policy.yaml is faulty, so that the last good policy is in effect. */
void api_policy_warn(const struct acd *acd, json_t *list);

#endif
