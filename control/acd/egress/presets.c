/* SPDX-License-Identifier: Apache-2.0 */
/*
 * presets.c - which presets of egress there are, for people
 */
#include "control/acd/egress/presets.h"

#include <dirent.h>
#include <string.h>

#include "control/shared/json.h"
#include "lib/file.h"
#include "ottergate/yaml.h"

#define FILES_MAX 256u

/* ---- what a preset has, as JSON ---- */

/* Appends the scalars of the list @n to @list. */
static void add_words(json_t *list, const struct yaml_node *n)
{
	if (!n || n->kind != YAML_LIST)
		return;
	for (n = n->first; n; n = n->next)
		if (n->kind == YAML_SCALAR)
			json_array_append_new(list, jsonx_text(n->text));
}

/* Returns the scalars of the list @key of @map. */
static json_t *words_of(const struct yaml_node *map, const char *key)
{
	json_t *list = json_array();

	add_words(list, yaml_child(map, key));
	return list;
}

/* The first child of the list @key of @map, or NULL. */
static const struct yaml_node *items_of(const struct yaml_node *map,
					const char *key)
{
	const struct yaml_node *n = yaml_child(map, key);

	return n && n->kind == YAML_LIST ? n->first : NULL;
}

static json_t *hosts_of(const struct yaml_node *rule)
{
	json_t *list = words_of(rule, "names");

	add_words(list, yaml_child(rule, "ips"));
	return list;
}

/* The hosts of all rules of a preset. */
static json_t *preset_names(const struct yaml_node *preset)
{
	const struct yaml_node *r = items_of(preset, "rules");
	json_t *list = json_array();

	for (; r; r = r->next)
		add_words(list, yaml_child(r, "names"));
	return list;
}

static json_t *text_of(const struct yaml_node *map, const char *key,
		       const char *def)
{
	const struct yaml_node *n = yaml_child(map, key);

	return jsonx_text(n && n->kind == YAML_SCALAR ? n->text : def);
}

static json_t *request_of(const struct yaml_node *n)
{
	return json_pack("{s:o, s:o}", "methods", words_of(n, "methods"),
			 "paths", words_of(n, "paths"));
}

/* The entries @key ("allow", "deny") of a rule's `http`. */
static json_t *requests_of(const struct yaml_node *rule, const char *key)
{
	const struct yaml_node *n = items_of(yaml_child(rule, "http"), key);
	json_t *list = json_array();

	for (; n; n = n->next)
		json_array_append_new(list, request_of(n));
	return list;
}

static json_t *rule_of(const struct yaml_node *rule)
{
	json_t *allow = requests_of(rule, "allow");

	if (yaml_child(rule, "methods") || yaml_child(rule, "paths"))
		json_array_insert_new(allow, 0, request_of(rule));
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "id",
			 text_of(rule, "id", ""), "hosts", hosts_of(rule),
			 "ports", words_of(rule, "ports"), "proto",
			 text_of(rule, "proto", ""), "use",
			 text_of(rule, "use", "tunnel"), "allow", allow, "deny",
			 requests_of(rule, "deny"));
}

static json_t *preset_rules(const struct yaml_node *preset)
{
	const struct yaml_node *r = items_of(preset, "rules");
	json_t *list = json_array();

	for (; r; r = r->next)
		json_array_append_new(list, rule_of(r));
	return list;
}

/* ---- files ---- */

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
	int rc = 0;

	if (file_read(path, PRESETS_FILE_MAX, &text, &len) < 0 ||
	    yaml_tree_parse(text, len, path, &yaml_policy, &tree, &ignored) < 0)
		return 0;
	presets = yaml_child(tree.root, "presets");
	if (presets && presets->kind == YAML_MAP)
		presets = presets->first;
	else
		presets = NULL;
	for (; presets && rc == 0; presets = presets->next)
		rc = json_array_append_new(
			list,
			json_pack("{s:s, s:o, s:o, s:s, s:o, s:o, s:o}", "kind",
				  "egress", "name", jsonx_text(presets->key),
				  "description", text_of(presets, "about", ""),
				  "source", source_of(presets->key, source),
				  "risk", text_of(presets, "risk", ""), "names",
				  preset_names(presets), "rules",
				  preset_rules(presets)));
	yaml_tree_done(&tree);
	return rc < 0 ? -ENOMEM : 0;
}

