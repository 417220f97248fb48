/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_head.h - the parser that requests and responses share
 *
 * Included by the http1*.c files only; other code uses http1.h.
 */
#ifndef OTTERGATE_INSPECT_HTTP1_HEAD_H
#define OTTERGATE_INSPECT_HTTP1_HEAD_H

#include "ottergate/inspect/http1.h"

struct http1_head { /* all slices are views into the head */
	struct slice method, target; /* request */
	struct slice reason; /* response */
	unsigned status;
	uint8_t minor;
	struct http1_field *fields; /* caller's array of HTTP1_HEADERS_MAX */
	size_t n_fields;
	size_t len; /* bytes, blank line included */
};
/* Parses the head at the beginning of @raw. The caller sets ret->fields first
 * and all else in *@ret to zero. Returns 0; -EAGAIN if the head is not
 * complete; -E2BIG if it is too long or has too many fields; -EOPNOTSUPP for an
 * unknown method or version; -EBADMSG for all else. */
int http1_head_read(struct slice raw, bool response,
		    struct http1_head *ret) ATTR_WUR;

struct http1_framing {
	bool has_length, chunked;
	uint64_t length;
	bool close, upgrade; /* the Connection field has this word */
};
/* Reads the fields that tell the length of the body, and Connection. Returns 0,
 * or -EBADMSG if they are malformed or two readers could find different ends of
 * the body (H1). */
int http1_framing_read(const struct http1_head *head,
		       struct http1_framing *ret) ATTR_WUR;

/* The words in all Connection fields; views. */
struct http1_members {
	struct slice v[HTTP1_CONNECTION_MAX];
	size_t n;
};
/* Finds these words in @fields. Returns 0, or -EBADMSG for a malformed word or
 * more than HTTP1_CONNECTION_MAX. */
int http1_connection_members(const struct http1_field *fields, size_t n,
			     struct http1_members *ret) ATTR_WUR;

/* Returns true for a field of the connection and not of the message (RFC 9110
 * §7.6.1), which includes the framing and what Connection names. */
bool http1_hop_by_hop(struct slice name, const struct http1_members *named);
/* Returns true for request fields that the gateway writes itself or drops: what
 * says where a client comes from (H15), Host, Expect, and Trailer, as requests
 * may have no trailers. */
bool http1_not_for_upstream(struct slice name);

/* Return true if both are equal, and if @s begins with @text, without regard to
 * the case of ASCII letters. */
bool http1_is(struct slice s, const char *text);
bool http1_same(struct slice a, struct slice b);
bool http1_begins(struct slice s, const char *text);
/* Returns true if @byte may be part of a token (RFC 9110 §5.6.2). */
bool http1_token_byte(uint8_t byte);

#endif
