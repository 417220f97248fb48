/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logtail.h - sends a log file of acd's own to a client, and what is added
 *
 * Knows the rotation of logfile.h (<path>, and <path>.1 before it); somebody
 * else writes the file, possibly another process.
 */
#ifndef CONTROL_ACD_LOGTAIL_H
#define CONTROL_ACD_LOGTAIL_H

#include <stdint.h>

#include "control/acd/http.h"
#include "lib/loop.h"

#define LOGTAIL_ALL UINT64_MAX

/* Answers @req with the last @lines lines of @path as a stream, and goes on
 * as the file grows when @follow. An error when there is no file. */
void logtail_reply(struct loop *loop, struct http_req *req, const char *path,
		   uint64_t lines, bool follow);

#endif
