/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mount_keys.c - the key `mounts` of a blueprint
 *
 *	mounts: [ { from: ~/docs, to: /mnt/docs, mode: ro },
 *		  { volume: cache, to: /mnt/cache, mode: rw } ]
 *
 * Directories of the user's that are shown in a sandbox, of which acd opens none:
 * `ac` does, with the user's rights, and passes a descriptor; and volumes, which
 * are acd's own (storage/volumes.h). An heir adds mounts, by `to`; "-/mnt/docs"
 * drops one of its parent's, "none" all.
 *
 * They are shown below /mnt alone. All else of a sandbox's tree is the image's,
 * which is read-only and shared, or is written by the agent: a mount in the
 * workspace or in the home would be made in a directory that it can change.
 */
#include "control/acd/blueprint/keys.h"

#include <stdlib.h>
#include <string.h>

#include "control/shared/names.h"
#include "control/shared/paths.h"
#include "lib/str.h"

/* The mount that is being read. */
struct place {
	const struct blueprint_place *p;
	struct blueprint_mount *m;
};

struct key {
	struct schema_key is;
	int (*fn)(const struct place *at, const struct yaml_node *n);
};

void blueprint_mount_done(struct blueprint_mount *m)
{
	free(m->from);
	free(m->volume);
	free(m->to);
	*m = (struct blueprint_mount){ 0 };
}

static void drop_all(struct blueprint *bp)
{
	while (bp->n_mounts > 0)
		blueprint_mount_done(&bp->mounts[--bp->n_mounts]);
}

void blueprint_mounts_done(struct blueprint *bp)
{
	drop_all(bp);
	free(bp->mounts);
	bp->mounts = NULL;
}

bool blueprint_mounts_live(const struct blueprint *bp)
{
	for (size_t i = 0; i < bp->n_mounts; i++) {
		if (bp->mounts[i].live && !bp->mounts[i].volume)
			return true;
	}
	return false;
}

static struct blueprint_mount *mount_find(const struct blueprint *bp,
					  const char *to)
{
	for (size_t i = 0; i < bp->n_mounts; i++) {
		if (strcmp(bp->mounts[i].to, to) == 0)
			return &bp->mounts[i];
	}
	return NULL;
}

static int room_make(struct blueprint *bp)
{
	if (!bp->mounts)
		bp->mounts = calloc(BLUEPRINT_MOUNTS_MAX, sizeof(*bp->mounts));
	return bp->mounts ? 0 : -ENOMEM;
}

int blueprint_mount_put(struct blueprint *bp, struct blueprint_mount *new)
{
	struct blueprint_mount *had = mount_find(bp, new->to);
	int rc = room_make(bp);

	if (rc == 0 && !had && bp->n_mounts == BLUEPRINT_MOUNTS_MAX)
		rc = -ENOSPC;
	if (rc < 0) {
		blueprint_mount_done(new);
		return rc;
	}
	if (had)
		blueprint_mount_done(had);
	else
		had = &bp->mounts[bp->n_mounts++];
	*had = *new;
	*new = (struct blueprint_mount){ 0 };
	return 0;
}

/* ---- one mount ---- */

static int read_from(const struct place *at, const struct yaml_node *n)
{
	int rc = blueprint_read_string(at->p, n, &at->m->from);
	const char *s = at->m->from;

	if (rc < 0)
		return rc;
	if (str_starts(s, "/") || str_starts(s, "~/")) {
		s = strchr(s, '/') + 1;
		if (blueprint_path_is_below(s, BLUEPRINT_PATH_MAX) &&
		    !str_has_control(s))
			return 0;
	}
	return yaml_tree_refuse(at->p->tree, n, at->p->err,
				"from is a directory of your machine, such as "
				"/srv/docs or ~/docs, without '..'");
}

