/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.h - a command's output and end as server-sent events
 */
#ifndef CONTROL_ACD_API_COMMAND_EVENTS_H
#define CONTROL_ACD_API_COMMAND_EVENTS_H

#include "control/acd/api/http/server.h"
#include "control/acd/instance/command/command.h"

/* Returns true if the client asks for events. */
bool events_are_wanted(struct http_req *req);
/*
 * Answers with the events of @c, which is not COMMAND_FIRST, from the position
 * of the header Last-Event-ID on. @owner: the command is that of this request;
 * the header is ignored, and the command is removed with the stream.
 */
void events_answer(struct loop *loop, struct http_req *req, struct command *c,
		   bool owner);

#endif
