/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_keys.c - the key `image` of a blueprint
 *
 * Either the name of an image, or a map of how it is built. The map replaces all
 * that a parent says of its image. An image that is built `from` another has the
 * name of the blueprint whose file says so.
 *
 * The words of packages become words of a shell in single quotes, those of files
 * become words of a Dockerfile, so each has its own alphabet. They still mean
 * what apt, npm and pip take them for: a version, a range, never an address.
 */
#include <string.h>

#include "control/acd/blueprint/egress_keys.h"
#include "control/acd/blueprint/keys.h"
#include "control/acd/preset/preset.h"
#include "control/shared/names.h"
#include "lib/str.h"

#define PACKAGES_MAX 256u /* of each kind */
#define PACKAGE_BYTES 200u
#define RUNS_MAX 64u
#define RUN_BYTES 8000u
#define FILES_MAX 64u
#define PATH_BYTES 512u
#define TIME_LEAST_MS 1000u
#define TIME_MAX_MS (UINT64_C(24) * 3600 * 1000)
#define DISK_LEAST (UINT64_C(16) << 20)
#define MEMORY_LEAST (UINT64_C(128) << 20) /* the sandbox itself takes 40 */

#define ALNUM                        \
	"abcdefghijklmnopqrstuvwxyz" \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"0123456789"
#define APT_CHARS ALNUM ".+~:=-"
#define NPM_CHARS ALNUM "@/._^~+-"
#define PIP_CHARS ALNUM "._[],=<>!~+*-"

void blueprint_build_done(struct blueprint_build *b)
{
	free(b->from);
	strv_done(&b->apt);
	strv_done(&b->npm);
	strv_done(&b->pip);
	strv_done(&b->run);
	strv_done(&b->files);
	egress_done(&b->egress);
	strv_done(&b->tools_egress);
	*b = (struct blueprint_build){ 0 };
}

static int refuse(const struct blueprint_place *p, const struct yaml_node *n,
		  const char *text)
{
	return yaml_tree_refuse(p->tree, n, p->err, "%s", text);
}

static int read_name(const struct blueprint_place *p, const struct yaml_node *n,
		     char **at)
{
	struct err why = { 0 };
	int rc = blueprint_read_string(p, n, at);

	if (rc < 0)
		return rc;
	/* It names a folder in images/ or blueprints/. */
	if (name_check_blueprint(*at, &why) < 0)
		return yaml_tree_refuse(p->tree, n, p->err, "image: %s",
					why.msg);
	return 0;
}

/* A list of strings, and what each must be. */
struct words {
	size_t max, bytes;
	bool (*is_fine)(const char *s);
	const char *want;
	struct strv *to;
};

static int read_word(const struct blueprint_place *p, const struct yaml_node *n,
		     void *arg)
{
	const struct words *w = arg;
	const char *text = NULL;
	int rc = yaml_tree_string(p->tree, n, &text, p->err);

	if (rc < 0)
		return rc;
	if (!*text || strlen(text) > w->bytes || !w->is_fine(text))
		return refuse(p, n, w->want);
	if (w->to->n >= w->max)
		return refuse(p, n, "the list is too long");
	return strv_push(w->to, text) < 0 ? err_nomem(p->err) : 0;
}

static int read_words(const struct blueprint_place *p,
		      const struct yaml_node *n, struct words w)
{
	if (n->kind != YAML_LIST)
		return refuse(p, n, "a list is wanted here");
	return blueprint_each(p, n, read_word, &w);
}

/* ---- packages ---- */

static bool is_word_of(const char *s, const char *chars, const char *first)
{
	return strchr(first, *s) && s[strspn(s, chars)] == '\0';
}

static bool is_apt(const char *s)
{
	return is_word_of(s, APT_CHARS, ALNUM);
}

static bool is_npm(const char *s)
{
	return is_word_of(s, NPM_CHARS, ALNUM "@");
}

static bool is_pip(const char *s)
{
	return is_word_of(s, PIP_CHARS, ALNUM);
}

static int read_apt(const struct blueprint_place *p, const struct yaml_node *n)
{
	return read_words(p, n,
			  (struct words){ PACKAGES_MAX, PACKAGE_BYTES, is_apt,
					  "a package of Debian is wanted here, "
					  "such as make or make=4.4",
					  &p->bp->build.apt });
}

static int read_npm(const struct blueprint_place *p, const struct yaml_node *n)
{
	return read_words(p, n,
			  (struct words){ PACKAGES_MAX, PACKAGE_BYTES, is_npm,
					  "a package of the npm registry is "
					  "wanted here, such as semver@7.6.3",
					  &p->bp->build.npm });
}