static int read_volume(const struct place *at, const struct yaml_node *n)
{
	struct err why = { 0 };
	int rc = blueprint_read_string(at->p, n, &at->m->volume);

	if (rc < 0 || name_check_volume(at->m->volume, &why) == 0)
		return rc;
	return yaml_tree_refuse(at->p->tree, n, at->p->err, "%s", why.msg);
}

static int read_to(const struct place *at, const struct yaml_node *n)
{
	int rc = blueprint_read_string(at->p, n, &at->m->to);

	if (rc < 0 || name_is_mount(at->m->to))
		return rc;
	return yaml_tree_refuse(
		at->p->tree, n, at->p->err,
		"to is " AC_MNT "/NAME, with letters, digits and _ . -: other "
		"places of a sandbox are the image's, or the agent's own");
}

static const char *const mode_words[] = { "ro", "live", NULL };
static const struct schema mode_is = SCHEMA_WORDS(mode_words);

static int read_mode(const struct place *at, const struct yaml_node *n)
{
	int rc = blueprint_read_word(at->p, n, &mode_is,
				     "mode is ro, or live: then the agent "
				     "writes to your directory");

	if (rc < 0)
		return rc;
	at->m->live = rc == 1;
	return 0;
}

static const char *const volume_words[] = { "ro", "rw", NULL };
static const struct schema volume_mode_is = SCHEMA_WORDS(volume_words);

static int read_volume_mode(const struct place *at, const struct yaml_node *n)
{
	int rc = blueprint_read_word(at->p, n, &volume_mode_is,
				     "mode of a volume is rw, or ro: one "
				     "instance at a time writes to it");

	if (rc < 0)
		return rc;
	at->m->live = rc == 1;
	return 0;
}

static const struct schema from_is = { .kind = SCHEMA_TEXT,
				       .pattern = "(/|~/)[^/].*",
				       .max = BLUEPRINT_PATH_MAX };
static const struct schema to_is = {
	.kind = SCHEMA_TEXT,
	.pattern = AC_MNT "/[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}",
};
static const struct key keys[] = {
	{ { "from", &from_is }, read_from },
	{ { "to", &to_is }, read_to },
	{ { "mode", &mode_is }, read_mode },
};
static const char *const needs[] = { "from", "to", NULL };
static const struct schema mount_is = { SCHEMA_ROWS(keys), .required = needs };
static const struct schema volume_is = {
	.kind = SCHEMA_TEXT,
	.pattern = "[A-Za-z0-9][A-Za-z0-9_.-]{1,62}",
};
static const struct key volume_keys[] = {
	{ { "volume", &volume_is }, read_volume },
	{ { "to", &to_is }, read_to },
	{ { "mode", &volume_mode_is }, read_volume_mode },
};
static const char *const volume_needs[] = { "volume", "to", NULL };
static const struct schema volume_mount_is = { SCHEMA_ROWS(volume_keys),
					       .required = volume_needs };
static const struct schema drop_is = {
	.kind = SCHEMA_FORM,
	.pattern = "none|-" AC_MNT "/[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}",
};
static const struct schema *const items[] = { &mount_is, &volume_mount_is,
					      &drop_is, NULL };
static const struct schema item_is = { .kind = SCHEMA_EITHER, .either = items };
const struct schema blueprint_mounts_is = { .kind = SCHEMA_LIST,
					    .item = &item_is,
					    .max = BLUEPRINT_MOUNTS_MAX };

/* What a mount shows: the keys that it may have depend on it. */
static const struct kind {
	const struct schema *is;
	const char *keys, *needs;
} kinds[] = {
	{ &mount_is, "a mount has from, to and mode",
	  "a mount needs from, or volume, and to" },
	{ &volume_mount_is, "a mount of a volume has volume, to and mode",
	  "a mount of a volume needs volume and to" },
};

static int read_key(const struct place *at, const struct kind *kind,
		    const struct yaml_node *n)
{
	const struct key *k = (const void *)schema_find(kind->is, n->key);

	return k ? k->fn(at, n) :
		   blueprint_unknown(at->p->tree, n, kind->is, kind->keys,
				     at->p->err);
}

