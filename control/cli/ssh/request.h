/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.h - what a client asks of a channel: RFC 4254, sections 6.2 to 6.10
 */
#ifndef CONTROL_CLI_SSH_REQUEST_H
#define CONTROL_CLI_SSH_REQUEST_H

#include "control/cli/ssh/channel.h"

#define REQUEST_NAME_MAX 64u
#define REQUEST_COMMAND_MAX (128u * 1024)
#define REQUEST_ENV_MAX 32u /* variables */
#define REQUEST_VALUE_MAX 1024u

/*
 * Does what @rest, the message without its number and channel, asks for, and
 * answers if an answer is wanted. Refused are an agent, X11, other subsystems
 * than sftp, other variables than LANG, LC_*, COLORTERM and GIT_PROTOCOL, a
 * second process, and what is not known. Returns 0; -EPROTO if it is malformed;
 * -ENOBUFS.
 */
int request_handle(struct channel *c, struct slice rest) ATTR_WUR;

#endif
