/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entrance.h - the API over TCP, through ac-edge, for programs with a token
 */
#ifndef CONTROL_ACD_API_ACCESS_ENTRANCE_H
#define CONTROL_ACD_API_ACCESS_ENTRANCE_H

#include <jansson.h>

#include "control/acd/net/edge.h"
#include "control/acd/net/ports.h"
#include "control/acd/storage/store.h"
#include "lib/err.h"
#include "lib/loop.h"

struct entrance;

/*
 * Makes the entrance, open where the last acd had it; it serves the API with @ctx.
 * @store and @ports are borrowed. An address that cannot be opened again is logged,
 * and forgotten. Returns NULL with @err. entrance_free() accepts NULL.
 */
struct entrance *entrance_new(struct loop *loop, struct store *store,
			      struct ports *ports, void *ctx, struct err *err);
void entrance_free(struct entrance *e);

/*
 * Opens it at @at, also after a restart; one that is open elsewhere moves, and
 * ends its connections only if that succeeds. Returns 0; -ENOTSUP if @at is beyond
 * loopback, since tokens would cross the network as plain text; or fails as
 * ports_want() does.
 */
int entrance_open(struct entrance *e, const struct publish *at,
		  struct err *err);
/* Closes it; connections that it has go on. Returns 0 or a negative errno with
 * @err: it is open again after a restart then. */
int entrance_close(struct entrance *e, struct err *err);
/* Returns the port that it listens at or is to, or NULL if it is closed. Valid
 * until the loop goes on. */
const struct port *entrance_port(const struct entrance *e);
/* Returns where it is open, as spec_serve_get says; a new reference, or NULL
 * without memory. NULL is an entrance that is closed. */
json_t *entrance_json(const struct entrance *e, const struct edge *edge);

#endif
