/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logtail.h - sends a log file of acd's own to a client, and what is added
 *
 * Knows the rotation of logfile.h (<path>, and <path>.1 before it). Another
 * process may write the file.
 */
#ifndef CONTROL_ACD_API_LOGTAIL_H
#define CONTROL_ACD_API_LOGTAIL_H

#include <stdint.h>

#include "control/acd/api/http/server.h"
#include "lib/loop.h"

#define LOGTAIL_ALL UINT64_MAX

struct logtail_spec {
	const char *path;
	uint64_t lines; /* how many of the last, or LOGTAIL_ALL */
	bool follow; /* goes on as the file grows */
	const char *having; /* only lines with this text; NULL: all */
};

/* Answers @req with the lines as a stream, or with an error if there is no
 * file. @spec is borrowed for the call. */
void logtail_reply(struct loop *loop, struct http_req *req,
		   const struct logtail_spec *spec);

#endif
