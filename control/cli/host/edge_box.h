/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edge_box.h - ac-edge's container: started and removed
 *
 * It is beside ac-host, whose name it has with "-edge" behind it, and is there
 * only while a service is on the user's own loopback, or a port is published.
 */
#ifndef CONTROL_CLI_HOST_EDGE_BOX_H
#define CONTROL_CLI_HOST_EDGE_BOX_H

#include "control/cli/core/cli.h"
#include "control/cli/host/outer.h"
#include "control/cli/wire/client.h"

/*
 * Asks acd whether ac-edge is needed. If it is and does not serve, starts it,
 * from the image of ac-host, and waits until it serves. If it is not needed, does
 * nothing. Returns 0, or a negative errno with @err.
 */
int edge_box_start(const struct cli *cli, struct client *c, struct err *err);

/* Removes it if acd needs it no more. Returns like edge_box_start(). */
int edge_box_tidy(const struct cli *cli, struct client *c, struct err *err);

#endif
