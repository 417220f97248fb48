/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_start.h - everything that must be there before acd answers
 */
#ifndef CONTROL_CLI_HOST_HOST_START_H
#define CONTROL_CLI_HOST_HOST_START_H

#include <stdbool.h>

#include "control/cli/core/cli.h"
#include "control/cli/wire/client.h"

struct host_probe {
	bool up; /* acd answers */
	bool api; /* … and speaks our API */
	bool same; /* … and is of our build */
	bool stopping; /* … but ends */
};

/* One call. Nobody there is a success with up = false. */
int host_probe(struct client *c, struct host_probe *ret, struct err *err);

/* The slow way to host_ensure(). */
int host_start(const struct cli *cli, struct client *c, struct err *err);

/* What would stop a start anyway, told before anything is installed, built or
 * ended: variables and config.yaml, an engine that we may not use, a full
 * disk. */
int host_start_check(const struct cli *cli, struct err *err);

/* RUNSC=PATH names another runsc than $AC_HOME/runtime/runsc is; RUNSC= and
 * there is one. */
bool host_runsc_changed(const struct cli *cli);

#endif
