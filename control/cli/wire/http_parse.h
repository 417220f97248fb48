/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_parse.h - the answers of HTTP/1.1: head and framing of the body
 *
 * Pure: bytes in, views of them out. Nothing is allocated.
 */
#ifndef CONTROL_CLI_WIRE_HTTP_PARSE_H
#define CONTROL_CLI_WIRE_HTTP_PARSE_H

#include "lib/slice.h"

#define HTTP_HEAD_MAX (16u * 1024)

struct http_head {
	int status;
	bool link; /* it says Upgrade: ac-link/1 */
	bool close; /* no further answer on this connection */
	bool chunked;
	bool has_length;
	uint64_t length; /* Content-Length */
	size_t size; /* bytes of the head itself, with its empty line */
};

/* 0; -EAGAIN: more bytes needed; -EBADMSG: no such head, longer than
 * HTTP_HEAD_MAX, or two readers could differ about where its body ends. */
int http_head_parse(struct slice in, struct http_head *ret) ATTR_WUR;

struct http_body {
	int state;
	uint64_t left; /* of the body or the chunk */
	size_t framing; /* bytes since the last one of the body */
	unsigned digits; /* of a chunk's size */
};

void http_body_init(struct http_body *b, const struct http_head *head);

/*
 * Takes from @in. 0: *ret is the next piece of the body, not empty; 1: the
 * body has ended, and what is left in @in is not of it; -EAGAIN: all of @in is
 * taken and more must come; -EBADMSG.
 */
int http_body_next(struct http_body *b, struct slice *in,
		   struct slice *ret) ATTR_WUR;

/* The end of the connection here is the end of the body. */
bool http_body_may_end(const struct http_body *b);

#endif
