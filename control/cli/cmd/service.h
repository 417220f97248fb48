/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service.h - services of the user's own network: `ac service …`
 */
#ifndef CONTROL_CLI_CMD_SERVICE_H
#define CONTROL_CLI_CMD_SERVICE_H

#include <jansson.h>

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

/* Commands; see struct command in control/cli/commands.h. */
int cmd_service_add(const struct cli *cli, const struct args *a,
		    struct err *err);
int cmd_service_ls(const struct cli *cli, const struct args *a,
		   struct err *err);
int cmd_service_show(const struct cli *cli, const struct args *a,
		     struct err *err);
int cmd_service_rm(const struct cli *cli, const struct args *a,
		   struct err *err);

/* Makes the request for `service add`: *ret is a new reference. @proto and @as
 * may be NULL. Returns 0, -EINVAL for what is no ADDRESS:PORT, or -ENOMEM. */
int service_request(const char *name, const char *place, const char *proto,
		    const char *as, json_t **ret, struct err *err);

#endif
