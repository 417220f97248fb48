/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pager.h - shows output page by page, as git does
 */
#ifndef CONTROL_CLI_LAYER_PAGER_H
#define CONTROL_CLI_LAYER_PAGER_H

#include <stdio.h>
#include <sys/types.h>

#include "control/cli/core/cli.h"

struct pager {
	FILE *out; /* what to print to; borrowed from the pager */
	pid_t pid; /* 0: there is none, and out is stdout */
};

/* Starts $GIT_PAGER, $PAGER or less(1), if stdout is a terminal. Without one, or if
 * it does not start, output goes to stdout. */
void pager_begin(const struct cli *cli, struct pager *ret);
/* Waits for the user to leave it. Returns 0, also if the user left before the end;
 * a negative errno with @err if stdout does not take output. */
int pager_end(struct pager *p, struct err *err);

#endif
