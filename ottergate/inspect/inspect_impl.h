/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inspect_impl.h - what inspect.c and inspect/rules.c share
 */
#ifndef OTTERGATE_INSPECT_INSPECT_IMPL_H
#define OTTERGATE_INSPECT_INSPECT_IMPL_H

#include "ottergate/inspect/inspect.h"

/* inspect/sides.c: prepare the side towards the upstream, which is connected,
 * and the one towards the client, with the protocol @alpn. Return 0 or
 * -ENOMEM. */
int inspect_side_upstream(struct inspect *in);
int inspect_side_client(struct inspect *in, enum itls_alpn alpn);

/* Returns the table's current record of the connection's sandbox, borrowed, or
 * NULL if the sandbox was unbound. */
const struct table_entry *inspect_entry(const struct conn *c);
/* Makes @p and @s, which may be NULL, apply from the next request on; takes
 * references. Keeps the old ones while requests are open. Returns false if too
 * many are kept already, or without memory: the old ones still apply then, and
 * the caller must refuse the request. */
bool inspect_rules_take(struct inspect *in, struct agent_policy *p,
			struct secret_set *s);
/* Releases the old ones, when no request is open. */
void inspect_retired_free(struct inspect *in);

#endif
