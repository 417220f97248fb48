/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upgrade.h - a request to acd whose connection becomes a link
 *
 * After "101 Switching Protocols" the connection carries the frames of
 * init-guard/link.h on channel 1.
 */
#ifndef CONTROL_CLI_WIRE_UPGRADE_H
#define CONTROL_CLI_WIRE_UPGRADE_H

#include <jansson.h>

#include "control/cli/wire/client.h"
#include "control/cli/wire/http_parse.h"

#define UPGRADE_BODY_MAX (1024u * 1024) /* bytes of a refusal */

struct upgrade {
	int fd; /* blocking, CLOEXEC; -1: none */
	uint8_t early[HTTP_HEAD_MAX]; /* came after the head */
	size_t n_early;
	char instance[AC_NAME_MAX + 1]; /* that acd names; "": none */
};

/*
 * POSTs @body (borrowed) to @path of acd at @sock and waits @timeout_ms for an
 * answer, 0: without limit. Returns 0, and the caller closes the link @ret->fd.
 * On failure returns like client_call(), with ret->fd -1; *ce has acd's
 * refusal, or is zero if acd did not answer. Nothing in *ce is to be freed.
 */
int upgrade_open(const char *sock, const char *path, const json_t *body,
		 unsigned timeout_ms, struct upgrade *ret,
		 struct client_error *ce, struct err *err);

#endif
