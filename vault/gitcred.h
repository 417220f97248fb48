/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gitcred.h - git's credential protocol, read strictly
 *
 * git-credential(1), "INPUT/OUTPUT FORMAT". Has no side effects.
 */
#ifndef VAULT_GITCRED_H
#define VAULT_GITCRED_H

#include "vault/wire.h"

#define GITCRED_INPUT_MAX 16384u
#define GITCRED_LINES_MAX 64u
#define GITCRED_LINE_MAX 4096u

/*
 * Parses git's request @in, all bytes up to an empty line or the end. Sets
 * protocol, host and path of @ret, and op to VAULT_OP_GIT; keeps its nonce.
 *
 * Returns 0, or -EBADMSG for a NUL or another control byte, a line without "=",
 * a repeated key (except lists, "key[]"), a "url", a missing protocol or host,
 * a host that is not a canonical name (or has a port other than 443), too many
 * or too long lines, or bytes after the empty line.
 */
int gitcred_parse(struct slice in, struct vault_request *ret) ATTR_WUR;
/* Appends the lines of the answer. Returns 0, -EINVAL unless the status is
 * VAULT_OK, or the error of buf_printf(). */
int gitcred_put(struct buf *out, const struct vault_answer *a) ATTR_WUR;

#endif
