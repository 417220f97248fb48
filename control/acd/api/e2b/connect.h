/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connect.h - the Connect protocol, version 1, with its JSON codec
 *
 * A unary call is a POST of JSON, answered with JSON, or with a status and
 * {"code", "message"}. A stream is a sequence of envelopes: a byte of flags, a u32
 * length, a message. The answer of a stream has the status 200, and its last
 * envelope says whether it failed. This is the codec alone; it has no side effects.
 */
#ifndef CONTROL_ACD_API_E2B_CONNECT_H
#define CONTROL_ACD_API_E2B_CONNECT_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/buf.h"
#include "lib/err.h"

#define CONNECT_HEADER 5u
#define CONNECT_MESSAGE_MAX (1024u * 1024) /* that a client may send */
#define CONNECT_STREAM "application/connect+json"

enum connect_flags {
	CONNECT_COMPRESSED = 1, /* refused */
	CONNECT_LAST = 2,
};

/* Takes the next envelope from the front of @in; *@ret is a view. Returns 0;
 * -EAGAIN if it is not complete, and @in is unchanged; -EBADMSG for flags that
 * are unknown, compression, or a message that is too large. */
int connect_next(struct slice *in, bool *ret_last, struct slice *ret) ATTR_WUR;

/* Reads a body that must be one envelope, of a message that is an object. Sets
 * *@ret to a new reference. Returns 0 or -EINVAL with @err. */
int connect_read_one(struct slice body, json_t **ret, struct err *err);
/* The same of a unary call, whose body is the message; an empty one is {}. */
int connect_read(struct slice body, json_t **ret, struct err *err);

/* Returns an envelope for the caller to free, with *@ret_len; NULL without
 * memory. Takes @message. */
uint8_t *connect_envelope(bool last, json_t *takes_message, size_t *ret_len);

/* What the protocol calls an errno, and the status of a unary call for it. */
struct connect_code {
	int code; /* negative errno */
	int status;
	const char *word;
};
const struct connect_code *connect_code_of(int code);
/* Returns {"code", "message"} of @err; a new reference. */
json_t *connect_error(const struct err *err);

/* Reads a Connect-Timeout-Ms (NULL: none): at most ten digits. Returns 0 and sets
 * *@ret_ms, 0 for none; or -EINVAL with @err. */
int connect_timeout(const char *header, uint64_t *ret_ms, struct err *err);

#endif
