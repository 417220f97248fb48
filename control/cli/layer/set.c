/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set.c - the changes of one workspace, in memory and in order
 */
#include "control/cli/layer/set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void layer_set_done(struct layer_set *set)
{
	free(set->v);
	arena_done(&set->arena);
	memset(set, 0, sizeof(*set));
}

static int grow(struct layer_set *set)
{
	size_t cap = set->cap ? set->cap * 2 : 64;
	struct layer_item *v;

	if (set->n < set->cap)
		return 0;
	if (set->n >= LAYER_ITEMS_MAX)
		return -E2BIG;
	v = reallocarray(set->v, cap, sizeof(*v));
	if (!v)
		return -ENOMEM;
	set->v = v;
	set->cap = cap;
	return 0;
}

/* Copies @s, NULL if it is empty. */
static int keep(struct layer_set *set, struct slice s, const char **ret)
{
	if (s.len == 0)
		return 0;
	if (s.len > LAYER_NAMES_MAX - set->names)
		return -E2BIG;
	*ret = arena_strn(&set->arena, (const char *)s.ptr, s.len);
	set->names += s.len;
	return *ret ? 0 : -ENOMEM;
}

struct layer_item *layer_set_add(struct layer_set *set, const struct change *c,
				 int *ret_rc)
{
	struct layer_item *it;
	int rc = grow(set);

	if (rc < 0) {
		*ret_rc = rc;
		return NULL;
	}
	it = &set->v[set->n];
	memset(it, 0, sizeof(*it));
	rc = keep(set, c->path, &it->path);
	if (rc == 0)
		rc = keep(set, c->target, &it->target);
	if (rc < 0) {
		*ret_rc = rc;
		return NULL;
	}
	it->mode = (uint16_t)c->mode;
	it->kind = (uint8_t)c->kind;
	it->other = (uint8_t)c->other;
	it->opaque = c->opaque;
	set->n++;
	return it;
}

int layer_set_add_gone(struct layer_set *set, const char *path)
{
	const struct change c = { .kind = CHANGE_GONE,
				  .path = slice_str(path) };
	int rc = 0;

	return layer_set_add(set, &c, &rc) ? 0 : rc;
}

/* ---- order ---- */

/* A slash sorts before all other bytes, so that "a/b" follows "a", not "a-". */
static int weight(char c)
{
	return c == '\0' ? 0 : c == '/' ? 1 : (unsigned char)c + 2;
}

int layer_path_compare(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return weight(*a) - weight(*b);
}

static int compare(const void *a, const void *b)
{
	const struct layer_item *x = a, *y = b;

	return layer_path_compare(x->path, y->path);
}

bool layer_path_in(const char *path, const char *top)
{
	size_t len = strlen(top);

	return strncmp(path, top, len) == 0 &&
	       (path[len] == '\0' || path[len] == '/');
}

int layer_set_sort(struct layer_set *set)
{
	const char *leaf = NULL;

	if (set->n > 1)
		qsort(set->v, set->n, sizeof(*set->v), compare);
	for (size_t i = 0; i < set->n; i++) {
		const struct layer_item *it = &set->v[i];

		if (i > 0 && strcmp(set->v[i - 1].path, it->path) == 0)
			return -EBADMSG;
		if (leaf && layer_path_in(it->path, leaf))
			return -EBADMSG;
		leaf = it->kind == CHANGE_DIR ? NULL : it->path;
	}
	return 0;
}

struct layer_item *layer_set_find(const struct layer_set *set, const char *path)
{
	size_t lo = 0, hi = set->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int order = layer_path_compare(set->v[mid].path, path);

		if (order == 0)
			return &set->v[mid];
		if (order < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

const char *layer_set_gone_above(const struct layer_set *set, const char *path)
{
	char above[CHANGES_PATH_MAX + 1];

	for (const char *p = strchr(path, '/'); p; p = strchr(p + 1, '/')) {
		const struct layer_item *it;
		size_t len = (size_t)(p - path);

		if (len >= sizeof(above))
			return NULL;
		memcpy(above, path, len);
		above[len] = '\0';
		it = layer_set_find(set, above);
		if (it && it->kind == CHANGE_GONE)
			return it->path;
	}
	return NULL;
}

void layer_set_pack(struct layer_set *set)
{
	size_t n = 0;

	for (size_t i = 0; i < set->n; i++)
		if (set->v[i].path)
			set->v[n++] = set->v[i];
	set->n = n;
}

/* ---- which ---- */

/* Git refuses the same names in trees: NTFS has git~1, and drops dots and blanks
 * at a name's end. */
static bool name_is_git(const char *name, size_t len)
{
	if (len == 5 && strncasecmp(name, "git~1", 5) == 0)
		return true;
	while (len > 4 && (name[len - 1] == '.' || name[len - 1] == ' '))
		len--;
	return len == 4 && strncasecmp(name, ".git", 4) == 0;
}

bool layer_path_is_git(const char *path)
{
	while (*path) {
		size_t len = strcspn(path, "/");

		if (name_is_git(path, len))
			return true;
		path += len + (path[len] == '/');
	}
	return false;
}

static bool selected(const struct layer_item *it, const char *const *only,
		     size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (layer_path_in(it->path, only[i]) ||
		    (it->kind == CHANGE_DIR &&
		     layer_path_in(only[i], it->path)))
			return true;
	return false;
}

void layer_set_select(struct layer_set *set, const char *const *only, size_t n)
{
	for (size_t i = 0; n > 0 && i < set->n; i++)
		if (!selected(&set->v[i], only, n))
			set->v[i].path = NULL;
	if (n > 0)
		layer_set_pack(set);
}
