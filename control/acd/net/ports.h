/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ports.h - ports of sandboxes that are published on the user's machine
 *
 * Each is open from the start of a run to its end. ac-edge listens there, by the
 * orders that ports_order() fills, and connects here for each of its clients.
 */
#ifndef CONTROL_ACD_NET_PORTS_H
#define CONTROL_ACD_NET_PORTS_H

#include <stdbool.h>
#include <sys/types.h>

#include "control/shared/edge_orders.h"
#include "control/shared/names.h"
#include "control/shared/paths.h"
#include "control/shared/publish.h"
#include "lib/err.h"
#include "lib/loop.h"

struct ports;

enum port_state {
	PORT_WAITING, /* ac-edge has not said yet */
	PORT_OPEN,
	PORT_FAILED, /* it cannot be listened at */
};

struct port {
	uint32_t id; /* never used twice; rises */
	char owner[AC_NAME_MAX + 1]; /* the instance */
	struct publish as;
	uint16_t outer; /* as.outer, or what was chosen for 0 */
	enum port_state state;
	int error; /* negative errno of PORT_FAILED */
};

/* Returns an empty set, or NULL without memory. acd's sockets will be files of
 * the folder @dir (borrowed) of @owner:@group; those of an earlier acd are
 * removed. */
struct ports *ports_new(struct loop *loop, const char *dir, uid_t owner,
			gid_t group);
/* Closes all without a call. NULL is fine. */
void ports_free(struct ports *p);

/* Set the function that is called when orders have changed, which must not call
 * ports_lost() or ports_answered(), and the one that is
 * called with a connection: it takes @fd; @port is borrowed for the call. NULL:
 * none. */
void ports_on_change(struct ports *p, void (*fn)(void *arg), void *arg);
void ports_on_connection(struct ports *p,
			 void (*fn)(void *arg, const struct port *port, int fd),
			 void *arg);

/* Words of failures. */
#define PORTS_IN_USE "port_in_use" /* by an instance or a program; -EBUSY */
#define PORTS_UNAVAILABLE "port_unavailable" /* the machine lacks it; -EBUSY */
#define PORTS_NO_EDGE PUBLISH_NO_EDGE /* -EAGAIN */

/* Returns true if @err has one of these words. */
bool ports_refused(const struct err *err);

/* Called once, from the loop: with @err NULL if all ports are open. Else none
 * is, for a failure with one of the words. */
typedef void (*ports_fn)(void *arg, const struct err *err);

/*
 * Publishes @n more ports for @owner and asks ac-edge to listen. If @owner is
 * @running, what helps against a failure is `ac port`, else an option of the run.
 * Returns 0, and calls @fn later, never before it returns; or fails with PORTS_IN_USE, with -ENOSPC if there are
 * too many, or with the errno of a socket.
 */
int ports_open(struct ports *p, const char *owner, const struct publish *v,
	       size_t n, bool running, ports_fn fn, void *arg, struct err *err);
#define PORTS_API "/api" /* an owner that is no instance */

/*
 * Opens a port for @owner that stays until ports_close(), whether ac-edge is there
 * or not: ports_nth() says how it is. Its connections go to @fn, which takes them.
 * Returns 0, or fails as ports_open() does at once.
 */
int ports_want(struct ports *p, const char *owner, const struct publish *at,
	       void (*fn)(void *arg, int fd), void *arg, struct err *err);
/* Closes those of @owner; its function is not called any more. */
void ports_close(struct ports *p, const char *owner);
/* Closes those of @owner that are not among the @n of @v. */
void ports_keep(struct ports *p, const char *owner, const struct publish *v,
		size_t n);

/* Returns the port at @i of all, in order of id; NULL: there are no more. Valid
 * until the loop goes on. */
const struct port *ports_nth(const struct ports *p, size_t i);

/* For edge.c: adds the orders; takes the answer to the last ones; ac-edge has
 * gone, so no port is open. */
void ports_order(const struct ports *p, struct edge_orders *ret);
void ports_answered(struct ports *p, const struct edge_report *r);
void ports_lost(struct ports *p);

#endif