static int mount_make(const struct blueprint_place *p,
		      const struct yaml_node *n, struct blueprint_mount *ret)
{
	const struct place at = { p, ret };
	const struct kind *kind = &kinds[0];
	int rc = yaml_tree_want_map(p->tree, n, p->err);

	for (const struct yaml_node *c = n->first; c && rc == 0; c = c->next) {
		if (strcmp(c->key, "volume") == 0)
			kind = &kinds[1];
	}
	ret->live = kind == &kinds[1]; /* unless it says ro */
	for (const struct yaml_node *c = n->first; c && rc == 0; c = c->next)
		rc = read_key(&at, kind, c);
	if (rc < 0 || ((ret->from || ret->volume) && ret->to))
		return rc;
	yaml_tree_refuse(p->tree, n, p->err, "%s", kind->needs);
	return blueprint_code(p->err, MISTAKE_MISSING);
}

/* ---- the list ---- */

/* Takes what @new has, on failure too. */
static int mount_put(const struct blueprint_place *p, const struct yaml_node *n,
		     struct blueprint_mount *new, struct strv *seen)
{
	struct blueprint *bp = p->bp;
	struct blueprint_mount *had = mount_find(bp, new->to);
	int rc = 0;

	if (strv_has(seen, new->to))
		rc = blueprint_twice(p, n, new->to);
	else if (!had && bp->n_mounts == BLUEPRINT_MOUNTS_MAX)
		rc = blueprint_much(p, n, BLUEPRINT_MOUNTS_MAX, "mounts");
	else if (strv_push(seen, new->to) < 0)
		rc = err_nomem(p->err);
	if (rc < 0) {
		blueprint_mount_done(new);
		return rc;
	}
	return blueprint_mount_put(bp, new) < 0 ? err_nomem(p->err) : 0;
}

static int drop_mount(const struct blueprint_place *p,
		      const struct yaml_node *n, const struct strv *seen)
{
	struct blueprint *bp = p->bp;
	struct blueprint_mount *m;

	if (strcmp(n->text, "none") == 0) {
		if (seen->n > 0)
			return yaml_tree_refuse(p->tree, n, p->err,
						"none must be the first of the "
						"list: it drops those of the "
						"parent");
		drop_all(bp);
		return 0;
	}
	if (*n->text != '-')
		return yaml_tree_refuse(p->tree, n, p->err,
					"a mount is a map, such as { from: "
					"~/docs, to: " AC_MNT "/docs }");
	m = mount_find(bp, n->text + 1);
	if (!m) {
		yaml_tree_refuse(p->tree, n, p->err,
				 "no parent has the mount '%s'", n->text + 1);
		return blueprint_code(p->err, MISTAKE_MISSING);
	}
	blueprint_mount_done(m);
	bp->n_mounts--;
	memmove(m, m + 1, (size_t)(bp->mounts + bp->n_mounts - m) * sizeof(*m));
	return 0;
}

static int read_item(const struct blueprint_place *p, const struct yaml_node *n,
		     void *arg)
{
	struct blueprint_mount new = { 0 };
	int rc;

	if (n->kind == YAML_SCALAR)
		return drop_mount(p, n, arg);
	rc = mount_make(p, n, &new);
	if (rc == 0)
		return mount_put(p, n, &new, arg);
	blueprint_mount_done(&new);
	return rc;
}

int blueprint_read_mounts(const struct blueprint_place *p,
			  const struct yaml_node *n)
{
	struct blueprint *bp = p->bp;
	struct strv seen = { 0 };
	int rc;

	if (n->kind != YAML_LIST)
		return yaml_tree_refuse(p->tree, n, p->err,
					"mounts must be a list, such as [{ "
					"from: ~/docs, to: " AC_MNT "/docs }]");
	if (room_make(bp) < 0)
		return err_nomem(p->err);
	rc = blueprint_each(p, n, read_item, &seen);
	strv_done(&seen);
	return rc;
}
