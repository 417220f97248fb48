/* SPDX-License-Identifier: Apache-2.0 */
/*
 * places.h - the unix sockets of services, as acd has ordered them
 */
#ifndef CONTROL_EDGE_PLACES_H
#define CONTROL_EDGE_PLACES_H

#include "control/edge/copy.h"
#include "control/shared/edge_orders.h"
#include "lib/loop.h"

struct places;

/* Returns an empty set, or NULL without memory. The sockets will be files of the
 * folder @dir; it and @copies are borrowed. */
struct places *places_new(struct loop *loop, const char *dir,
			  struct copies *copies);
/* Closes all, as for empty orders. NULL is fine. */
void places_free(struct places *p);

/*
 * Listens for the services of @o and for no other: a service that is gone, or
 * that is at another place, loses its socket and its connections; the others
 * keep theirs. Writes how many it listens for, and the first failure; no port.
 */
void places_set(struct places *p, const struct edge_orders *o,
		struct edge_report *ret);

#endif
