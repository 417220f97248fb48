/* SPDX-License-Identifier: Apache-2.0 */
/*
 * life.h - pause, resume, touch, kill
 */
#ifndef CONTROL_CLI_CMD_LIFE_H
#define CONTROL_CLI_CMD_LIFE_H

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

/* Commands; see struct command in control/cli/commands.h. */
int cmd_pause(const struct cli *cli, const struct args *a, struct err *err);
int cmd_hibernate(const struct cli *cli, const struct args *a, struct err *err);
int cmd_resume(const struct cli *cli, const struct args *a, struct err *err);
int cmd_touch(const struct cli *cli, const struct args *a, struct err *err);
int cmd_kill(const struct cli *cli, const struct args *a, struct err *err);

/* Parses a signal ("TERM", "SIGTERM", "term", "15") into *ret. Returns 0, or
 * -EINVAL with @err. Has no side effects. */
int signal_parse(const char *text, uint32_t *ret, struct err *err);

#endif
