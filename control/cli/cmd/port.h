/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port.h - published ports: `ac port`, `ac open`
 */
#ifndef CONTROL_CLI_CMD_PORT_H
#define CONTROL_CLI_CMD_PORT_H

#include <jansson.h>

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

/* Commands; see struct command in control/cli/commands.h. */
int cmd_port(const struct cli *cli, const struct args *a, struct err *err);
int cmd_open(const struct cli *cli, const struct args *a, struct err *err);

/* Returns the one of @ports that is port @number of the sandbox, else of the
 * user's machine; an open one first. NULL: there is none. Borrowed. */
const json_t *port_find(const json_t *ports, uint64_t number);

#endif