static int read_pip(const struct blueprint_place *p, const struct yaml_node *n)
{
	return read_words(p, n,
			  (struct words){ PACKAGES_MAX, PACKAGE_BYTES, is_pip,
					  "a package of the Python index is "
					  "wanted here, such as six==1.16.0",
					  &p->bp->build.pip });
}

static const struct schema apt_is = { .kind = SCHEMA_TEXT,
				      .max = PACKAGE_BYTES,
				      .pattern =
					      "[A-Za-z0-9][A-Za-z0-9.+~:=-]*" };
static const struct schema npm_is = {
	.kind = SCHEMA_TEXT,
	.max = PACKAGE_BYTES,
	.pattern = "[A-Za-z0-9@][A-Za-z0-9@/._^~+-]*"
};
static const struct schema pip_is = {
	.kind = SCHEMA_TEXT,
	.max = PACKAGE_BYTES,
	.pattern = "[A-Za-z0-9]([A-Za-z0-9._,=<>!~+*-]|\\[|\\])*"
};
static const struct schema apts_is = { .kind = SCHEMA_LIST,
				       .item = &apt_is,
				       .max = PACKAGES_MAX };
static const struct schema npms_is = { .kind = SCHEMA_LIST,
				       .item = &npm_is,
				       .max = PACKAGES_MAX };
static const struct schema pips_is = { .kind = SCHEMA_LIST,
				       .item = &pip_is,
				       .max = PACKAGES_MAX };
static const struct blueprint_key package_keys[] = {
	{ { "apt", &apts_is }, read_apt },
	{ { "npm", &npms_is }, read_npm },
	{ { "pip", &pips_is }, read_pip },
};
static const struct schema packages_is = { SCHEMA_ROWS(package_keys) };

static int read_packages(const struct blueprint_place *p,
			 const struct yaml_node *n)
{
	return blueprint_read_map(p, n, &packages_is);
}

/* ---- tools ---- */

/* Adds the @words of a preset that the blueprint does not have, judged as its
 * own. */
static int add_words(const struct blueprint_place *p, const struct yaml_node *n,
		     const struct strv *words, bool (*is_fine)(const char *s),
		     struct strv *to)
{
	for (size_t i = 0; i < words->n; i++) {
		const char *word = words->v[i];

		if (strlen(word) > PACKAGE_BYTES || !is_fine(word))
			return yaml_tree_refuse(p->tree, n, p->err,
						"'%s' of this preset is no "
						"package",
						word);
		if (strv_has(to, word))
			continue;
		if (to->n >= PACKAGES_MAX)
			return refuse(p, n, "these are too many packages");
		if (strv_push(to, word) < 0)
			return err_nomem(p->err);
	}
	return 0;
}

/* Adds presets of egress, which are the agent's when all is read. */
static int add_egress(const struct blueprint_place *p,
		      const struct yaml_node *n, const struct strv *names)
{
	struct strv *to = &p->bp->build.tools_egress;

	for (size_t i = 0; i < names->n; i++) {
		if (name_check_blueprint(names->v[i], NULL) < 0)
			return yaml_tree_refuse(p->tree, n, p->err,
						"'%s' of this preset is no "
						"preset's name",
						names->v[i]);
		if (strv_has(to, names->v[i]))
			continue;
		if (to->n >= EGRESS_PRESETS_MAX)
			return refuse(p, n, "these are too many presets");
		if (strv_push(to, names->v[i]) < 0)
			return err_nomem(p->err);
	}
	return 0;
}

static int add_preset(const struct blueprint_place *p,
		      const struct yaml_node *n, const struct preset *preset)
{
	struct blueprint_build *b = &p->bp->build;
	int rc = add_words(p, n, &preset->apt, is_apt, &b->apt);

	if (rc == 0)
		rc = add_words(p, n, &preset->npm, is_npm, &b->npm);
	if (rc == 0)
		rc = add_words(p, n, &preset->pip, is_pip, &b->pip);
	return rc == 0 ? add_egress(p, n, &preset->egress) : rc;
}

static int read_tool(const struct blueprint_place *p, const struct yaml_node *n,
		     void *arg)
{
	struct preset preset = { 0 };
	struct err why = { 0 };
	const char *name = NULL;
	int rc = yaml_tree_string(p->tree, n, &name, p->err);

	(void)arg;
	if (rc < 0)
		return rc;
	rc = preset_load(PRESET_TOOLS, name, &preset, &why);
	if (rc == -ENOMEM)
		return err_nomem(p->err);
	if (rc < 0) {
		yaml_tree_refuse(p->tree, n, p->err, "%s", why.msg);
		return rc == -ENOENT ? blueprint_code(p->err, MISTAKE_MISSING) :
				       -EINVAL;
	}
	rc = add_preset(p, n, &preset);
	preset_done(&preset);
	return rc;
}

