/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.c - the messages between vaultd and its clients: codec
 */
#include "vault/wire.h"

#include <string.h>

static const char *const op_names[] = {
	[VAULT_OP_GIT] = "git",
	[VAULT_OP_GH] = "gh",
	[VAULT_OP_GLAB] = "glab",
};

static const char *const status_names[] = {
	[VAULT_OK] = "granted",
	[VAULT_NONE] = "none",
	[VAULT_DENIED] = "denied",
	[VAULT_BUSY] = "busy",
};

const char *vault_op_name(enum vault_op op)
{
	return op_names[op];
}

const char *vault_status_name(enum vault_status s)
{
	return status_names[s];
}

static int put_str(struct buf *out, const char *s, size_t max)
{
	const size_t len = strlen(s);

	return len > max ? -EINVAL : buf_put_lstr(out, s, len);
}

/* Reads printable ASCII without blanks into an array of @max + 1 bytes. */
static int get_str(struct slice *in, char *ret, size_t max)
{
	if (slice_lstr_copy(in, max, ret) < 0)
		return -EBADMSG;
	for (; *ret; ret++) {
		if (*ret <= ' ' || *ret > '~')
			return -EBADMSG;
	}
	return 0;
}

/* Returns true if the fields suit the op: git names a host; for the others the
 * tool's own host is meant. */
static bool request_is_sound(const struct vault_request *r)
{
	if (r->op == VAULT_OP_GIT)
		return r->proto[0] && grant_host_valid(r->host);
	return !r->proto[0] && !r->host[0] && !r->path[0];
}

int vault_put_request(struct buf *out, const struct vault_request *r)
{
	int rc;

	if (!request_is_sound(r))
		return -EINVAL;
	rc = buf_append(out, r->nonce, sizeof(r->nonce));
	if (rc == 0)
		rc = buf_put_u8(out, (uint8_t)r->op);
	if (rc == 0)
		rc = put_str(out, r->proto, VAULT_PROTO_MAX);
	if (rc == 0)
		rc = put_str(out, r->host, GRANT_HOST_MAX);
	return rc < 0 ? rc : put_str(out, r->path, VAULT_PATH_MAX);
}

int vault_get_request(struct slice in, struct vault_request *ret)
{
	struct vault_request r = { 0 };
	struct slice nonce;
	uint8_t op;

	if (in.len > VAULT_REQUEST_MAX ||
	    slice_take(&in, sizeof(r.nonce), &nonce) < 0 ||
	    slice_u8(&in, &op) < 0 || op < VAULT_OP_GIT || op > VAULT_OP_GLAB ||
	    get_str(&in, r.proto, VAULT_PROTO_MAX) < 0 ||
	    get_str(&in, r.host, GRANT_HOST_MAX) < 0 ||
	    get_str(&in, r.path, VAULT_PATH_MAX) < 0 || in.len > 0)
		return -EBADMSG;
	memcpy(r.nonce, nonce.ptr, sizeof(r.nonce));
	r.op = (enum vault_op)op;
	if (!request_is_sound(&r))
		return -EBADMSG;
	*ret = r;
	return 0;
}

int vault_put_answer(struct buf *out, const struct vault_answer *a)
{
	const size_t len =
		1 + 8 + 4 + strlen(a->user) + 4 + strlen(a->surrogate);
	int rc;

	if ((a->status == VAULT_OK) != (a->surrogate[0] != '\0'))
		return -EINVAL;
	rc = buf_put_u16(out, (uint16_t)len);
	if (rc == 0)
		rc = buf_put_u8(out, (uint8_t)a->status);
	if (rc == 0)
		rc = buf_put_u64(out, a->expiry);
	if (rc == 0)
		rc = put_str(out, a->user, GRANT_USER_MAX);
	return rc < 0 ? rc : put_str(out, a->surrogate, SURROGATE_MAX - 1);
}

int vault_get_answer(struct slice in, struct vault_answer *ret)
{
	struct vault_answer a = { 0 };
	struct slice body;
	uint16_t len;
	uint8_t status;

	if (slice_u16(&in, &len) < 0)
		return -EAGAIN;
	if (len > VAULT_ANSWER_MAX - 2)
		return -EBADMSG;
	if (slice_take(&in, len, &body) < 0)
		return -EAGAIN;
	if (in.len > 0 || slice_u8(&body, &status) < 0 || status > VAULT_BUSY ||
	    slice_u64(&body, &a.expiry) < 0 ||
	    get_str(&body, a.user, GRANT_USER_MAX) < 0 ||
	    get_str(&body, a.surrogate, SURROGATE_MAX - 1) < 0 || body.len > 0)
		return -EBADMSG;
	a.status = (enum vault_status)status;
	if ((a.status == VAULT_OK) != (a.surrogate[0] != '\0'))
		return -EBADMSG;
	*ret = a;
	return 0;
}
