/* SPDX-License-Identifier: Apache-2.0 */
/*
 * places.c - expands paths such as "{repo}/pulls"
 */
#include "control/acd/credential/places.h"

#include <errno.h>
#include <string.h>

#include "lib/attr.h"

#define API "api"
#define PATH_BYTES_MAX 512u
#define DEPTH_MAX 6u /* places in one path, also nested ones */

struct strv *credential_places_add(struct credential_places *p,
				   const char *name)
{
	if (p->n == CREDENTIAL_PLACES_MAX || strcmp(name, API) == 0 ||
	    strpbrk(name, "{}"))
		return NULL;
	p->v[p->n].name = name;
	return &p->v[p->n++].paths;
}

void credential_places_done(struct credential_places *p)
{
	for (size_t i = 0; i < p->n; i++)
		strv_done(&p->v[i].paths);
	*p = (struct credential_places){ 0 };
}

bool credential_path_ok(const char *s)
{
	if (s[0] != '/' || strlen(s) > PATH_BYTES_MAX)
		return false;
	for (; *s; s++)
		if ((unsigned char)*s <= ' ' || (unsigned char)*s >= 0x7f ||
		    strchr("\"\\?{}", *s))
			return false;
	return true;
}

struct expand {
	const struct credential_places *places;
	const struct strv *api;
	size_t max;
	struct strv *to;
	const char **ret_why;
};

static int refuse(const struct expand *x, const char *why)
{
	*x->ret_why = why;
	return -EINVAL;
}

static const struct strv *find(const struct expand *x, const char *name,
			       size_t len)
{
	const struct credential_places *p = x->places;

	if (len == strlen(API) && memcmp(name, API, len) == 0)
		return x->api;
	for (size_t i = 0; i < p->n; i++)
		if (strlen(p->v[i].name) == len &&
		    memcmp(p->v[i].name, name, len) == 0)
			return &p->v[i].paths;
	return NULL;
}

/* Expands the first place of @text, and then the rest, recursively. */
static int expand(const struct expand *x, const char *text, unsigned depth)
{
	size_t at = strcspn(text, "{"), len = strcspn(text + at, "}");
	const struct strv *place = text[at] ? find(x, text + at + 1, len - 1) :
					      NULL;
	int rc = 0;

	if (!text[at]) {
		if (!credential_path_ok(text))
			return refuse(x,
				      "a path such as /v1/** is wanted here");
		if (x->to->n == x->max)
			return refuse(x, "this list is too long");
		return strv_has(x->to, text) ? refuse(x, "this is here twice") :
					       strv_push(x->to, text);
	}
	if (!text[at + len] || !place || place->n == 0 || depth == DEPTH_MAX)
		return refuse(x, "there is no such place");
	for (size_t i = 0; rc == 0 && i < place->n; i++) {
		SCOPED_STR more = str_printf("%.*s%s%s", (int)at, text,
					     place->v[i], text + at + len + 1);

		rc = more ? expand(x, more, depth + 1) : -ENOMEM;
	}
	return rc;
}

int credential_places_expand(const struct credential_places *p,
			     const struct strv *api, const char *text,
			     size_t max, struct strv *to, const char **ret_why)
{
	const struct expand x = { p, api, max, to, ret_why };

	return expand(&x, text, 0);
}
