/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor.h - `ac doctor`: checks the machine and ac-host
 */
#ifndef CONTROL_CLI_CMD_DOCTOR_H
#define CONTROL_CLI_CMD_DOCTOR_H

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

/* Command; changes nothing. Returns 1 if a check failed. */
int cmd_doctor(const struct cli *cli, const struct args *a, struct err *err);

#endif
