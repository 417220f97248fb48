/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grants.h - what the sandboxes that run may use of the vault
 *
 * For as long as a run is bound, its key, its CA and what its guest is told are
 * here, in memory alone. The key is derived from one that acd makes when it
 * starts, and from a number that no other run has had: a surrogate is worth
 * nothing after its run. What the gateway needs is made anew from the vault each
 * time it is sent.
 */
#ifndef CONTROL_ACD_INSTANCE_GRANTS_H
#define CONTROL_ACD_INSTANCE_GRANTS_H

#include "control/acd/blueprint/blueprint.h"
#include "control/acd/credential/rules.h"
#include "control/acd/credential/guest_grant.h"
#include "control/acd/instance/instance.h"
#include "control/acd/storage/store.h"

struct grants;
struct vault;

/* @vault: where entries come from, by reference; NULL: there are none. @kinds:
 * the folder of what each kind opens (credential/kinds.h). */
struct grants *grants_new(struct vault *vault, const char *kinds,
			  struct err *err);
void grants_free(struct grants *g); /* wipes; NULL is fine */

/* The rules of what @r may use, to stand below `allow:` (credential/rules.h).
 * @said: what was said for the instance of `git push`. As
 * vault_for_instance(); -EPERM, -EOPNOTSUPP: not in this mode, not under this
 * isolation. */
int grants_rules(struct grants *g, const struct instance_record *r,
		 const struct blueprint *bp, enum git_push said,
		 struct buf *out, struct err *err);

/* May @r use its credentials? As grants_bind(), which changes something. */
int grants_may(const struct grants *g, const struct instance_record *r,
	       const struct blueprint *bp, struct err *err);

/* Is @code of the above, or of grants_rules(), one that a run goes on without:
 * a credential is gone, has expired or is not for it any more? */
bool grants_is_gone(int code);

/* @r is about to be bound, or bound anew: makes what its guest is told unless
 * it is there. @ret: what the gateway is to be sent before (ADMIN_SECRETS);
 * none when it uses no credentials. As grants_rules(). */
int grants_bind(struct grants *g, const struct instance_record *r,
		const struct blueprint *bp, struct secret_bytes *ret,
		struct err *err);
void grants_unbind(struct grants *g, const char *name); /* wipes */
/* A server has sent @credential of @name's run back: no gateway gets it for that
 * run any more. False: it has none such, or was told before. */
bool grants_revoke(struct grants *g, const char *name, const char *credential);

/* Has @name's CA not been asked for yet? */
bool grants_lacks_ca(const struct grants *g, const char *name);
/* The gateway's answer to ADMIN_CA. -EPROTO, -ENOMEM. */
int grants_take_ca(struct grants *g, const char *name, const char *text,
		   size_t len);
/* What the guest of @name is told; NULL: nothing. Valid until grants_unbind(). */
const struct instance_grant *grants_of(const struct grants *g,
				       const char *name);

/* What a gateway that begins anew is to be told of each: @json as of
 * grants_bind() (len 0: none, or the vault does not give it now, then @err says
 * why), @bundle for ADMIN_CA (len 0: none). Both are borrowed. */
typedef void (*grants_fn)(void *arg, const char *name, struct slice json,
			  struct slice bundle, const struct err *err);
/* @credential: of those alone that use it; NULL: of all. */
void grants_each(struct grants *g, const char *credential, grants_fn fn,
		 void *arg);

#endif
