/* SPDX-License-Identifier: Apache-2.0 */
/*
 * places.h - expands paths such as "{repo}/pulls"
 *
 * Paths in the files of credential/kinds.h may contain places. A place stands
 * for a list of paths, which may contain other places. "{api}" is the path of a
 * host's API.
 */
#ifndef CONTROL_ACD_CREDENTIAL_PLACES_H
#define CONTROL_ACD_CREDENTIAL_PLACES_H

#include <stdbool.h>

#include "lib/str.h"

#define CREDENTIAL_PLACES_MAX 16u

struct credential_places {
	struct {
		const char *name; /* borrowed */
		struct strv paths;
	} v[CREDENTIAL_PLACES_MAX];
	size_t n;
};

/* Adds a place without paths. Returns its list, which the caller fills and @p
 * owns, or NULL if @name is "api" or has a brace, or there are too many places.
 * Keeps @name by reference. */
struct strv *credential_places_add(struct credential_places *p,
				   const char *name);
/* Frees the lists of all places. Accepts zeroed. */
void credential_places_done(struct credential_places *p);

/* Returns true if @s is an absolute path, which may have wildcards, without a
 * place and without what needs an escape between double quotes in YAML. */
bool credential_path_ok(const char *s);

/* Appends all paths that @text stands for to @to. @api: the paths for {api};
 * empty: there is no such place. Returns 0. Returns -EINVAL with *ret_why (a
 * constant) for an unknown place or an invalid path, for a path that @to has
 * already, and if @to would have more than @max; or -ENOMEM. @to may have some
 * of the paths then. */
int credential_places_expand(const struct credential_places *p,
			     const struct strv *api, const char *text,
			     size_t max, struct strv *to, const char **ret_why);

#endif
