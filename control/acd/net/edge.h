/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edge.h - acd's side of ac-edge, which reaches services of the user's loopback
 * and listens at published ports
 *
 * acd cannot start ac-edge: it has no outer engine. `ac` starts it, and it
 * connects here and is given its orders.
 */
#ifndef CONTROL_ACD_NET_EDGE_H
#define CONTROL_ACD_NET_EDGE_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/err.h"
#include "lib/loop.h"

struct edge;
struct ports;

enum edge_state {
	EDGE_UNUSED, /* no service and no port needs it */
	EDGE_DOWN, /* one does, and it does not serve all services */
	EDGE_UP,
};

/* Listens for ac-edge at @path, as a file of @owner:@group, who alone may
 * connect. It orders the ports of @ports (borrowed; NULL: none) too. Returns NULL with @err on failure; edge_free() ends it, and accepts
 * NULL. */
struct edge *edge_new(struct loop *loop, const char *path, uid_t owner,
		      gid_t group, struct ports *ports, struct err *err);
void edge_free(struct edge *e);

/* Sends the services that need it; to be called when they have changed. NULL is
 * fine. */
void edge_update(struct edge *e);

/* Notes that a run that publishes ports is to begin, so ac-edge is needed for
 * some time, or until it is there. NULL is fine. */
void edge_want(struct edge *e);
/* Returns true if it is connected. */
bool edge_is_there(const struct edge *e);

/* Return how it is, the same as "unused", "down" or "up", and why it is down, a
 * clause for people, "" if it is not. NULL is one that does not run. */
enum edge_state edge_state(const struct edge *e);
const char *edge_state_name(enum edge_state s);
const char *edge_reason(const struct edge *e);

#endif
