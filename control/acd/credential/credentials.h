/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credentials.h - which credentials an instance may use, and how
 *
 * A blueprint names some; an instance may name others, or the same with other
 * options. Only names and options are here; the values are in the vault. No
 * side effects.
 *
 *	["github", {"name": "ci", "mode": "surrogate", "env": "CI_TOKEN",
 *	  "push": "ask", "methods": ["GET"], "paths": ["/v1/x"]}]
 *
 * The word "none" drops those before it, including the blueprint's.
 */
#ifndef CONTROL_ACD_CREDENTIAL_CREDENTIALS_H
#define CONTROL_ACD_CREDENTIAL_CREDENTIALS_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/err.h"
#include "lib/schema.h"
#include "lib/str.h"

#define CREDENTIALS_MAX 64u /* of one instance */
#define CREDENTIAL_ENV_MAX 128u /* bytes of a variable's name */
#define CREDENTIAL_PATHS_MAX 64u
#define CREDENTIAL_METHODS_MAX 16u

enum credential_mode {
	CREDENTIAL_SURROGATE, /* the sandbox has a surrogate */
	CREDENTIAL_HANDOVER, /* it has the real value, in its environment */
};

/* What the gateway does with `git push`. */
enum git_push {
	PUSH_UNSET,
	PUSH_ASK, /* denied, with the command that allows it */
	PUSH_ALLOW,
	PUSH_DENY,
};
/* Returns "ask" and so on, "" for PUSH_UNSET; a constant. */
const char *git_push_name(enum git_push p);
/* Parses "ask", "allow" or "deny". Returns 0, or -ENOENT for another word. */
int git_push_parse(const char *word, enum git_push *ret);

struct credential {
	char *name; /* as in the vault */
	char *env; /* variable for it; NULL: that of its kind */
	enum credential_mode mode;
	enum git_push push;
	struct strv methods, paths; /* empty: those of its kind */
	bool own; /* set by credentials_merge(): named by the instance, not only
		   * by its blueprint */
};

struct credentials {
	struct credential *v;
	size_t n;
	bool only; /* "none" was given: drops those of the blueprint */
};

/* Free what a credential or a list holds, and zero it. Accept zeroed. */
void credential_done(struct credential *c);
void credentials_done(struct credentials *l);
/* Removes the credential @name, if there is one. */
void credentials_drop(struct credentials *l, const char *name);
/* Returns the credential @name, borrowed from @l, or NULL. */
const struct credential *credentials_find(const struct credentials *l,
					  const char *name);
/* Adds @c, replacing one of the same name. Takes what @c holds, also on
 * failure, and leaves @c zeroed. Returns 0, -EINVAL if it is invalid or there
 * are too many, or -ENOMEM. */
int credentials_put(struct credentials *l, struct credential *c,
		    struct err *err);

/* An object of such an array. */
extern const struct schema credential_is;
/* Reads an array as above. Returns 0, and the caller releases @ret; or -EINVAL
 * or -ENOMEM, with @ret unchanged. */
int credentials_parse(json_t *list, struct credentials *ret, struct err *err);
/* The same for text as it is stored; NULL and "" are an empty list. */
int credentials_load(const char *json, struct credentials *ret,
		     struct err *err);
/* Returns the array as above, a new reference, or NULL without memory. */
json_t *credentials_json(const struct credentials *l);
/* Returns the text to store, to be freed, or NULL without memory. */
char *credentials_store(const struct credentials *l);

/* Merges copies of the blueprint's @base and the instance's @own into @ret:
 * those of @base unless own->only is set, then those of @own, which replace
 * others of the same name. ret->only is set if it is set in one of both.
 * Returns 0, and the caller releases @ret; or -EINVAL for too many or -ENOMEM,
 * with @ret unchanged. */
int credentials_merge(const struct credentials *base,
		      const struct credentials *own, struct credentials *ret,
		      struct err *err);

#endif
