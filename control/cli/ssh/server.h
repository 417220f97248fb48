/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.h - the server's end of SSH for one sandbox, on two descriptors
 */
#ifndef CONTROL_CLI_SSH_SERVER_H
#define CONTROL_CLI_SSH_SERVER_H

#include "control/cli/ssh/hostkey.h"

#define SERVER_CHANNELS_MAX 64u /* of one connection */

struct server_opts {
	int in, out; /* the client's; borrowed */
	const char *sock; /* acd's */
	const char *name; /* the instance */
	const struct hostkey *key;
};

/*
 * Serves the client until it leaves, or until SIGHUP or SIGTERM; what it has
 * started then gets a hang-up. Any name of a user is let in without a proof, since
 * the client is the process that has the other ends of @in and @out. Returns 0, or
 * a negative errno with @err. SIGHUP and SIGTERM stay blocked, and SIGINT and
 * SIGPIPE ignored.
 */
int server_run(const struct server_opts *o, struct err *err);

#endif
