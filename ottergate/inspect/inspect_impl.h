/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inspect_impl.h - what inspect.c and inspect/rules.c share
 */
#ifndef OTTERGATE_INSPECT_INSPECT_IMPL_H
#define OTTERGATE_INSPECT_INSPECT_IMPL_H

#include "ottergate/inspect/inspect.h"

/* The entry of the connection's sandbox, as the table is now; NULL: gone. */
const struct table_entry *inspect_entry(const struct conn *c);
/* Another policy, other secrets: from the next request on. False: a request
 * has been open over too many of these, or there is no memory. */
bool inspect_rules_take(struct inspect *in, struct agent_policy *p,
			struct secret_set *s);
void inspect_retired_free(struct inspect *in);

#endif
