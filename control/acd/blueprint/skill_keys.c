/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skill_keys.c - the key `skills` of a blueprint
 *
 *	skills: { folders: [skills/review], paths: [.claude/skills] }
 *
 * Folders beside the blueprint that names them, and where its agent looks. An
 * heir adds folders, by the last part of their path; "-review" drops one of its
 * parent's, "none" all.
 */
#include "control/acd/blueprint/keys.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/str.h"

#define NAME_CHARS                   \
	"abcdefghijklmnopqrstuvwxyz" \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
#define NAME_MAX_BYTES 64u

void blueprint_skill_done(struct blueprint_skill *s)
{
	free(s->name);
	free(s->dir);
	free(s->folder);
	*s = (struct blueprint_skill){ 0 };
}

void blueprint_skills_done(struct blueprint *bp)
{
	while (bp->n_skills > 0)
		blueprint_skill_done(&bp->skills[--bp->n_skills]);
	free(bp->skills);
	bp->skills = NULL;
}

static struct blueprint_skill *skill_find(const struct blueprint *bp,
					  const char *name)
{
	for (size_t i = 0; i < bp->n_skills; i++) {
		if (strcmp(bp->skills[i].name, name) == 0)
			return &bp->skills[i];
	}
	return NULL;
}

static int drop_skill(const struct blueprint_place *p,
		      const struct yaml_node *n)
{
	struct blueprint *bp = p->bp;
	struct blueprint_skill *s = skill_find(bp, n->text + 1);

	if (!s) {
		yaml_tree_refuse(p->tree, n, p->err,
				 "no parent has the skill '%s'", n->text + 1);
		return blueprint_code(p->err, MISTAKE_MISSING);
	}
	blueprint_skill_done(s);
	bp->n_skills--;
	memmove(s, s + 1, (size_t)(bp->skills + bp->n_skills - s) * sizeof(*s));
	return 0;
}

static int drop_skills(const struct blueprint_place *p,
		       const struct yaml_node *n, const struct strv *seen)
{
	struct blueprint *bp = p->bp;

	if (seen->n > 0)
		return yaml_tree_refuse(p->tree, n, p->err,
					"none must be the first of the list: "
					"it drops those of the parent");
	while (bp->n_skills > 0)
		blueprint_skill_done(&bp->skills[--bp->n_skills]);
	return 0;
}

/* The skill in the folder @folder beside the file that is read. */
static int skill_make(const struct blueprint_place *p, const char *folder,
		      const char *name, struct blueprint_skill *ret)
{
	const char *file = p->tree->file, *slash = strrchr(file, '/');

	ret->name = strdup(name);
	ret->folder = strdup(folder);
	ret->dir = slash ? strndup(file, (size_t)(slash - file)) : strdup(".");
	if (ret->name && ret->folder && ret->dir)
		return 0;
	blueprint_skill_done(ret);
	return err_nomem(p->err);
}

static int put_skill(const struct blueprint_place *p, const struct yaml_node *n,
		     const char *folder, struct strv *seen)
{
	const char *slash = strrchr(folder, '/');
	const char *name = slash ? slash + 1 : folder;
	struct blueprint *bp = p->bp;
	struct blueprint_skill *had = skill_find(bp, name), new = { 0 };
	int rc;

	if (strv_has(seen, name))
		return blueprint_twice(p, n, name);
	if (!had && bp->n_skills == BLUEPRINT_SKILLS_MAX)
		return blueprint_much(p, n, BLUEPRINT_SKILLS_MAX, "skills");
	if (strv_push(seen, name) < 0)
		return err_nomem(p->err);
	rc = skill_make(p, folder, name, &new);
	if (rc < 0)
		return rc;
	if (had)
		blueprint_skill_done(had);
	else
		had = &bp->skills[bp->n_skills++];
	*had = new;
	return 0;
}

