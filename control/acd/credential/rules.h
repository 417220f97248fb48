/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules.h - what a credential of the vault opens, as policy rules
 */
#ifndef CONTROL_ACD_CREDENTIAL_RULES_H
#define CONTROL_ACD_CREDENTIAL_RULES_H

#include "control/acd/credential/kinds.h"
#include "control/acd/credential/credentials.h"
#include "lib/buf.h"
#include "vault/store.h"

/* What holds for `git push`: what was said for the instance (@said), for the
 * credential, or to ask. */
enum git_push credential_push(const struct credential *c, enum git_push said);

/*
 * Appends the rules of the @nth credential (for their ids) to a list below
 * `allow:` of ac-policy(5): the hosts of @e, inspected, with what its kind opens
 * (@kinds), narrowed to what @e and @c say of methods and paths. One that is
 * handed over has a plain tunnel. Fails with -EINVAL if @e and @c contradict each
 * other; -ENOMEM, -ENOBUFS.
 */
int credential_rules(const struct credential_kinds *kinds,
		     const struct vstore_entry *e, const struct credential *c,
		     enum git_push push, size_t nth, struct buf *out,
		     struct err *err);

#endif