static int read_tools(const struct blueprint_place *p,
		      const struct yaml_node *n)
{
	if (n->kind != YAML_LIST)
		return refuse(p, n, "a list is wanted here");
	return blueprint_each(p, n, read_tool, NULL);
}

static const struct schema tools_are = { .kind = SCHEMA_LIST,
					 .item = &blueprint_name_is };

/* ---- run, files ---- */

static bool is_script(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' && *s != '\n' && *s != '\t')
			return false;
	return true;
}

static int read_run(const struct blueprint_place *p, const struct yaml_node *n)
{
	return read_words(
		p, n,
		(struct words){
			RUNS_MAX, RUN_BYTES, is_script,
			"a script of sh is wanted here, of at most 8000 bytes",
			&p->bp->build.run });
}

/* Characters that a Dockerfile, or its patterns of files, would read. */
static bool is_plain(const char *path)
{
	return !str_has_control(path) && !strpbrk(path, "$*?[]\\\"'`{}");
}

static int read_path(const struct blueprint_place *p, const struct yaml_node *n,
		     const char *key, const char **ret)
{
	const struct yaml_node *at = yaml_child(n, key);

	if (!at)
		return refuse(p, n, "a file of an image needs from and to");
	return yaml_tree_string(p->tree, at, ret, p->err);
}

static int read_file(const struct blueprint_place *p, const struct yaml_node *n)
{
	struct strv *files = &p->bp->build.files;
	const char *from = NULL, *to = NULL;
	int rc = read_path(p, n, "from", &from);

	if (rc == 0)
		rc = read_path(p, n, "to", &to);
	if (rc < 0)
		return rc;
	if (!blueprint_path_is_below(from, PATH_BYTES) || !is_plain(from))
		return refuse(
			p, n,
			"from is a path in the blueprint's folder, without "
			"'..' and special characters");
	if (*to != '/' || !blueprint_path_is_below(to + 1, PATH_BYTES) ||
	    !is_plain(to))
		return refuse(p, n,
			      "to is an absolute path in the image, without "
			      "'..' and special characters");
	if (files->n >= FILES_MAX)
		return refuse(p, n, "the list is too long");
	rc = strv_pushf(files, "%s\n%s", from, to);
	return rc < 0 ? err_nomem(p->err) : 0;
}

/* Read by read_file(), which needs both. */
static int read_nothing(const struct blueprint_place *p,
			const struct yaml_node *n)
{
	(void)p;
	(void)n;
	return 0;
}

static const struct schema path_is = { .kind = SCHEMA_TEXT, .max = PATH_BYTES };
static const struct blueprint_key file_keys[] = {
	{ { "from", &path_is }, read_nothing },
	{ { "to", &path_is }, read_nothing },
};
static const char *const file_needs[] = { "from", "to", NULL };
static const struct schema file_is = { SCHEMA_ROWS(file_keys),
				       .required = file_needs };
static const struct schema files_is = { .kind = SCHEMA_LIST,
					.item = &file_is,
					.max = FILES_MAX };
static const struct schema script_is = { .kind = SCHEMA_TEXT,
					 .max = RUN_BYTES };
static const struct schema scripts_is = { .kind = SCHEMA_LIST,
					  .item = &script_is,
					  .max = RUNS_MAX };

static int read_one_file(const struct blueprint_place *p,
			 const struct yaml_node *n, void *arg)
{
	int rc = blueprint_read_map(p, n, &file_is);

	(void)arg;
	return rc == 0 ? read_file(p, n) : rc;
}

static int read_files(const struct blueprint_place *p,
		      const struct yaml_node *n)
{
	if (n->kind != YAML_LIST)
		return refuse(p, n, "a list is wanted here");
	return blueprint_each(p, n, read_one_file, NULL);
}

/* ---- time, disk, memory ---- */

static int read_time(const struct blueprint_place *p, const struct yaml_node *n)
{
	uint64_t ms = 0;

	if (n->kind != YAML_SCALAR || str_parse_duration(n->text, &ms) < 0 ||
	    ms < TIME_LEAST_MS || ms > TIME_MAX_MS)
		return refuse(p, n, "time must be a duration from 1s to 24h");
	p->bp->build.time_ms = ms;
	return 0;
}

static int read_size(const struct blueprint_place *p, const struct yaml_node *n,
		     uint64_t least, const char *why, uint64_t *ret)
{
	uint64_t bytes = 0;

	if (n->kind != YAML_SCALAR || str_parse_size(n->text, &bytes) < 0 ||
	    bytes < least || bytes > INT64_MAX)
		return refuse(p, n, why);
	*ret = bytes;
	return 0;
}

