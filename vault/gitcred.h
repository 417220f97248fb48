/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gitcred.h - git's credential protocol, as strict as it can be read
 *
 * git-credential(1), "INPUT/OUTPUT FORMAT". Pure.
 */
#ifndef VAULT_GITCRED_H
#define VAULT_GITCRED_H

#include "vault/wire.h"

#define GITCRED_INPUT_MAX 16384u
#define GITCRED_LINES_MAX 64u
#define GITCRED_LINE_MAX 4096u

/*
 * What git asks for: @ret gets protocol, host and path, and VAULT_OP_GIT as
 * op; the nonce stays. @in: all of it, up to an empty line or its end.
 * -EBADMSG: a NUL or another control byte, a line without "=", a key twice
 * (but for lists, "key[]"), a "url", no protocol or host, a host that is no
 * canonical name (a port other than 443 included), too many lines, or too long
 * ones.
 */
int gitcred_parse(struct slice in, struct vault_request *ret) ATTR_WUR;
/* The answer's lines. -EINVAL without a surrogate in it. */
int gitcred_put(struct buf *out, const struct vault_answer *a) ATTR_WUR;

#endif
