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

#define UPGRADE_BODY_MAX (1024u * 1024) /* of a refusal */

struct upgrade {
	int fd; /* blocking, CLOEXEC; -1 when there is none */
	uint8_t early[HTTP_HEAD_MAX]; /* came behind the head */
	size_t n_early;
};

/*
 * POSTs @body to @path and waits @timeout_ms for an answer, 0: without limit.
 * 0: @ret->fd is the link, to be closed by the caller. Else as client_call(),
 * and @ce says what acd said.
 */
int upgrade_open(const char *sock, const char *path, const json_t *body,
		 unsigned timeout_ms, struct upgrade *ret,
		 struct client_error *ce, struct err *err);

#endif
