/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dial_socket.h - the sockets of a dial: to a server, and to ac-edge
 *
 * Descriptors are CLOEXEC, non-blocking and the caller's. Nothing here judges.
 */
#ifndef OTTERGATE_CONN_DIAL_SOCKET_H
#define OTTERGATE_CONN_DIAL_SOCKET_H

#include "ottergate/policy/policy.h"

/* Returns a socket that is connecting to @port of @a, or -errno. */
int dial_socket_tcp(const struct addr *a, uint16_t port);
/* Returns the negative errno of a socket that failed; -ECONNRESET if it has
 * none. */
int dial_socket_error(int fd);

/*
 * Returns a socket that is connected to ac-edge's socket @name in the folder
 * @dir (NULL: there is none), or -errno: -ENOENT or -ECONNREFUSED if ac-edge
 * does not run, -EAGAIN if too many wait for it. connect(2) to a unix socket
 * does not wait.
 */
int dial_socket_edge(const char *dir, const char *name);
/* Returns the reason for such a failure. */
enum reason dial_edge_reason(int code);
/* Reads what ac-edge says of its own dial (lib/edge_answer.h), and nothing that
 * follows. Returns 0 with the reason in *@ret, or -EAGAIN if it has not said it
 * yet. */
int dial_edge_answer(int fd, enum reason *ret);

#endif
