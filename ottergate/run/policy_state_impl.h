/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_state_impl.h - inside of policy_state.c and gate_secrets.c
 */
#ifndef OTTERGATE_RUN_POLICY_STATE_IMPL_H
#define OTTERGATE_RUN_POLICY_STATE_IMPL_H

#include "ottergate/run/gate.h"
#include "ottergate/conn/table.h"

/* What acd gave to one sandbox beside its policy, a reference each; NULL: it
 * has none. */
struct gate_given {
	char *id;
	struct secret_set *secrets;
	struct leaf_ca *ca;
};

struct gate_state {
	const struct gate_opts *opts;
	struct policy *policy;
	struct table *table;
	uint64_t generation;
	struct gate_given *given; /* n_given, in order of id */
	size_t n_given;
};

/* NULL: @id was given nothing. */
struct gate_given *gate_given_find(const struct gate_state *s, const char *id);
/* True: it had something. */
bool gate_given_drop(struct gate_state *s, const char *id);
void gate_given_free(struct gate_state *s);

#endif
