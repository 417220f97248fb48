/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credentials.h - which credentials of the vault an instance may use, and how
 *
 * A blueprint names some, an instance may name others or the same in another
 * way. Names and wishes alone: what they are is the vault's. Pure.
 *
 *	["github", {"name": "ci", "mode": "surrogate", "env": "CI_TOKEN",
 *	  "push": "ask", "methods": ["GET"], "paths": ["/v1/x"]}]
 *
 * The word "none" takes back those before it, the blueprint's as well.
 */
#ifndef CONTROL_ACD_CREDENTIAL_CREDENTIALS_H
#define CONTROL_ACD_CREDENTIAL_CREDENTIALS_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/err.h"
#include "lib/str.h"

#define CREDENTIALS_MAX 64u /* of one instance */
#define CREDENTIAL_ENV_MAX 128u /* bytes of a variable's name */
#define CREDENTIAL_PATHS_MAX 64u
#define CREDENTIAL_METHODS_MAX 16u

enum credential_mode {
	CREDENTIAL_SURROGATE, /* the sandbox has a stand-in */
	CREDENTIAL_HANDOVER, /* it has the real one, in its environment */
};

/* What becomes of `git push`, where the gateway sees it. */
enum git_push {
	PUSH_UNSET,
	PUSH_ASK, /* denied, with the words that allow it */
	PUSH_ALLOW,
	PUSH_DENY,
};
const char *git_push_name(enum git_push p); /* "ask"; "" unset */
int git_push_parse(const char *word, enum git_push *ret); /* -ENOENT */

struct credential {
	char *name; /* as in the vault */
	char *env; /* variable that has it; NULL: that of its kind */
	enum credential_mode mode;
	enum git_push push;
	struct strv methods, paths; /* empty: those of its kind */
	bool own; /* said for the instance, not by its blueprint */
};

struct credentials {
	struct credential *v;
	size_t n;
	bool only; /* "none" was said: those of the blueprint do not hold */
};

void credential_done(struct credential *c); /* accepts zeroed */
void credentials_done(struct credentials *l); /* accepts zeroed */
const struct credential *credentials_find(const struct credentials *l,
					  const char *name);
/* Name, variable (none that programs or the sandbox have a use for), methods
 * and paths. -EINVAL. */
int credential_check(const struct credential *c, struct err *err);
/* Takes what @c holds (also on failure), in the place of one of its name.
 * -EINVAL: it is none, or there are too many. */
int credentials_put(struct credentials *l, struct credential *c,
		    struct err *err);

/* An array as above. -EINVAL. */
int credentials_parse(json_t *list, struct credentials *ret, struct err *err);
/* As stored; NULL and "" are an empty list. */
int credentials_load(const char *json, struct credentials *ret,
		     struct err *err);
/* A new reference, NULL without memory. */
json_t *credentials_json(const struct credentials *l);
/* The text, caller frees; NULL without memory. */
char *credentials_store(const struct credentials *l);

/* What holds: those of @base unless @own is "only", then those of @own, which
 * are marked so and go before one of the same name. "only" when one of both is.
 * -ENOMEM, -EINVAL (too many). */
int credentials_merge(const struct credentials *base,
		      const struct credentials *own, struct credentials *ret,
		      struct err *err);

#endif
