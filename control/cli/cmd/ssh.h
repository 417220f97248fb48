/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh.h - ssh-config, ssh-proxy
 */
#ifndef CONTROL_CLI_CMD_SSH_H
#define CONTROL_CLI_CMD_SSH_H

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

int cmd_ssh_config(const struct cli *cli, const struct args *a,
		   struct err *err);
int cmd_ssh_proxy(const struct cli *cli, const struct args *a, struct err *err);

#endif
