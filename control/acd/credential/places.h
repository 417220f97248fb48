/* SPDX-License-Identifier: Apache-2.0 */
/*
 * places.h - what "{repo}/pulls" stands for
 *
 * A path of credential/kinds.h may name places. Each stands for a list of
 * paths, and those may name others; "{api}" is where the API of a host is.
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

/* Returns the list to fill; NULL: this cannot be a place, or there are too
 * many. Keeps @name by reference. */
struct strv *credential_places_add(struct credential_places *p,
				   const char *name);
void credential_places_done(struct credential_places *p); /* accepts zeroed */

/* Returns true if @s is a pattern for a path, with nothing that would end the
 * double quotes around it. */
bool credential_path_ok(const char *s);

/* Appends all that @text stands for, at most @max. @api: what {api} stands for,
 * empty: there is no such place. Fails with -EINVAL and *ret_why; -ENOMEM. */
int credential_places_expand(const struct credential_places *p,
			     const struct strv *api, const char *text,
			     size_t max, struct strv *to, const char **ret_why);

#endif
