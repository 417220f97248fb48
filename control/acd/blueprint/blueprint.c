/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blueprint.c - the YAML definition of a kind of agent
 *
 * A blueprint is written by the user or shipped; it decides what runs in a
 * sandbox, never what the sandbox may do to its host. It is nevertheless
 * read strictly: a misspelt limit must not be no limit.
 */
#include "control/acd/blueprint/blueprint.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "control/acd/blueprint/credential_keys.h"
#include "control/acd/blueprint/egress_keys.h"
#include "control/acd/blueprint/limit_keys.h"
#include "control/shared/yaml_tree.h"
#include "control/shared/names.h"
#include "control/shared/paths.h"
#include "lib/file.h"

#define WORDS_MAX 256u /* of a command; entries of env */
#define DESCRIPTION_MAX 200u
#define NAMES_MAX 1024u /* folders looked at in each place */

static const char *user_dir = AC_STATE_BLUEPRINTS;
static const char *shipped_dir = AC_SHARE "/blueprints";

void blueprint_set_dirs(const char *user, const char *shipped)
{
	user_dir = user;
	shipped_dir = shipped;
}

void blueprint_done(struct blueprint *bp)
{
	free(bp->name);
	free(bp->description);
	free(bp->image);
	free(bp->workdir);
	free(bp->isolation);
	strv_done(&bp->command);
	strv_done(&bp->shell);
	strv_done(&bp->env);
	strv_done(&bp->blocked_paths);
	egress_done(&bp->egress);
	credentials_done(&bp->credentials);
	*bp = (struct blueprint){ 0 };
}

/* One place in a document, for the readers below. */
struct reader {
	const struct yaml_tree *tree;
	struct blueprint *bp;
	struct err *err;
};

typedef int (*read_fn)(struct reader *r, const struct yaml_node *n);

struct key {
	const char *name;
	read_fn fn;
};

static int no_memory(struct reader *r)
{
	return err_nomem(r->err);
}