static int is_policy(const struct dirent *e)
{
	return e->d_name[0] != '.' && str_ends(e->d_name, ".yaml");
}

int presets_list(const char *dir, const char *source, json_t *list)
{
	struct dirent **all = NULL;
	int n = scandir(dir, &all, is_policy, alphasort);
	int rc = 0;

	for (int i = 0; i < n; i++) {
		SCOPED_STR path = str_printf("%s/%s", dir, all[i]->d_name);

		if (!path)
			rc = -ENOMEM;
		if (rc == 0 && i < (int)FILES_MAX)
			rc = file_list(path, source, list);
		free(all[i]);
	}
	free(all);
	return rc;
}

/* ---- one ---- */

/* Returns 1 if the file at @path has the preset @name, 0 if not, -EIO if it
 * cannot be read. With @ret_risk: sets it to a copy of what the preset says as
 * its risk, if it says anything. */
static int file_find(const char *path, const char *name, char **ret_risk)
{
	struct yaml_tree tree = { 0 };
	const struct yaml_node *preset, *risk;
	SCOPED_STR text = NULL;
	struct err ignored = { 0 };
	size_t len;

	if (file_read(path, PRESETS_FILE_MAX, &text, &len) < 0 ||
	    yaml_tree_parse(text, len, path, &yaml_policy, &tree, &ignored) < 0)
		return -EIO;
	preset = yaml_child(yaml_child(tree.root, "presets"), name);
	risk = yaml_child(preset, "risk");
	if (ret_risk && risk && risk->kind == YAML_SCALAR && *risk->text)
		*ret_risk = strdup(risk->text);
	yaml_tree_done(&tree);
	return preset ? 1 : 0;
}

int presets_find(const char *dir, const char *name)
{
	struct dirent **all = NULL;
	int n = scandir(dir, &all, is_policy, alphasort);
	int found = n < 0 ? -EIO : 0;

	for (int i = 0; i < n; i++) {
		SCOPED_STR path = str_printf("%s/%s", dir, all[i]->d_name);
		int rc = path ? file_find(path, name, NULL) : -EIO;

		if (found != 1 && rc != 0)
			found = rc;
		free(all[i]);
	}
	free(all);
	return found;
}

char *presets_risk(const char *dir, const char *own, const char *name)
{
	SCOPED_STR path = str_printf("%s/%s.yaml", dir, name);
	char *risk = NULL;

	if (path && file_find(path, name, &risk) != 1)
		file_find(own, name, &risk);
	return risk;
}

char *presets_warning(const char *dir, const char *own,
		      const struct strv *names)
{
	SCOPED_STR first = NULL;
	SCOPED_STR list = NULL;
	const char *one = NULL;
	size_t n = 0;

	for (size_t i = 0; i < names->n; i++) {
		SCOPED_STR risk = presets_risk(dir, own, names->v[i]);
		char *longer;

		if (!risk)
			continue;
		longer = str_printf("%s%s%s", list ? list : "", n ? ", " : "",
				    names->v[i]);
		if (!longer)
			return NULL;
		free(list);
		list = longer;
		if (n++ == 0) {
			one = names->v[i];
			first = ptr_take(&risk);
		}
	}
	if (n == 0)
		return NULL;
	if (n > 1)
		return str_printf("egress %s: what it reaches by these presets "
				  "can pass data on; 'ac presets show NAME' "
				  "says how",
				  list);
	return str_printf("egress %s: %s ('ac presets show %s')", one, first,
			  one);
}
