/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logins.h - keeps the access tokens of logins fresh
 *
 * Only logins that a run uses are refreshed: a refresh token that is used in
 * vain is one more that can be lost. New tokens are stored before they are used,
 * since the provider may take the old refresh token no more.
 */
#ifndef CONTROL_ACD_CREDENTIAL_LOGINS_H
#define CONTROL_ACD_CREDENTIAL_LOGINS_H

#include <jansson.h>

#include "control/acd/credential/vault.h"
#include "control/acd/daemon/children.h"
#include "lib/loop.h"

#define LOGINS_TICK_MS 2000u /* between two looks at what is due */

struct logins;

struct logins_ops {
	/* Returns true if a run uses the credential @name. */
	bool (*in_use)(void *arg, const char *name);
	/* The credential @name has changed in the vault. @over is NULL, or why
	 * its login is over, with what to do. */
	void (*changed)(void *arg, const char *name, const char *over);
};

/* Returns a new object, or NULL without memory. All arguments are borrowed. */
struct logins *logins_new(struct loop *loop, struct children *children,
			  struct vault *vault, const struct logins_ops *ops,
			  void *arg);
/* Asks for nothing any more; what is answered is still stored. */
void logins_stop(struct logins *l);
/* Ends what is under way and frees @l. NULL is fine. */
void logins_free(struct logins *l);

/* Forgets the failures of @name, whose value the user has replaced. @l may be
 * NULL. */
void logins_forget(struct logins *l, const char *name);

typedef void (*logins_fn)(void *arg);
/*
 * Called at a start that uses the credentials @names (NULL-terminated). Asks for
 * the tokens of those that are due. Returns true if the access token of one has
 * ended: @fn will be called, from the loop, when its answer is there, whatever
 * it is, unless logins_free() is called. Else returns false.
 */
bool logins_await(struct logins *l, const char *const *names, logins_fn fn,
		  void *arg);

/* Returns why the last refresh of @name has failed, borrowed until the loop goes
 * on; NULL if it has not. */
const char *logins_failing(const struct logins *l, const char *name);

/* Returns {"ends", "state", "text"} of a login (api/spec/vault_tables.c), a new
 * reference; null for another credential. @l may be NULL. */
json_t *logins_json(const struct logins *l, const struct vstore_entry *e);
/* Returns the option of `ac vault add` that takes the file of a client, with a
 * blank before it; "" for a kind that is none of these. A constant. */
const char *login_from(enum secret_kind kind);
/* Sets @err to what the user has to do with the login of @e, which is over.
 * Returns -EKEYEXPIRED. */
int login_over(const struct vstore_entry *e, struct err *err);

#endif
