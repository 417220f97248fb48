/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h - the messages between vaultd and its clients: codec
 *
 * vault/PROTOCOL, 3. No side effects. One exchange on each connection: nonce,
 * request, answer.
 */
#ifndef VAULT_WIRE_H
#define VAULT_WIRE_H

#include "lib/buf.h"
#include "vault/grant.h"

#define VAULT_NONCE 32u
#define VAULT_REQUEST_MAX 4096u
#define VAULT_ANSWER_MAX 512u
#define VAULT_PROTO_MAX 16u
#define VAULT_PATH_MAX 2048u

enum vault_op {
	VAULT_OP_GIT = 1, /* host, and path for the audit */
	VAULT_OP_GH = 2, /* no host, no path */
	VAULT_OP_GLAB = 3,
};

struct vault_request {
	uint8_t nonce[VAULT_NONCE];
	enum vault_op op;
	char proto[VAULT_PROTO_MAX + 1];
	char host[GRANT_HOST_MAX + 1];
	char path[VAULT_PATH_MAX + 1];
};
/* Appends a request. Returns 0, -ENOBUFS, or -EINVAL if a field is too long or
 * empty where it must not be. */
int vault_put_request(struct buf *out, const struct vault_request *r) ATTR_WUR;
/* Parses a whole message. Returns 0, or -EBADMSG if it is cut or followed by
 * other bytes, for an unknown op, a byte that is not printable ASCII, a host
 * where none is allowed or one that is not a canonical name. */
int vault_get_request(struct slice in, struct vault_request *ret) ATTR_WUR;

enum vault_status {
	VAULT_OK = 0,
	VAULT_NONE = 1, /* no grant for this */
	VAULT_DENIED = 2, /* this caller is refused; the audit says why */
	VAULT_BUSY = 3, /* too many requests */
};

struct vault_answer {
	enum vault_status status;
	uint64_t expiry; /* seconds since 1970; 0 without a surrogate */
	char user[GRANT_USER_MAX + 1];
	char surrogate[SURROGATE_MAX];
};
/* Appends an answer. Returns 0, or a negative errno. */
int vault_put_answer(struct buf *out, const struct vault_answer *a) ATTR_WUR;
/* Parses an answer at the front of @in. Returns 0, -EAGAIN if bytes are
 * missing, or -EBADMSG. */
int vault_get_answer(struct slice in, struct vault_answer *ret) ATTR_WUR;

/* Return the name in static storage, such as "git" and "granted". */
const char *vault_op_name(enum vault_op op);
const char *vault_status_name(enum vault_status s);

#endif
