/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listeners.h - the published ports, as acd has ordered them
 */
#ifndef CONTROL_EDGE_LISTENERS_H
#define CONTROL_EDGE_LISTENERS_H

#include "control/edge/copy.h"
#include "control/shared/edge_orders.h"
#include "lib/loop.h"

struct listeners;

/* Returns an empty set, or NULL without memory. acd's sockets are files of the
 * folder @dir; both are borrowed. */
struct listeners *listeners_new(struct loop *loop, const char *dir,
				struct copies *copies);
/* Closes all, as for empty orders. NULL is fine. */
void listeners_free(struct listeners *p);

/*
 * Listens for the ports of @o and for no other: one that is gone loses its
 * listener and its connections, the others keep theirs. One that could not be
 * listened at before is tried again. Adds to @ret where each listens, or why it
 * does not.
 */
void listeners_set(struct listeners *p, const struct edge_orders *o,
		   struct edge_report *ret);

#endif