static bool is_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t len = strlen(name);

	return len > 0 && len <= NAME_MAX_BYTES && *name != '.' &&
	       *name != '-' && strspn(name, NAME_CHARS) == len;
}

static int read_folder(const struct blueprint_place *p,
		       const struct yaml_node *n, void *arg)
{
	const char *text = NULL;
	int rc = yaml_tree_string(p->tree, n, &text, p->err);

	if (rc < 0)
		return rc;
	if (*text == '-')
		return drop_skill(p, n);
	if (strcmp(text, "none") == 0)
		return drop_skills(p, n, arg);
	if (!blueprint_path_is_below(text, BLUEPRINT_PATH_MAX) ||
	    str_has_control(text) || !is_name(text))
		return yaml_tree_refuse(
			p->tree, n, p->err,
			"a skill is a folder beside this file, such as "
			"skills/review, without '..'; its name has letters, "
			"digits and _ . -");
	return put_skill(p, n, text, arg);
}

static int read_folders(const struct blueprint_place *p,
			const struct yaml_node *n)
{
	struct blueprint *bp = p->bp;
	struct strv seen = { 0 };
	int rc;

	if (n->kind != YAML_LIST)
		return yaml_tree_refuse(p->tree, n, p->err,
					"folders must be a list, such as "
					"[skills/review]");
	if (!bp->skills)
		bp->skills = calloc(BLUEPRINT_SKILLS_MAX, sizeof(*bp->skills));
	if (!bp->skills)
		return err_nomem(p->err);
	rc = blueprint_each(p, n, read_folder, &seen);
	strv_done(&seen);
	return rc;
}

static int read_paths(const struct blueprint_place *p,
		      const struct yaml_node *n)
{
	return blueprint_read_home_paths(p, n, "[.claude/skills]",
					 &p->bp->skill_paths);
}

static const struct schema folder_is = {
	.kind = SCHEMA_TEXT,
	.pattern = "[^/].*",
	.max = BLUEPRINT_PATH_MAX,
};
static const struct schema folders_is = { .kind = SCHEMA_LIST,
					  .item = &folder_is };
static const struct blueprint_key keys[] = {
	{ { "folders", &folders_is }, read_folders },
	{ { "paths", &blueprint_home_paths_is }, read_paths },
};
const struct schema blueprint_skills_is = { SCHEMA_ROWS(keys) };

int blueprint_read_skills(const struct blueprint_place *p,
			  const struct yaml_node *n)
{
	return blueprint_read_map(p, n, &blueprint_skills_is);
}

/* ---- of a stored one ---- */

static int refuse_skill(const struct blueprint *bp,
			const struct blueprint_skill *s,
			struct blueprint_mistakes *m)
{
	SCOPED_STR key = str_printf("skills.folders.%s", s->name);
	const struct blueprint_source *from =
		key ? sources_find(&bp->sources, key) : NULL;
	struct err err = { 0 };
	unsigned line = from ? from->line : 1;

	if (!key)
		return -ENOMEM;
	err_set(&err, -EINVAL,
		"%s:%u:1: there is no %s/SKILL.md beside this "
		"file",
		from ? from->file : s->dir, line, s->folder);
	err_place(&err, line, 1);
	blueprint_code(&err, MISTAKE_MISSING);
	return mistakes_add(m, from ? from->file : s->dir, &err);
}

int blueprint_find_skills(const struct blueprint *bp,
			  struct blueprint_mistakes *m, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < bp->n_skills && rc == 0; i++) {
		const struct blueprint_skill *s = &bp->skills[i];
		SCOPED_STR path =
			str_printf("%s/%s/SKILL.md", s->dir, s->folder);

		if (!path)
			return err_nomem(err);
		if (access(path, F_OK) < 0)
			rc = refuse_skill(bp, s, m);
	}
	if (rc == -ENOMEM)
		return err_nomem(err);
	return m->n > 0 ? mistakes_fail(m, err) : 0;
}
