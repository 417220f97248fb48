/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connect.c - the Connect protocol, version 1, with its JSON codec
 */
#include "control/acd/api/e2b/connect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/shared/json.h"
#include "lib/str.h"

#define TIMEOUT_MAX 9999999999u /* ten digits, says the protocol */

int connect_next(struct slice *in, bool *ret_last, struct slice *ret)
{
	struct slice s = *in;
	uint8_t flags;
	uint32_t len;

	if (slice_u8(&s, &flags) < 0)
		return -EAGAIN;
	if (flags & ~(unsigned)CONNECT_LAST)
		return -EBADMSG;
	if (slice_u32(&s, &len) < 0)
		return -EAGAIN;
	if (len > CONNECT_MESSAGE_MAX)
		return -EBADMSG;
	if (slice_take(&s, len, ret) < 0)
		return -EAGAIN;
	*ret_last = flags & CONNECT_LAST;
	*in = s;
	return 0;
}

int connect_read(struct slice body, json_t **ret, struct err *err)
{
	json_t *v = NULL;
	int rc = 0;

	if (body.len == 0)
		v = json_object();
	else
		rc = jsonx_parse((const char *)body.ptr, body.len, &v, err);
	if (rc < 0)
		return rc;
	if (!v)
		return err_nomem(err);
	if (!json_is_object(v)) {
		json_decref(v);
		return err_set(err, -EINVAL, "the message must be an object");
	}
	*ret = v;
	return 0;
}

int connect_read_one(struct slice body, json_t **ret, struct err *err)
{
	struct slice message;
	bool last;

	if (connect_next(&body, &last, &message) < 0 || last || body.len > 0)
		return err_set(err, -EINVAL,
			       "the body must be one envelope of at most %u "
			       "KiB, not compressed",
			       CONNECT_MESSAGE_MAX / 1024);
	return connect_read(message, ret, err);
}

uint8_t *connect_envelope(bool last, json_t *takes_message, size_t *ret_len)
{
	size_t len = takes_message ?
			     json_dumpb(takes_message, NULL, 0, JSON_COMPACT) :
			     0;
	uint8_t *mem = len > 0 ? malloc(CONNECT_HEADER + len) : NULL;

	if (mem) {
		mem[0] = last ? CONNECT_LAST : 0;
		for (size_t i = 0; i < 4; i++)
			mem[1 + i] = (uint8_t)(len >> (24 - 8 * i));
		json_dumpb(takes_message, (char *)mem + CONNECT_HEADER, len,
			   JSON_COMPACT);
		*ret_len = CONNECT_HEADER + len;
	}
	json_decref(takes_message);
	return mem;
}

const struct connect_code *connect_code_of(int code)
{
	static const struct connect_code codes[] = {
		{ -EINVAL, 400, "invalid_argument" },
		{ -ENOTDIR, 400, "invalid_argument" },
		{ -EISDIR, 400, "invalid_argument" },
		{ -ELOOP, 400, "invalid_argument" },
		{ -ENAMETOOLONG, 400, "invalid_argument" },
		{ -ENOENT, 404, "not_found" },
		{ -EEXIST, 409, "already_exists" },
		{ -EACCES, 403, "permission_denied" },
		{ -EPERM, 403, "permission_denied" },
		{ -EROFS, 403, "permission_denied" },
		{ -EBUSY, 400, "failed_precondition" },
		{ -ENOTEMPTY, 400, "failed_precondition" },
		{ -EPIPE, 400, "failed_precondition" },
		{ -ENOTSUP, 501, "unimplemented" },
		{ -ENOSPC, 429, "resource_exhausted" },
		{ -EDQUOT, 429, "resource_exhausted" },
		{ -EMFILE, 429, "resource_exhausted" },
		{ -EMSGSIZE, 429, "resource_exhausted" },
		{ -ETIMEDOUT, 504, "deadline_exceeded" },
		{ -ENOTCONN, 503, "unavailable" },
		{ -EAGAIN, 503, "unavailable" },
		{ -ENOBUFS, 503, "unavailable" },
		{ -ECONNRESET, 503, "unavailable" },
	};
	static const struct connect_code other = { 0, 500, "internal" };

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		if (codes[i].code == code)
			return &codes[i];
	}
	return &other;
}

json_t *connect_error(const struct err *err)
{
	return json_pack("{s:s, s:o}", "code", connect_code_of(err->code)->word,
			 "message", jsonx_text(err->msg));
}

int connect_timeout(const char *header, uint64_t *ret_ms, struct err *err)
{
	uint64_t ms = 0;

	if (header && str_parse_u64(header, 0, TIMEOUT_MAX, &ms) < 0)
		return err_set(err, -EINVAL,
			       "Connect-Timeout-Ms must be a number of at most "
			       "ten digits");
	*ret_ms = ms;
	return 0;
}
