/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_flow.h - bytes of a file between a client and a sandbox's file server
 */
#ifndef CONTROL_ACD_API_FILE_FLOW_H
#define CONTROL_ACD_API_FILE_FLOW_H

#include "control/acd/api/http/server.h"
#include "control/acd/instance/files.h"
#include "lib/buf.h"

/*
 * Moves what the client takes of @pending to @s, and gives @f (NULL: it has ended)
 * credit for it. With nothing left of both, ends @s, as incomplete if @left bytes
 * of the announced ones are missing, and returns true. Else returns false.
 */
bool file_flow_out(struct http_stream *s, struct buf *pending, struct files *f,
		   uint64_t left);

/* Gives @f of @data what it has room for. Returns how much. */
size_t file_flow_in(struct files *f, struct slice data);

#endif
