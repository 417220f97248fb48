/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_conn.h - one connection to a published port of a running sandbox
 */
#ifndef CONTROL_ACD_INSTANCE_PORT_CONN_H
#define CONTROL_ACD_INSTANCE_PORT_CONN_H

#include <stdint.h>

struct instance;
struct instances;

#define PORT_CONNS_MAX 64u /* of one sandbox */
#define PORT_FIRST_MS 60000u /* until the first byte in either direction */
#define PORT_IDLE_MS 3600000u /* and then without one */
#define PORT_LINGER_MS 2000u /* for the sandbox, when the client has gone */

/*
 * Passes bytes between @fd, a non-blocking unix stream socket that it takes, and
 * port @port of the sandbox of @in, until both directions have ended. @fd is
 * closed at once if the sandbox does not run, is paused, or has PORT_CONNS_MAX
 * connections already.
 */
void port_conn_begin(struct instance *in, int fd, uint16_t port);
/* Ends those that are left when their runs are gone. */
void port_conns_free(struct instances *is);
/* Replace PORT_FIRST_MS, PORT_IDLE_MS and PORT_LINGER_MS, for tests. */
void port_conns_set_times(unsigned first_ms, unsigned idle_ms,
			  unsigned linger_ms);

#endif
