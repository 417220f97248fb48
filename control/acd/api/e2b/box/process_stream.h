/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_stream.h - a command's beginning, output and end as a stream of Connect
 */
#ifndef CONTROL_ACD_API_E2B_BOX_PROCESS_STREAM_H
#define CONTROL_ACD_API_E2B_BOX_PROCESS_STREAM_H

#include "control/acd/api/http/server.h"
#include "control/acd/instance/command/command.h"
#include "lib/loop.h"

/* Answers with the events of @c: all of them for the one that has @started it, else
 * what comes from now on. The command goes on if the client leaves. */
void process_stream(struct loop *loop, struct http_req *req, struct command *c,
		    bool started);
/* Answers with a stream that is an error alone. */
void process_stream_refuse(struct http_req *req, const struct err *err);

#endif
