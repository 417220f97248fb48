/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_room.h - a disk of $AC_HOME that is full, wherever it explains something
 */
#ifndef CONTROL_CLI_HOST_DISK_ROOM_H
#define CONTROL_CLI_HOST_DISK_ROOM_H

#include "control/cli/core/cli.h"
#include "control/cli/wire/client.h"

/* "full: 3.1M of 400M left"; @status is the body of /v1/status. -ENODATA: an
 * older acd says nothing of it. */
int room_text(char *out, size_t size, const json_t *status);
/* A line for the user when the disk is not fine, or the gateway's audit cannot
 * be written; else nothing. Asks acd, and is silent where it does not answer. */
void room_tell(const struct cli *cli, struct client *c);

#endif
