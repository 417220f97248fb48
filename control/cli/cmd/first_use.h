/* SPDX-License-Identifier: Apache-2.0 */
/*
 * first_use.h - asks for a credential that an agent needs
 */
#ifndef CONTROL_CLI_CMD_FIRST_USE_H
#define CONTROL_CLI_CMD_FIRST_USE_H

#include "control/cli/host/launch.h"

/* Asks on the terminal for @credential and keeps it in the vault, or, if nothing
 * is typed, adds it to the "without" of @body. Returns 0 to ask acd again; else
 * a negative errno: without a terminal and with --json it is that of @err, which
 * has acd's refusal. As on_lacks of a launch. */
int first_use(struct launch *l, const char *credential, json_t *body,
	      struct err *err);

#endif
