/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sources.c - the file and the line that each value of a blueprint is from
 *
 * It follows what the readers do to a parent's value (keys.h): what is replaced
 * loses its source, what is added to keeps it.
 */
#include "control/acd/blueprint/sources.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/str.h"
#include "ottergate/yaml.h"

/* What an heir's value does to the parent's, by the key of the value. */
enum effect {
	REPLACES,
	MERGES, /* a map, key by key */
	ADDS, /* a list, item by item */
	EDITS, /* the same, where "-ITEM" drops one, and "none" all */
};

static const struct {
	const char *key;
	enum effect effect;
} effects[] = {
	{ "run", MERGES },           { "run.env", MERGES },
	{ "run.result", MERGES },    { "resources", MERGES },
	{ "filesystem", MERGES },    { "prompt", MERGES },
	{ "prompt.use", ADDS },      { "egress", MERGES },
	{ "egress.use", ADDS },      { "egress.allow", ADDS },
	{ "egress.deny", ADDS },     { "credentials", EDITS },
	{ "files", EDITS },          { "skills", MERGES },
	{ "skills.folders", EDITS }, { "mounts", EDITS },
};

/* Keys of version 1 that have another name or place in version 2. */
static const struct {
	const char *old, *key;
} moved[] = {
	{ "command", "run.command" }, { "shell", "run.shell" },
	{ "workdir", "run.workdir" }, { "env", "run.env" },
	{ "limits", "resources" },    { "egress.presets", "egress.use" },
};

static enum effect effect_of(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(effects); i++) {
		if (strcmp(effects[i].key, key) == 0)
			return effects[i].effect;
	}
	return REPLACES;
}

static const char *name_now(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(moved); i++) {
		if (strcmp(moved[i].old, key) == 0)
			return moved[i].key;
	}
	return key;
}

static void source_done(struct blueprint_source *s)
{
	free(s->key);
	free(s->file);
}

void sources_done(struct blueprint_sources *s)
{
	for (size_t i = 0; i < s->n; i++)
		source_done(&s->v[i]);
	free(s->v);
	*s = (struct blueprint_sources){ 0 };
}

/* Removes the value @key, and those in it. */
static void drop(struct blueprint_sources *s, const char *key)
{
	size_t len = strlen(key), kept = 0;

	for (size_t i = 0; i < s->n; i++) {
		const char *had = s->v[i].key;

		if (strncmp(had, key, len) == 0 &&
		    (had[len] == '\0' || had[len] == '.'))
			source_done(&s->v[i]);
		else
			s->v[kept++] = s->v[i];
	}
	s->n = kept;
}

static int put(struct blueprint_sources *s, const char *key, const char *file,
	       unsigned line)
{
	struct blueprint_source one = { .line = line };

	drop(s, key);
	if (s->n == s->room) {
		size_t room = s->room ? 2 * s->room : 32;
		void *v = reallocarray(s->v, room, sizeof(*s->v));

		if (!v)
			return -ENOMEM;
		s->v = v;
		s->room = room;
	}
	one.key = strdup(key);
	one.file = strdup(file);
	if (!one.key || !one.file) {
		source_done(&one);
		return -ENOMEM;
	}
	s->v[s->n++] = one;
	return 0;
}

/* Returns what names an item of the list @key: its text, or its name, path or target; of
 * a skill the last part. */
static const char *item_name(const char *key, const struct yaml_node *n)
{
	const struct yaml_node *is = n;
	const char *slash;

	if (n->kind == YAML_MAP) {
		is = yaml_child(n, "name");
		if (!is)
			is = yaml_child(n, "path");
		if (!is)
			is = yaml_child(n, "to");
	}
	if (!is || is->kind != YAML_SCALAR)
		return "";
	slash = strcmp(key, "skills.folders") == 0 ? strrchr(is->text, '/') :
						     NULL;
	return slash ? slash + 1 : is->text;
}

static int note(struct blueprint_sources *s, const struct yaml_tree *t,
		const char *key, const struct yaml_node *n);

/* Notes the item @n of the list @key. */
static int note_item(struct blueprint_sources *s, const struct yaml_tree *t,
		     const char *key, const struct yaml_node *n)
{
	const char *name = item_name(key, n);
	bool drops = effect_of(key) == EDITS && n->kind == YAML_SCALAR;
	SCOPED_STR full = NULL;

	if (drops && strcmp(name, "none") == 0) {
		drop(s, key);
		return 0;
	}
	drops = drops && *name == '-';
	full = str_printf("%s.%s", key, name + drops);
	if (!full)
		return -ENOMEM;
	if (!drops)
		return put(s, full, t->file, n->line);
	drop(s, full);
	return 0;
}

static int note_children(struct blueprint_sources *s, const struct yaml_tree *t,
			 const char *key, const struct yaml_node *n)
{
	int rc = 0;

	for (const struct yaml_node *e = n->first; e && rc == 0; e = e->next) {
		SCOPED_STR name = NULL;

		if (!e->key) {
			rc = note_item(s, t, key, e);
			continue;
		}
		name = str_printf("%s.%s", key, e->key);
		rc = name ? note(s, t, name_now(name), e) : -ENOMEM;
	}
	return rc;
}

static int note(struct blueprint_sources *s, const struct yaml_tree *t,
		const char *key, const struct yaml_node *n)
{
	enum effect effect = effect_of(key);

	if (effect == REPLACES || n->kind == YAML_SCALAR)
		return put(s, key, t->file, n->key_line);
	return note_children(s, t, key, n);
}

int sources_note(struct blueprint_sources *s, const struct yaml_tree *t)
{
	int rc = 0;

	for (const struct yaml_node *n = t->root->first; n && rc == 0;
	     n = n->next) {
		if (strcmp(n->key, "version") != 0 &&
		    strcmp(n->key, "extends") != 0)
			rc = note(s, t, name_now(n->key), n);
	}
	return rc;
}

static const struct blueprint_source *
find_exactly(const struct blueprint_sources *s, const char *key, size_t len)
{
	for (size_t i = 0; i < s->n; i++) {
		if (strncmp(s->v[i].key, key, len) == 0 &&
		    s->v[i].key[len] == '\0')
			return &s->v[i];
	}
	return NULL;
}

const struct blueprint_source *sources_find(const struct blueprint_sources *s,
					    const char *key)
{
	const struct blueprint_source *is = find_exactly(s, key, strlen(key));
	const char *dot = strchr(key, '.');

	/* "resources: none" */
	return is || !dot ? is : find_exactly(s, key, (size_t)(dot - key));
}
