/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_head.h - what reading requests and responses has in common
 *
 * For the http1*.c files alone; others see http1.h.
 */
#ifndef OTTERGATE_INSPECT_HTTP1_HEAD_H
#define OTTERGATE_INSPECT_HTTP1_HEAD_H

#include "ottergate/inspect/http1.h"

struct http1_head { /* all views into the head */
	struct slice method, target; /* request */
	struct slice reason; /* response */
	unsigned status;
	uint8_t minor;
	struct http1_field *fields; /* the caller's, HTTP1_HEADERS_MAX */
	size_t n_fields;
	size_t len;
};
/* @ret->fields is set before. Results as http1_request_read(). */
int http1_head_read(struct slice raw, bool response,
		    struct http1_head *ret) ATTR_WUR;

struct http1_framing {
	bool has_length, chunked;
	uint64_t length;
	bool close, upgrade; /* named by Connection */
};
/* One opinion about where the body ends, or -EBADMSG (H1). */
int http1_framing_read(const struct http1_head *head,
		       struct http1_framing *ret) ATTR_WUR;

/* The members of all Connection fields, at most HTTP1_CONNECTION_MAX. */
struct http1_members {
	struct slice v[HTTP1_CONNECTION_MAX];
	size_t n;
};
int http1_connection_members(const struct http1_field *fields, size_t n,
			     struct http1_members *ret) ATTR_WUR;

/* Of one connection and not of the message (RFC 9110 §7.6.1), and the
 * framing, which is written anew. "Close" would be named by our own field. */
bool http1_hop_by_hop(struct slice name, const struct http1_members *named);
/* What a sandbox says about who it is or where it comes from (H15), and what
 * is written anew; Trailer announces what requests may not have. */
bool http1_not_for_upstream(struct slice name);

/* ASCII, whatever the case. */
bool http1_is(struct slice s, const char *text);
bool http1_same(struct slice a, struct slice b);
bool http1_begins(struct slice s, const char *text);
/* @byte of a token (RFC 9110 §5.6.2)? */
bool http1_token_byte(uint8_t byte);

#endif
