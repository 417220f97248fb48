/* SPDX-License-Identifier: Apache-2.0 */
/*
 * self_addresses.h - tells acd which addresses this machine has
 */
#ifndef CONTROL_CLI_HOST_SELF_ADDRESSES_H
#define CONTROL_CLI_HOST_SELF_ADDRESSES_H

#include "control/cli/core/cli.h"
#include "control/cli/wire/client.h"

/* Returns all addresses of this machine, also of interfaces that are down, as a
 * new array of strings; without IPv4 and IPv6 loopback and IPv6 link-local
 * ones, which are always denied. Returns NULL with errno on failure. */
json_t *addresses_now(void);

/*
 * Makes the gateway deny these to all sandboxes, before it returns; waits for
 * an acd that is starting. A gateway that is down gets them when it starts,
 * which is no failure. Returns 0; -EPERM, with what to do in @err, if the
 * gateway refuses its policy and so loads nothing; or fails like client_call().
 */
int addresses_tell(const struct cli *cli, struct client *c, struct err *err);

#endif
