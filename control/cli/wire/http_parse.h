/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_parse.h - parses answers of HTTP/1.1: head and framing of the body
 *
 * Results are views of the input. Nothing is allocated; no side effects.
 */
#ifndef CONTROL_CLI_WIRE_HTTP_PARSE_H
#define CONTROL_CLI_WIRE_HTTP_PARSE_H

#include "lib/slice.h"

#define HTTP_HEAD_MAX (16u * 1024)

struct http_head {
	int status;
	bool link; /* it says Upgrade: ac-link/1 */
	bool close; /* no further answer comes on this connection */
	bool chunked;
	bool has_length;
	uint64_t length; /* Content-Length */
	struct slice
		instance; /* Ac-Instance, of a 101 to a run; may be empty */
	size_t size; /* bytes of the head, with its empty line */
};

/* Parses the head at the beginning of @in. Returns 0; -EAGAIN if it is
 * incomplete; -EBADMSG if it is malformed, longer than HTTP_HEAD_MAX, or two
 * readers could differ about where its body ends. */
int http_head_parse(struct slice in, struct http_head *ret) ATTR_WUR;

struct http_body {
	int state;
	uint64_t left; /* of the body or the chunk */
	size_t framing; /* bytes since the last byte of the body */
	unsigned digits; /* of a chunk's size */
};

void http_body_init(struct http_body *b, const struct http_head *head);

/*
 * Takes bytes from @in. Returns 0 with the next, non-empty piece of the body in
 * *ret; 1 if the body has ended, and the rest of @in is not part of it; -EAGAIN
 * if all of @in is taken and more must come; -EBADMSG.
 */
int http_body_next(struct http_body *b, struct slice *in,
		   struct slice *ret) ATTR_WUR;

/* Returns true if the body may end with the connection here. */
bool http_body_may_end(const struct http_body *b);

#endif
