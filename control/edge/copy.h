/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy.h - connections to services and to acd: dialled, and their bytes copied
 */
#ifndef CONTROL_EDGE_COPY_H
#define CONTROL_EDGE_COPY_H

#include "control/shared/edge_orders.h"
#include "lib/loop.h"

#define COPY_MAX 256u /* connections of all services and ports */
#define COPY_PORTS_MAX 192u /* of all ports: some are left for services */
#define COPY_SERVICE_MAX 64u /* of one service, or port */
#define COPY_BUFFER (32u * 1024) /* bytes on their way in one direction */
#define COPY_DIAL_MS 10000u

struct copies;

/* Returns an empty set of connections served by @loop, or NULL without memory.
 * copies_free() ends them all; NULL is fine. */
struct copies *copies_new(struct loop *loop);
void copies_free(struct copies *cs);

/*
 * Takes the accepted socket @fd and dials the place of @to on this machine's
 * loopback. Sends an enum edge_answer on @fd; after EDGE_CONNECTED, copies bytes
 * both ways until both directions have ended. @fd is closed in any case, at once
 * if it cannot be served, also beyond COPY_MAX and COPY_SERVICE_MAX.
 */
void copies_add(struct copies *cs, int fd, const struct edge_order *to);

/*
 * Takes the accepted socket @fd of the published port @id and connects to acd at
 * the unix socket @path (NULL: without memory), then copies bytes both ways. @fd
 * is closed as above, without an answer; by a reset if acd closes its end before
 * the client has ended its direction.
 */
void copies_add_port(struct copies *cs, int fd, uint32_t id, const char *path);

/* Ends all connections of the service @name, or of the port @id. */
void copies_end(struct copies *cs, const char *name);
void copies_end_port(struct copies *cs, uint32_t id);

/* Returns how many connections there are. */
size_t copies_count(const struct copies *cs);

#endif
