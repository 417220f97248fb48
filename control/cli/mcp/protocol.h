/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protocol.h - the revisions of MCP that are spoken, and what differs in them
 *
 * Up to 2025-11-25 a client says once, by "initialize", which revision it speaks.
 * From 2026-07-28 on each request says it, in its "_meta", and each result has a
 * type and the name of the server. A client may do either at any time.
 */
#ifndef CONTROL_CLI_MCP_PROTOCOL_H
#define CONTROL_CLI_MCP_PROTOCOL_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/err.h"

/* What is known of a request when it is answered. */
struct protocol_request {
	json_t *id; /* borrowed */
	json_t *token; /* for its progress, borrowed; NULL: none is wanted */
	bool modern; /* it is one of 2026-07-28 */
};

/* Reads @params (NULL: none) of a request into @ret, but for the id. Returns 0, or
 * the code of an error (rpc.h) with @err and *ret_data, which the caller frees. */
int protocol_read(const json_t *params, struct protocol_request *ret,
		  json_t **ret_data, struct err *err);

/* Return the results of "initialize" and of "server/discover": new references, NULL
 * without memory; the first sets *ret_code and @err if the parameters are wrong.
 * @resources: there are some. */
json_t *protocol_initialize(const json_t *params, bool resources,
			    const char *about, int *ret_code, struct err *err);
json_t *protocol_discover(bool resources, const char *about);

/* Returns @result, which it takes, as the request's revision wants it; @listed: it
 * could be kept by a client for a while, but must not be. */
json_t *protocol_stamp(const struct protocol_request *rq, bool listed,
		       json_t *result);

#endif
