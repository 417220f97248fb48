/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tokens.h - tokens of programs that use the API over TCP, in the store
 *
 * What is stored of a token cannot be used: a hash of its secret half.
 */
#ifndef CONTROL_ACD_STORAGE_TOKENS_H
#define CONTROL_ACD_STORAGE_TOKENS_H

#include <stdint.h>

#include "control/acd/storage/store.h"
#include "control/shared/paths.h"

#define TOKENS_MAX 256u
#define TOKEN_ID_LEN 12u /* lower-case hex digits */
#define TOKEN_HASH_BYTES 32u

struct token {
	char name[AC_NAME_MAX + 1];
	char id[TOKEN_ID_LEN + 1]; /* the half that is no secret */
	uint8_t hash[TOKEN_HASH_BYTES];
	char scope[16]; /* a word of access.h */
	int64_t created_at, expires_at, used_at; /* s of the epoch; 0: never */
};

/* Stores @t. Returns 0, -EEXIST if its name is taken, -ENOSPC beyond TOKENS_MAX,
 * or another negative errno, with @err. */
int token_put(struct store *s, const struct token *t, struct err *err);
/* Finds the token with this id. Returns 0, -ENOENT without @err, or another
 * negative errno with @err. */
int token_find(struct store *s, const char *id, struct token *ret,
	       struct err *err);
/* Removes the token of that name. Fails with -ENOENT. */
int token_drop(struct store *s, const char *name, struct err *err);
/* Notes that the token was used at @now, in seconds of the epoch. */
int token_note_use(struct store *s, const char *id, int64_t now,
		   struct err *err);
/* Calls @fn in order of name with a borrowed token. A negative result of @fn
 * ends the walk and is returned. */
int tokens_each(struct store *s, int (*fn)(void *arg, const struct token *t),
		void *arg, struct err *err);

/* A setting of acd, a text by name. setting_get() returns 0 and sets *@ret to a
 * copy for the caller to free, NULL if there is none. @value NULL removes it. */
int setting_get(struct store *s, const char *name, char **ret, struct err *err);
int setting_put(struct store *s, const char *name, const char *value,
		struct err *err);
/* Calls @fn with each setting whose name begins with @prefix, which has no "*",
 * "?" or "[", in order of name. A negative result of @fn ends the walk and is
 * returned. @fn must not change a setting. */
int settings_each(struct store *s, const char *prefix,
		  int (*fn)(void *arg, const char *name, const char *value),
		  void *arg, struct err *err);

#endif
