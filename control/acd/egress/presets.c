/* SPDX-License-Identifier: Apache-2.0 */
/*
 * presets.c - which presets there are, for people: names and hosts
 */
#include "control/acd/egress/presets.h"

#include <dirent.h>
#include <string.h>

#include "control/shared/yaml_tree.h"
#include "control/shared/json.h"
#include "lib/file.h"

#define FILES_MAX 256u

static const struct yaml_node *child(const struct yaml_node *map,
				     const char *key)
{
	const struct yaml_node *n = map && map->kind == YAML_MAP ? map->first :
								   NULL;

	while (n && strcmp(n->key, key) != 0)
		n = n->next;
	return n;
}

/* The hosts of all rules of a preset. */
static json_t *preset_names(const struct yaml_node *preset)
{
	const struct yaml_node *rules = child(preset, "rules");
	json_t *list = json_array();

	if (!rules || rules->kind != YAML_LIST)
		return list;
	for (const struct yaml_node *r = rules->first; r; r = r->next) {
		const struct yaml_node *names = child(r, "names");

		if (!names || names->kind != YAML_LIST)
			continue;
		for (names = names->first; names; names = names->next)
			if (names->kind == YAML_SCALAR)
				json_array_append_new(list,
						      jsonx_text(names->text));
	}
	return list;
}

static json_t *preset_about(const struct yaml_node *preset)
{
	const struct yaml_node *about = child(preset, "about");

	return jsonx_text(about && about->kind == YAML_SCALAR ? about->text :
								"");
}

/* Set-up writes `packages`, beside the user's own files. */
static const char *source_of(const char *name, const char *source)
{
	return strcmp(source, "you") == 0 && strcmp(name, "packages") == 0 ?
		       "machine" :
		       source;
}

static int file_list(const char *path, const char *source, json_t *list)
{
	struct yaml_tree tree = { 0 };
	const struct yaml_node *presets;
	SCOPED_STR text = NULL;
	struct err ignored = { 0 };
	size_t len;
	int r = 0;

	if (file_read(path, PRESETS_FILE_MAX, &text, &len) < 0 ||
	    yaml_tree_parse(text, len, path, &tree, &ignored) < 0)
		return 0;
	presets = child(tree.root, "presets");
	if (presets && presets->kind == YAML_MAP)
		presets = presets->first;
	else
		presets = NULL;
	for (; presets && r == 0; presets = presets->next)
		r = json_array_append_new(
			list, json_pack("{s:o, s:o, s:s, s:o}", "name",
					jsonx_text(presets->key), "description",
					preset_about(presets), "source",
					source_of(presets->key, source),
					"names", preset_names(presets)));
	yaml_tree_done(&tree);
	return r < 0 ? -ENOMEM : 0;
}

static int is_policy(const struct dirent *e)
{
	return e->d_name[0] != '.' && str_ends(e->d_name, ".yaml");
}

int presets_list(const char *dir, const char *source, json_t *list)
{
	struct dirent **all = NULL;
	int n = scandir(dir, &all, is_policy, alphasort);
	int r = 0;

	for (int i = 0; i < n; i++) {
		SCOPED_STR path = str_printf("%s/%s", dir, all[i]->d_name);

		if (!path)
			r = -ENOMEM;
		if (r == 0 && i < (int)FILES_MAX)
			r = file_list(path, source, list);
		free(all[i]);
	}
	free(all);
	return r;
}

static int file_find(const char *path, const char *name)
{
	struct yaml_tree tree = { 0 };
	SCOPED_STR text = NULL;
	struct err ignored = { 0 };
	size_t len;
	int r;

	if (file_read(path, PRESETS_FILE_MAX, &text, &len) < 0 ||
	    yaml_tree_parse(text, len, path, &tree, &ignored) < 0)
		return -EIO;
	r = child(child(tree.root, "presets"), name) ? 1 : 0;
	yaml_tree_done(&tree);
	return r;
}

int presets_find(const char *dir, const char *name)
{
	struct dirent **all = NULL;
	int n = scandir(dir, &all, is_policy, alphasort);
	int found = n < 0 ? -EIO : 0;

	for (int i = 0; i < n; i++) {
		SCOPED_STR path = str_printf("%s/%s", dir, all[i]->d_name);
		int r = path ? file_find(path, name) : -EIO;

		if (found != 1 && r != 0)
			found = r;
		free(all[i]);
	}
	free(all);
	return found;
}
