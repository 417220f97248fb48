/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grants.h - the grants of running sandboxes: credentials, keys and CAs
 *
 * While a run is bound, its key, its CA and what its sandbox gets are here, in
 * memory only. The key is derived from a key that acd makes when it starts and
 * from a number that no other run has, so a surrogate is worthless after its
 * run, unless another one goes on from its memory (grants_save()). What the
 * gateway gets is read from the vault each time it is sent.
 */
#ifndef CONTROL_ACD_INSTANCE_GRANTS_H
#define CONTROL_ACD_INSTANCE_GRANTS_H

#include "control/acd/blueprint/blueprint.h"
#include "control/acd/credential/rules.h"
#include "control/acd/credential/guest_grant.h"
#include "control/acd/credential/logins.h"
#include "control/acd/instance/instance.h"
#include "control/acd/storage/store.h"

struct grants;
struct vault;

/* Returns a new object, or NULL with @err. @vault holds the credentials and is
 * borrowed; NULL: there are none. @kinds is the folder of credential kinds
 * (credential/kinds.h). */
struct grants *grants_new(struct vault *vault, const char *kinds,
			  struct err *err);
void grants_free(struct grants *g); /* wipes; NULL is fine */

/* Appends the policy rules for the credentials of @r and @bp to @out, a list
 * below `allow:` (credential/rules.h). @said is the instance's option for `git
 * push`, @services are the names of those that it may reach. Returns 0; a failure of
 * vault_for_instance(), credential_check_services() or credential_rules(); -ENOTSUP
 * if a credential is wanted and there is no vault. */
int grants_rules(struct grants *g, const struct instance_record *r,
		 const struct blueprint *bp, enum git_push said,
		 const struct strv *services, struct buf *out, struct err *err);

/* Returns 0 if @r may use its credentials, else what grants_bind() would fail
 * with, but for those that @bp names and the vault does not have
 * (grants_missing()). Changes nothing. */
int grants_may(const struct grants *g, const struct instance_record *r,
	       const struct blueprint *bp, struct err *err);

/* Returns the first credential of @bp that @r uses and the vault does not have,
 * but for those in @without; borrowed from @bp. NULL if there is none, also if
 * the vault cannot be read. */
const char *grants_missing(const struct grants *g,
			   const struct instance_record *r,
			   const struct blueprint *bp,
			   const struct strv *without);

/* Returns true if a run goes on without the credential that @code is about: it
 * is gone (-ENOENT), out of scope (-EACCES) or expired (-EKEYEXPIRED). */
bool grants_is_gone(int code);

/* Returns true if the rule with the id @rule belongs to a credential of @r that
 * the vault does not give it now (grants_is_gone()). */
bool grants_lacks_rule(const struct grants *g, const struct instance_record *r,
		       const struct blueprint *bp, const char *rule);

/* Called before @r is bound: makes its grants, unless it has them. *ret is the
 * text of ADMIN_SECRETS for the gateway (the caller releases it); len 0 if it
 * uses no credentials. Returns 0; a failure of grants_rules(); -EPERM if an
 * entry does not allow the handover that the blueprint asks for; -EOPNOTSUPP if
 * it has credentials without isolation runsc; -EINVAL for two that clash. If a
 * new grant fails, nothing is left of it. */
int grants_bind(struct grants *g, const struct instance_record *r,
		const struct blueprint *bp, struct secret_bytes *ret,
		struct err *err);
/* Refreshes the logins of runs; borrowed, may be NULL. */
void grants_set_logins(struct grants *g, struct logins *logins);
/* Returns what logins_await() does for the credentials of the run @name. A login
 * that was not refreshed is a warning of the run. */
bool grants_wait(struct grants *g, const char *name, logins_fn fn, void *arg);
/* Called after that: makes the text of grants_bind() again, for the vault as it is
 * now. A login that was not refreshed is a warning of the run. Returns and fails
 * like grants_bind(). */
int grants_again(struct grants *g, const char *name, struct secret_bytes *ret,
		 struct err *err);
/* Returns true if a run uses @credential. */
bool grants_use(const struct grants *g, const char *credential);
/* Tells the runs that use @credential that its login is over; @arg: of @fn. */
void grants_over(const struct grants *g, const char *credential,
		 instance_revoked_fn fn, void *arg);
void grants_unbind(struct grants *g, const char *name); /* wipes */
/* Called when a server has sent @credential back to @name: the gateway gets it
 * no more for this run. Returns false if the run does not use it, if it was
 * revoked before, or without memory. */
bool grants_revoke(struct grants *g, const char *name, const char *credential);

/* Returns true if there is no CA for @name yet. */
bool grants_lacks_ca(const struct grants *g, const char *name);
/* Keeps the gateway's answer to ADMIN_CA. Returns 0, -EPROTO if it is
 * malformed, or -ENOMEM. */
int grants_take_ca(struct grants *g, const char *name, const char *text,
		   size_t len);
/* Returns what the sandbox of @name is given, borrowed until grants_unbind(),
 * or NULL if nothing. */
const struct instance_grant *grants_of(const struct grants *g,
				       const char *name);

/* Returns what the run @name was granted, for grants_load(): a new reference,
 * null if nothing was; NULL without memory. It is secret: it has the key of the
 * surrogates and that of the CA. */
json_t *grants_save(const struct grants *g, const char *name);
/* Gives that to the run @name, of an instance of @blueprint, which is not bound
 * yet; grants_bind() goes on with it. Returns 0, -EBADMSG or -EINVAL if @v is
 * malformed, or -ENOMEM. */
int grants_load(struct grants *g, const char *name, const char *blueprint,
		const json_t *v, struct err *err);
/* Returns true, once, with the text for ADMIN_CA in *ret, borrowed, if the
 * gateway has not been given the CA of @name. */
bool grants_take_owed_ca(struct grants *g, const char *name, struct slice *ret);

/* Called for each run. @json: text of ADMIN_SECRETS; len 0 if there is none or,
 * with @err, if the vault does not give it now. @bundle: text for ADMIN_CA; len
 * 0 if none. Both are borrowed for the call. */
typedef void (*grants_fn)(void *arg, const char *name, struct slice json,
			  struct slice bundle, const struct err *err);
/* Calls @fn for each run that uses @credential; NULL: for all runs. */
void grants_each(struct grants *g, const char *credential, grants_fn fn,
		 void *arg);

#endif
