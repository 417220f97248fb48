/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor.h - is everything as it must be, and what to do if not
 */
#ifndef CONTROL_CLI_CMD_DOCTOR_H
#define CONTROL_CLI_CMD_DOCTOR_H

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

/* Starts nothing and changes nothing. Returns 1 when something is broken. */
int cmd_doctor(const struct cli *cli, const struct args *a, struct err *err);

#endif