static int read_disk(const struct blueprint_place *p, const struct yaml_node *n)
{
	return read_size(p, n, DISK_LEAST,
			 "disk must be a size of at least 16m",
			 &p->bp->build.disk);
}

static int read_memory(const struct blueprint_place *p,
		       const struct yaml_node *n)
{
	return read_size(p, n, MEMORY_LEAST,
			 "memory must be a size of at least 128m",
			 &p->bp->build.memory);
}

static const struct schema time_is = { .kind = SCHEMA_AMOUNT,
				       .pattern = SCHEMA_DURATION,
				       .min = TIME_LEAST_MS / 1000 };
static const struct schema disk_is = { .kind = SCHEMA_AMOUNT,
				       .pattern = SCHEMA_SIZE,
				       .min = DISK_LEAST };
static const struct schema memory_is = { .kind = SCHEMA_AMOUNT,
					 .pattern = SCHEMA_SIZE,
					 .min = MEMORY_LEAST };

/* ---- all of it ---- */

static int read_image_name(const struct blueprint_place *p,
			   const struct yaml_node *n)
{
	return read_name(p, n, &p->bp->image);
}

static int read_from(const struct blueprint_place *p, const struct yaml_node *n)
{
	return read_name(p, n, &p->bp->build.from);
}

static const struct blueprint_key image_keys[] = {
	{ { "name", &blueprint_name_is }, read_image_name },
	{ { "from", &blueprint_name_is }, read_from },
	{ { "tools", &tools_are }, read_tools },
	{ { "packages", &packages_is }, read_packages },
	{ { "files", &files_is }, read_files },
	{ { "run", &scripts_is }, read_run },
	{ { "egress", &blueprint_egress_build_is },
	  blueprint_read_egress_build },
	{ { "time", &time_is }, read_time },
	{ { "disk", &disk_is }, read_disk },
	{ { "memory", &memory_is }, read_memory },
};
static const struct schema image_map_is = { SCHEMA_ROWS(image_keys) };
static const struct schema *const either_image[] = { &blueprint_name_is,
						     &image_map_is, NULL };
const struct schema blueprint_image_is = { .kind = SCHEMA_EITHER,
					   .either = either_image };

/* Returns the name of the blueprint that the file of @p is of, which is its
 * folder, to be freed; NULL without memory. */
static char *own_name(const struct blueprint_place *p)
{
	static const char end[] = "/blueprint.yaml";
	const char *file = p->tree->file;
	size_t len = strlen(file);
	const char *stop = file + len - (sizeof(end) - 1), *start;

	if (!str_ends(file, end))
		return strdup(p->bp->name);
	for (start = stop; start > file && start[-1] != '/'; start--)
		continue;
	return strndup(start, (size_t)(stop - start));
}

static int check_map(const struct blueprint_place *p, const struct yaml_node *n)
{
	static const char *const of_from[] = { "tools", "packages", "files",
					       "run" };
	const struct yaml_node *from = yaml_child(n, "from");
	const struct yaml_node *name = yaml_child(n, "name");

	if (!from == !name)
		return refuse(p, n,
			      "image has either a name, of a Dockerfile or of "
			      "ours, or from");
	for (size_t i = 0; !from && i < ARRAY_SIZE(of_from); i++) {
		const struct yaml_node *k = yaml_child(n, of_from[i]);

		if (k)
			return yaml_tree_refuse(
				p->tree, k, p->err,
				"'%s' needs 'from': an image "
				"with a name has its own recipe",
				k->key);
	}
	return 0;
}

static int read_map(const struct blueprint_place *p, const struct yaml_node *n)
{
	const struct yaml_node *from = yaml_child(n, "from");
	int rc = blueprint_read_map(p, n, &image_map_is);

	if (rc == 0)
		rc = check_map(p, n);
	if (rc < 0 || !from)
		return rc;
	free(p->bp->image);
	p->bp->image = own_name(p);
	if (!p->bp->image)
		return err_nomem(p->err);
	if (rc == 0 && strcmp(p->bp->image, p->bp->build.from) == 0)
		return yaml_tree_refuse(p->tree, from, p->err,
					"the image '%s' cannot be made from "
					"itself",
					p->bp->image);
	return rc;
}

int blueprint_read_image1(const struct blueprint_place *p,
			  const struct yaml_node *n)
{
	blueprint_build_done(&p->bp->build);
	return read_name(p, n, &p->bp->image);
}

int blueprint_read_image2(const struct blueprint_place *p,
			  const struct yaml_node *n)
{
	blueprint_build_done(&p->bp->build);
	return n->kind == YAML_MAP ? read_map(p, n) :
				     read_name(p, n, &p->bp->image);
}
