/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules.h - the policy rules of a credential
 */
#ifndef CONTROL_ACD_CREDENTIAL_RULES_H
#define CONTROL_ACD_CREDENTIAL_RULES_H

#include "control/acd/credential/kinds.h"
#include "control/acd/credential/credentials.h"
#include "lib/buf.h"
#include "vault/store.h"

/* Returns what applies to `git push`: the instance's option @said, else the
 * credential's, else PUSH_ASK. */
enum git_push credential_push(const struct credential *c, enum git_push said);

/*
 * Appends the rules of the @nth credential (for their ids) to a list below
 * `allow:` of ac-policy(5). They inspect the hosts of @e and allow what its
 * kind (@kinds) allows, narrowed by the methods and paths of @e and @c. A
 * credential that is handed over gets a plain tunnel. Returns 0, -EINVAL if @e
 * and @c contradict each other, -ENOMEM or -ENOBUFS.
 */
int credential_rules(const struct credential_kinds *kinds,
		     const struct vstore_entry *e, const struct credential *c,
		     enum git_push push, size_t nth, struct buf *out,
		     struct err *err);
/* Says whether @rule is the id of a rule of the credential @name. */
bool credential_rule_is(const char *rule, const char *name);

/* Returns 0 if each service that is a host of @e is one of @services, names of
 * services. Else fails with -EINVAL. */
int credential_check_services(const struct vstore_entry *e,
			      const struct strv *services, struct err *err);

/* Returns 0 if @e allows the mode of @c. Fails with -EPERM if a blueprint wants it
 * handed over, which @e does not allow. */
int credential_check_mode(const struct vstore_entry *e,
			  const struct credential *c, struct err *err);

#endif
