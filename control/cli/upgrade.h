/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upgrade.h - a request to acd whose connection becomes a link
 *
 * After "101 Switching Protocols" the connection carries the frames of
 * init-guard/link.h on channel 1.
 */
#ifndef CONTROL_CLI_UPGRADE_H
#define CONTROL_CLI_UPGRADE_H

#include <jansson.h>

#include "control/cli/client.h"
#include "lib/slice.h"

#define UPGRADE_HEAD_MAX (16u * 1024)
#define UPGRADE_BODY_MAX (1024u * 1024) /* of a refusal */

/* The head of an HTTP/1.1 answer. */
struct upgrade_head {
	int status;
	bool link; /* it says Upgrade: ac-link/1 */
	bool has_length;
	size_t length; /* Content-Length */
	size_t size; /* bytes of the head itself, with its empty line */
};

/* 0; -EAGAIN: more bytes needed; -EBADMSG: no such head, or longer than
 * UPGRADE_HEAD_MAX. Pure. */
int upgrade_head_parse(struct slice in, struct upgrade_head *ret) ATTR_WUR;

struct upgrade {
	int fd; /* blocking, CLOEXEC; -1 when there is none */
	uint8_t early[UPGRADE_HEAD_MAX]; /* came behind the head */
	size_t n_early;
};

/*
 * POSTs @body to @path. 0: @ret->fd is the link, to be closed by the caller.
 * Else as client_call(), and @ce says what acd said.
 */
int upgrade_open(const char *sock, const char *path, const json_t *body,
		 struct upgrade *ret, struct client_error *ce, struct err *err);

#endif
