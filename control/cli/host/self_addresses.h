/* SPDX-License-Identifier: Apache-2.0 */
/*
 * self_addresses.h - acd is told which addresses this machine has
 */
#ifndef CONTROL_CLI_HOST_SELF_ADDRESSES_H
#define CONTROL_CLI_HOST_SELF_ADDRESSES_H

#include "control/cli/core/cli.h"
#include "control/cli/wire/client.h"

/* All addresses of this machine but loopback and link-local ones, which need no
 * telling: a new array of strings. NULL with errno. */
json_t *addresses_now(void);

/*
 * Has the gateway deny them to all sandboxes, before it returns; one that is
 * down learns them when it starts. Fails with -EPERM when the gateway refuses
 * to load its files, and with what client_call() says.
 */
int addresses_tell(const struct cli *cli, struct client *c, struct err *err);

#endif
