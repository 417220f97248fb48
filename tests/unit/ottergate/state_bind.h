/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state_bind.h - an agent of a text, into the state of a gateway
 */
#ifndef TESTS_UNIT_OTTERGATE_STATE_BIND_H
#define TESTS_UNIT_OTTERGATE_STATE_BIND_H

#include <string.h>

#include "ottergate/policy/load.h"
#include "ottergate/run/gate.h"

/* Compiles @text and puts it in the place of what @id had, as gate_reload.c
 * does in two steps. */
static inline int state_bind(struct gate_state *s, const char *id,
			     const char *text, struct lint *lint,
			     struct err *err)
{
	struct agent_policy *a = NULL;
	int rc = policy_load_agent(gate_state_policy(s), text, strlen(text), id,
				   &a, lint, err);

	if (rc < 0)
		return rc;
	rc = gate_state_put(s, id, a, err);
	agent_policy_unref(a);
	return rc;
}

#endif
