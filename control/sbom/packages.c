/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packages.c - the list of what is installed in an image
 */
#include "control/sbom/packages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/str.h"

/* Copies @text, cut to @max bytes, to the arena; NULL stays NULL. Sets *rc to
 * -ENOMEM on failure. */
static const char *keep(struct sbom *s, const char *text, size_t max, int *rc)
{
	size_t len = text ? strnlen(text, max) : 0;
	const char *copy = text ? arena_strn(&s->arena, text, len) : NULL;

	if (text && !copy)
		*rc = -ENOMEM;
	return copy;
}

static bool is_usable(const char *text, size_t max)
{
	return text && *text && strnlen(text, max + 1) <= max &&
	       !str_has_control(text);
}

static int make_room(struct sbom *s)
{
	size_t room = s->room ? s->room * 2 : 256;
	struct sbom_package *v;

	if (s->n < s->room)
		return 0;
	if (s->n >= SBOM_PACKAGES_MAX)
		return -E2BIG;
	v = reallocarray(s->v, room, sizeof(*v));
	if (!v)
		return -ENOMEM;
	s->v = v;
	s->room = room;
	return 0;
}

int sbom_add(struct sbom *s, const struct sbom_package *p)
{
	struct sbom_package n = *p;
	int rc;

	if (!is_usable(p->name, SBOM_NAME_MAX) ||
	    !is_usable(p->version, SBOM_VERSION_MAX) ||
	    (p->at && strnlen(p->at, SBOM_PATH_MAX + 1) > SBOM_PATH_MAX)) {
		s->left_out++;
		return 0;
	}
	rc = make_room(s);
	if (rc < 0)
		return rc;
	n.name = keep(s, p->name, SBOM_NAME_MAX, &rc);
	n.version = keep(s, p->version, SBOM_VERSION_MAX, &rc);
	n.arch = keep(s, p->arch, 64, &rc);
	n.source = keep(s, p->source, SBOM_NAME_MAX, &rc);
	n.supplier = keep(s, p->supplier, SBOM_TEXT_MAX, &rc);
	n.licence = keep(s, p->licence, SBOM_TEXT_MAX, &rc);
	n.said = keep(s, p->said, SBOM_TEXT_MAX, &rc);
	n.at = keep(s, p->at ? p->at : "", SBOM_PATH_MAX, &rc);
	if (rc == 0)
		s->v[s->n++] = n;
	return rc;
}

static int by_identity(const struct sbom_package *x,
		       const struct sbom_package *y)
{
	int d = (int)x->kind - (int)y->kind;

	if (d == 0)
		d = strcmp(x->name, y->name);
	if (d == 0)
		d = strcmp(x->version, y->version);
	if (d == 0)
		d = strcmp(x->arch ? x->arch : "", y->arch ? y->arch : "");
	return d;
}

static int by_place(const void *a, const void *b)
{
	const struct sbom_package *x = a, *y = b;
	int d = by_identity(x, y);

	return d ? d : strcmp(x->at, y->at);
}

void sbom_sort(struct sbom *s)
{
	size_t kept = 0;

	if (s->n == 0)
		return;
	qsort(s->v, s->n, sizeof(*s->v), by_place);
	for (size_t k = 1; k < s->n; k++) {
		struct sbom_package *last = &s->v[kept], *p = &s->v[k];

		if (by_identity(last, p) != 0)
			s->v[++kept] = *p;
		else if (!last->sum.algorithm)
			last->sum = p->sum;
	}
	s->n = kept + 1;
}

void sbom_done(struct sbom *s)
{
	arena_done(&s->arena);
	free(s->v);
	*s = (struct sbom){ 0 };
}
