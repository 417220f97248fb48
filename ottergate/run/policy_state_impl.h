/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_state_impl.h - shared by policy_state.c and gate_secrets.c
 */
#ifndef OTTERGATE_RUN_POLICY_STATE_IMPL_H
#define OTTERGATE_RUN_POLICY_STATE_IMPL_H

#include "ottergate/run/gate.h"
#include "ottergate/conn/table.h"

/* What acd gave to one sandbox besides its policy; a reference each, NULL:
 * none. */
struct gate_given {
	char *id;
	struct secret_set *secrets;
	struct leaf_ca *ca;
};

struct gate_state {
	const struct gate_opts *opts;
	struct policy *policy; /* the shared one; a reference */
	struct table *table; /* a reference */
	uint64_t generation; /* goes up with each change of policies */
	struct gate_given *given; /* n_given, sorted by id */
	size_t n_given;
};

/* Returns what @id was given, borrowed from @s and valid until anything is
 * given or dropped; NULL: nothing. */
struct gate_given *gate_given_find(const struct gate_state *s, const char *id);
/* Frees what @id was given, and leaves the table as it is. Returns false if
 * there was nothing. */
bool gate_given_drop(struct gate_state *s, const char *id);
/* Frees everything that was given, not @s. */
void gate_given_free(struct gate_state *s);

#endif
