/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_room.h - messages about a full disk of $AC_HOME
 */
#ifndef CONTROL_CLI_HOST_DISK_ROOM_H
#define CONTROL_CLI_HOST_DISK_ROOM_H

#include "control/cli/core/cli.h"
#include "control/cli/wire/client.h"

/* Writes "full: 3.1M of 400M left"; @status is the body of /v1/status. Returns
 * 0, or -ENODATA if an older acd does not tell. */
int room_text(char *out, size_t size, const json_t *status);
/* Returns true if the disk has room, or @status does not tell. */
bool room_is_fine(const json_t *status);
/* Asks acd, and prints a line if the disk is nearly full or the gateway's audit
 * cannot be written. Prints nothing if acd does not answer. */
void room_tell(const struct cli *cli, struct client *c);

#endif