static int read_map(struct reader *r, const struct yaml_node *map,
		    const struct key *keys, size_t n_keys)
{
	if (map->kind != YAML_MAP)
		return yaml_tree_refuse(r->tree, map, r->err,
					"a map (key: value) is wanted here");
	for (const struct yaml_node *n = map->first; n; n = n->next) {
		size_t i = 0;
		char shown[64];
		int rc;

		while (i < n_keys && strcmp(keys[i].name, n->key) != 0)
			i++;
		if (i == n_keys)
			return yaml_tree_refuse(
				r->tree, n, r->err, "unknown key '%s'",
				str_escape(shown, sizeof(shown), n->key,
					   strlen(n->key)));
		rc = keys[i].fn(r, n);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int read_string(struct reader *r, const struct yaml_node *n, char **ret)
{
	const char *text = NULL;
	int rc = yaml_tree_string(r->tree, n, &text, r->err);

	if (rc < 0)
		return rc;
	*ret = strdup(text);
	return *ret ? 0 : no_memory(r);
}

/* [program, argument, ...] */
static int read_words(struct reader *r, const struct yaml_node *n,
		      struct strv *ret)
{
	if (n->kind != YAML_LIST || !n->first)
		return yaml_tree_refuse(r->tree, n, r->err,
					"'%s' must be a list of words, such as "
					"[bash, -l]",
					n->key);
	for (const struct yaml_node *w = n->first; w; w = w->next) {
		const char *text = NULL;
		int rc = yaml_tree_string(r->tree, w, &text, r->err);

		if (rc < 0)
			return rc;
		if (ret->n == WORDS_MAX)
			return yaml_tree_refuse(r->tree, w, r->err,
						"'%s' has more than %u words",
						n->key, WORDS_MAX);
		if (strv_push(ret, text) < 0)
			return no_memory(r);
	}
	if (ret->v[0][0] == '\0')
		return yaml_tree_refuse(r->tree, n->first, r->err,
					"the program's name is empty");
	return 0;
}

static int read_version(struct reader *r, const struct yaml_node *n)
{
	if (n->kind != YAML_SCALAR || n->quoted || strcmp(n->text, "1") != 0)
		return yaml_tree_refuse(r->tree, n, r->err,
					"this ac knows blueprints of version 1 "
					"only");
	return 0;
}

static int read_description(struct reader *r, const struct yaml_node *n)
{
	int rc = read_string(r, n, &r->bp->description);

	if (rc < 0)
		return rc;
	for (const char *p = r->bp->description; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return yaml_tree_refuse(r->tree, n, r->err,
						"the description must be one "
						"line of text");
	}
	if (strlen(r->bp->description) > DESCRIPTION_MAX)
		return yaml_tree_refuse(r->tree, n, r->err,
					"the description has more than %u "
					"bytes",
					DESCRIPTION_MAX);
	return 0;
}

static int read_image(struct reader *r, const struct yaml_node *n)
{
	struct err why = { 0 };
	int rc = read_string(r, n, &r->bp->image);

	if (rc < 0)
		return rc;
	/* It names a folder below images/ or blueprints/. */
	if (name_check_blueprint(r->bp->image, &why) < 0)
		return yaml_tree_refuse(r->tree, n, r->err, "image: %s",
					why.msg);
	return 0;
}

static int read_command(struct reader *r, const struct yaml_node *n)
{
	return read_words(r, n, &r->bp->command);
}

static int read_shell(struct reader *r, const struct yaml_node *n)
{
	return read_words(r, n, &r->bp->shell);
}

static int read_workdir(struct reader *r, const struct yaml_node *n)
{
	int rc = read_string(r, n, &r->bp->workdir);

	if (rc == 0 && r->bp->workdir[0] != '/')
		return yaml_tree_refuse(r->tree, n, r->err,
					"workdir must be an absolute path");
	return rc;
}

static int read_isolation(struct reader *r, const struct yaml_node *n)
{
	int rc = read_string(r, n, &r->bp->isolation);

	if (rc == 0 && strcmp(r->bp->isolation, "runsc") != 0 &&
	    strcmp(r->bp->isolation, "crun") != 0)
		return yaml_tree_refuse(r->tree, n, r->err,
					"isolation must be runsc or crun");
	return rc;
}

static int read_env_entry(struct reader *r, const struct yaml_node *n)
{
	SCOPED_STR entry = NULL;
	struct err why = { 0 };
	const char *value = NULL;
	int rc = yaml_tree_string(r->tree, n, &value, r->err);

	if (rc < 0)
		return rc;
	entry = str_printf("%s=%s", n->key, value);
	if (!entry)
		return no_memory(r);
	if (name_check_env(entry, &why) < 0)
		return yaml_tree_refuse(r->tree, n, r->err, "%s", why.msg);
	if (r->bp->env.n == WORDS_MAX)
		return yaml_tree_refuse(r->tree, n, r->err,
					"env has more than %u entries",
					WORDS_MAX);
	return strv_push(&r->bp->env, entry) < 0 ? no_memory(r) : 0;
}

static int read_env(struct reader *r, const struct yaml_node *n)
{
	if (n->kind != YAML_MAP)
		return yaml_tree_refuse(r->tree, n, r->err,
					"env must be a map of NAME: value");
	for (const struct yaml_node *e = n->first; e; e = e->next) {
		int rc = read_env_entry(r, e);

		if (rc < 0)
			return rc;
	}
	return 0;
}

static int read_limits(struct reader *r, const struct yaml_node *n)
{
	return blueprint_read_limits(r->tree, n, r->bp, r->err);
}

static int read_life(struct reader *r, const struct yaml_node *n)
{
	return blueprint_read_life(r->tree, n, r->bp, r->err);
}

static int read_filesystem(struct reader *r, const struct yaml_node *n)
{
	return blueprint_read_filesystem(r->tree, n, r->bp, r->err);
}

static int read_blocked(struct reader *r, const struct yaml_node *n)
{
	return blueprint_read_blocked(r->tree, n, r->bp, r->err);
}

static int read_egress(struct reader *r, const struct yaml_node *n)
{
	return blueprint_read_egress(r->tree, n, &r->bp->egress, r->err);
}

static int read_credentials(struct reader *r, const struct yaml_node *n)
{
	return blueprint_read_credentials(r->tree, n, &r->bp->credentials,
					  r->err);
}

static int read_document(struct reader *r)
{
	static const struct key keys[] = {
		{ "version", read_version },
		{ "description", read_description },
		{ "image", read_image },
		{ "command", read_command },
		{ "shell", read_shell },
		{ "workdir", read_workdir },
		{ "env", read_env },
		{ "limits", read_limits },
		{ "isolation", read_isolation },
		{ "egress", read_egress },
		{ "credentials", read_credentials },
		{ "pool", read_life },
		{ "ttl", read_life },
		{ "idle", read_life },
		{ "filesystem", read_filesystem },
		{ "blocked_paths", read_blocked },
	};
	const struct yaml_node *root = r->tree->root;
	bool has_version = false;
	int rc;

	if (!root)
		return yaml_tree_refuse(r->tree, NULL, r->err,
					"the file is empty");
	rc = read_map(r, root, keys, ARRAY_SIZE(keys));
	if (rc < 0)
		return rc;
	for (const struct yaml_node *n = root->first; n; n = n->next)
		has_version |= strcmp(n->key, "version") == 0;
	if (!has_version)
		return yaml_tree_refuse(r->tree, root, r->err,
					"'version: 1' is missing");
	if (!r->bp->image)
		return yaml_tree_refuse(r->tree, root, r->err,
					"'image' is missing");
	return 0;
}

static int set_default(char **s, const char *value)
{
	if (!*s)
		*s = strdup(value);
	return *s ? 0 : -ENOMEM;
}

static int set_default_words(struct strv *sv, const struct strv *value)
{
	for (size_t i = 0; i < value->n; i++) {
		if (strv_push(sv, value->v[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int fill_defaults(struct blueprint *bp, const char *name)
{
	static char bash[] = "bash", login[] = "-l";
	char *words[] = { bash, login, NULL };
	struct strv shell = { words, 2 };
	int rc = set_default(&bp->name, name);

	if (rc == 0)
		rc = set_default(&bp->description, "");
	if (rc == 0)
		rc = set_default(&bp->workdir, "/workspace");
	if (rc == 0)
		rc = set_default(&bp->isolation, "runsc");
	if (rc == 0 && bp->shell.n == 0)
		rc = set_default_words(&bp->shell, &shell);
	if (rc == 0 && bp->command.n == 0)
		rc = set_default_words(&bp->command, &bp->shell);
	return rc;
}

int blueprint_parse(const char *text, size_t len, const char *file,
		    const char *name, struct blueprint *ret, struct err *err)
{
	struct blueprint bp = { 0 };
	struct yaml_tree tree = { 0 };
	struct reader r = { &tree, &bp, err };
	int rc;

	if (len > BLUEPRINT_FILE_MAX)
		return err_set(err, -EINVAL, "%s: larger than %u KiB", file,
			       BLUEPRINT_FILE_MAX / 1024);
	rc = yaml_tree_parse(text, len, file, &tree, err);
	if (rc < 0)
		return rc;

	blueprint_default_limits(&bp);
	rc = read_document(&r);
	if (rc == 0 && fill_defaults(&bp, name) < 0)
		rc = no_memory(&r);
	yaml_tree_done(&tree);
	if (rc < 0) {
		blueprint_done(&bp);
		return rc;
	}
	*ret = bp;
	return 0;
}

static char *file_of(const char *dir, const char *name)
{
	return str_printf("%s/%s/blueprint.yaml", dir, name);
}

static int load_from(const char *dir, const char *name, struct blueprint *ret,
		     struct err *err)
{
	SCOPED_STR path = file_of(dir, name);
	SCOPED_STR text = NULL;
	size_t len = 0;
	int rc;

	if (!path)
		return err_nomem(err);
	rc = file_read(path, BLUEPRINT_FILE_MAX, &text, &len);
	if (rc < 0)
		return err_set(err, rc == -ENOTDIR ? -ENOENT : rc, "%s: %s",
			       path, err_text(rc));
	rc = blueprint_parse(text, len, path, name, ret, err);
	if (rc == 0)
		ret->builtin = dir == shipped_dir;
	return rc;
}

/* "base, claude, codex", for a message. */
static void list_known(char *out, size_t size)
{
	struct strv names = { 0 };
	size_t used = 0;

	snprintf(out, size, "none");
	if (blueprint_names(&names, NULL) == 0) {
		for (size_t i = 0; i < names.n && used < size; i++)
			used += (size_t)snprintf(out + used, size - used,
						 "%s%s", i ? ", " : "",
						 names.v[i]);
	}
	strv_done(&names);
}

int blueprint_load(const char *name, struct blueprint *ret, struct err *err)
{
	char known[384];
	int rc = name_check_blueprint(name, err);

	if (rc < 0)
		return rc;
	rc = load_from(user_dir, name, ret, err);
	if (rc == -ENOENT)
		rc = load_from(shipped_dir, name, ret, err);
	if (rc != -ENOENT)
		return rc;
	list_known(known, sizeof(known));
	return err_set(err, -ENOENT,
		       "there is no blueprint '%s'; known are: %s", name,
		       known);
}

/* A folder counts when its name is a blueprint's and it has the file. */
static int names_from(const char *dir, struct strv *ret)
{
	SCOPED_DIR d = opendir(dir);
	unsigned seen = 0;

	if (!d)
		return errno == ENOENT ? 0 : -errno;
	for (struct dirent *e = readdir(d); e && seen < NAMES_MAX;
	     e = readdir(d)) {
		SCOPED_STR path = NULL;

		if (name_check_blueprint(e->d_name, NULL) < 0)
			continue;
		seen++;
		path = file_of(dir, e->d_name);
		if (!path)
			return -ENOMEM;
		if (access(path, F_OK) == 0 && strv_push(ret, e->d_name) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int blueprint_names(struct strv *ret, struct err *err)
{
	struct strv all = { 0 };
	int rc = names_from(user_dir, &all);

	if (rc == 0)
		rc = names_from(shipped_dir, &all);
	if (rc == 0 && all.n)
		qsort(all.v, all.n, sizeof(*all.v), by_name);
	for (size_t i = 0; rc == 0 && i < all.n; i++) {
		if (i == 0 || strcmp(all.v[i - 1], all.v[i]) != 0)
			rc = strv_push(ret, all.v[i]);
	}
	strv_done(&all);
	if (rc < 0)
		return err_set(err, rc, "look for blueprints: %s",
			       err_text(rc));
	return 0;
}
