/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay.h - one connection to a port of the sandbox, on stdin and stdout
 */
#ifndef INIT_GUARD_CONNECT_RELAY_H
#define INIT_GUARD_CONNECT_RELAY_H

#define CONNECT_OPTION "--connect"

/*
 * Connects to @port, a decimal number from 1 to 65535: of 127.0.0.1, else of
 * ::1, else of the sandbox's own address. Passes bytes from stdin to the
 * connection and from it to stdout until both directions have ended. When the
 * connection's has, writes to stderr how many bytes it had, as a u64
 * (init-guard/PROTOCOL, 7). Returns the exit code: 0; 1 if nothing listens or
 * the connection broke; 2 if @port is none.
 */
int relay_run(const char *port);

#endif
