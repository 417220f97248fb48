/* SPDX-License-Identifier: Apache-2.0 */
/*
 * project_keys.c - what each key of a project's file may do
 *
 * The table is that of ac-blueprint(5), "A PROJECT'S OWN FILE". A row counts for
 * all that is below its key. What has no row is refused, also a key
 * that is new in the schema.
 *
 * Nothing here keeps a sandbox in: all that a project's file may set is worth no
 * more than what the code of the project does by itself. The table is for the
 * user, who is asked to approve few and plain lines.
 */
#include "control/acd/blueprint/project_keys.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "control/shared/names.h"
#include "lib/guess.h"

#define KEY_MAX 128u /* bytes of "resources.memory" */
#define WORKSPACE "/workspace"

/* ---- checks ---- */

static int refuse(const struct project_place *p, const struct yaml_node *n,
		  const char *text)
{
	return yaml_tree_refuse(p->at.tree, n, p->at.err, "%s", text);
}

/* 0 is no limit. */
static bool is_narrower(uint64_t value, uint64_t than)
{
	return value == than || than == 0 || (value != 0 && value < than);
}

static int check_amount(const struct project_place *p,
			const struct yaml_node *n, size_t at)
{
	uint64_t value = *(const uint64_t *)((const char *)p->at.bp + at);
	uint64_t than = *(const uint64_t *)((const char *)p->parent + at);

	if (is_narrower(value, than))
		return 0;
	return yaml_tree_refuse(p->at.tree, n, p->at.err,
				"%s may only be smaller here than that of '%s'",
				n->key, p->parent->name);
}

static int check_root(const struct project_place *p, const struct yaml_node *n,
		      size_t at)
{
	(void)at;
	return p->at.bp->root_rw && !p->parent->root_rw ?
		       refuse(p, n, "root may only become read-only here") :
		       0;
}

static int check_tmp(const struct project_place *p, const struct yaml_node *n,
		     size_t at)
{
	(void)at;
	return !p->at.bp->tmp_noexec && p->parent->tmp_noexec ?
		       refuse(p, n, "tmp may only become noexec here") :
		       0;
}

/* A mode that is not set is balanced. */
static enum egress_mode mode_of(const struct blueprint *bp)
{
	return bp->egress.mode == EGRESS_UNSET ? EGRESS_BALANCED :
						 bp->egress.mode;
}

static int check_mode(const struct project_place *p, const struct yaml_node *n,
		      size_t at)
{
	static_assert(EGRESS_LOCKED < EGRESS_BALANCED &&
			      EGRESS_BALANCED < EGRESS_OPEN,
		      "the narrower mode is the smaller number");

	(void)at;
	if (mode_of(p->at.bp) <= mode_of(p->parent))
		return 0;
	return yaml_tree_refuse(p->at.tree, n, p->at.err,
				"the mode of '%s' is %s, and may only become "
				"narrower here",
				p->parent->name,
				egress_mode_name(mode_of(p->parent)));
}

/* None of the parent's is dropped. */
static int check_deny(const struct project_place *p, const struct yaml_node *n,
		      size_t at)
{
	const struct strv *had = &p->parent->egress.deny;

	(void)at;
	for (size_t i = 0; i < had->n; i++) {
		if (!strv_has(&p->at.bp->egress.deny, had->v[i]))
			return refuse(p, n,
				      "a denial of the parent stays here");
	}
	return 0;
}

static int check_workdir(const struct project_place *p,
			 const struct yaml_node *n, size_t at)
{
	const char *dir = p->at.bp->workdir;
	size_t len = strlen(WORKSPACE);

	(void)at;
	if (strncmp(dir, WORKSPACE, len) == 0 &&
	    (dir[len] == '\0' ||
	     (dir[len] == '/' &&
	      blueprint_path_is_below(dir + len + 1, BLUEPRINT_PATH_MAX))))
		return 0;
	return refuse(p, n,
		      "workdir must be " WORKSPACE
		      " or below it, without '..'");
}

/* Variables whose meaning belongs to the project: they name no program, no file
 * of code, no server of an agent and no key. */
static const char *const env_names[] = {
	"CI",
	"COLUMNS",
	"DATABASE_URL",
	"DEBUG",
	"FLASK_ENV",
	"FORCE_COLOR",
	"GOMAXPROCS",
	"LANG",
	"LANGUAGE",
	"LC_ALL",
	"LC_COLLATE",
	"LC_CTYPE",
	"LC_NUMERIC",
	"LC_TIME",
	"LOG_LEVEL",
	"MIX_ENV",
	"NODE_ENV",
	"NO_COLOR",
	"PGDATABASE",
	"PGHOST",
	"PGPORT",
	"PGUSER",
	"PORT",
	"PYTHONHASHSEED",
	"RACK_ENV",
	"PYTHONUNBUFFERED",
	"RAILS_ENV",
	"REDIS_URL",
	"RUST_BACKTRACE",
	"RUST_LOG",
	"TZ",
};
/* What follows them is the project's own choice. */
static const char *const env_prefixes[] = {
	"APP_", "NEXT_PUBLIC_", "PROJECT_", "REACT_APP_", "TEST_", "VITE_",
};

bool project_env_may(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(env_names); i++) {
		if (strcmp(name, env_names[i]) == 0)
			return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(env_prefixes); i++) {
		if (str_starts(name, env_prefixes[i]) &&
		    name[strlen(env_prefixes[i])])
			return true;
	}
	return false;
}

static bool env_has(const struct blueprint *bp, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < bp->env.n; i++) {
		const char *entry = bp->env.v[i];

		if (strncmp(entry, name, len) == 0 && entry[len] == '=')
			return true;
	}
	return false;
}

static int check_env(const struct project_place *p, const struct yaml_node *n,
		     size_t at)
{
	(void)at;
	for (const struct yaml_node *e = n->first; e; e = e->next) {
		if (!project_env_may(e->key))
			return yaml_tree_refuse(
				p->at.tree, e, p->at.err,
				"a project's file may not set %s: names that "
				"begin with PROJECT_, APP_ or TEST_ are its "
				"own, and `ac run --env` sets any",
				e->key);
		if (env_has(p->parent, e->key))
			return yaml_tree_refuse(p->at.tree, e, p->at.err,
						"'%s' sets %s, which may not "
						"be changed here",
						p->parent->name, e->key);
	}
	return 0;
}

static int check_prompt(const struct project_place *p,
			const struct yaml_node *n, size_t at)
{
	(void)at;
	if (p->parent->prompt_paths.n == 0)
		return yaml_tree_refuse(p->at.tree, n, p->at.err,
					"'%s' has no prompt.paths: this text "
					"would be nowhere",
					p->parent->name);
	if (strstr(n->text, "{credential:"))
		return refuse(p, n,
			      "the text may not have {credential:...} here");
	return 0;
}

/* ---- the table ---- */

#define RULES "what is run, and by which rules, is the user's choice"
#define REACH "it would reach more than the parent"

#define REFUSED(key, about)                              \
	{                                                \
		(key), PROJECT_REFUSED, (about), NULL, 0 \
	}
#define FREE(key, about)                              \
	{                                             \
		(key), PROJECT_FREE, (about), NULL, 0 \
	}
#define NARROWER(key, about, check)                        \
	{                                                  \
		(key), PROJECT_NARROWER, (about), check, 0 \
	}
#define SMALLER(key, member)                                             \
	{                                                                \
		(key), PROJECT_NARROWER, "at most that of the parent",   \
			check_amount, offsetof(struct blueprint, member) \
	}
#define ADDED(key, about, check)                        \
	{                                               \
		(key), PROJECT_ADDED, (about), check, 0 \
	}

const struct project_row project_rows[] = {
	FREE("version", "2"),
	FREE("extends", "required: the blueprint that is run"),
	FREE("description", "one line"),
	REFUSED("image", "it would choose what the sandbox is made of"),
	REFUSED("run.command", RULES),
	REFUSED("run.args", RULES),
	REFUSED("run.headless", RULES),
	REFUSED("run.resume", RULES),
	REFUSED("run.result", RULES),
	REFUSED("run.shell", RULES),
	NARROWER("run.workdir", "/workspace, or below it", check_workdir),
	ADDED("run.env", "variables of the project, see below", check_env),
	SMALLER("resources.cpus", cpu_milli),
	SMALLER("resources.memory", memory),
	SMALLER("resources.pids", pids),
	SMALLER("resources.timeout", timeout_ms),
	SMALLER("resources.disk", disk),
	SMALLER("resources.output", output),
	SMALLER("ttl", ttl_ms),
	SMALLER("idle", idle_ms),
	REFUSED("hibernate_after", "it would write to the disk unasked"),
	REFUSED("pool", "it would use the machine unasked"),
	REFUSED("isolation", RULES),
	NARROWER("filesystem.root", "read-only", check_root),
	NARROWER("filesystem.tmp", "noexec", check_tmp),
	ADDED("blocked_paths", "to those of the parent", NULL),
	NARROWER("egress.mode", "locked, balanced, open: narrowest first",
		 check_mode),
	ADDED("egress.deny", "to those of the parent", check_deny),
	REFUSED("egress.use", REACH),
	REFUSED("egress.allow", REACH),
	REFUSED("egress.limits", "only the gateway can compare them"),
	REFUSED("credentials", "which of them it gets is the user's choice"),
	REFUSED("mounts",
		"they show directories and volumes of yours to the agent"),
	REFUSED("files", "they are settings of the agent, in its home"),
	ADDED("prompt.text", "below that of the parent", check_prompt),
	REFUSED("prompt.paths", "they are files in the agent's home"),
	{ NULL, PROJECT_REFUSED, NULL, NULL, 0 },
};

const char *project_may_name(enum project_may may)
{
	static const char *const names[] = { "refused", "free", "narrower",
					     "added" };

	return names[may];
}

static const struct project_row *row_of(const char *key)
{
	for (const struct project_row *r = project_rows; r->key; r++) {
		if (strcmp(r->key, key) == 0)
			return r;
	}
	return NULL;
}

/* Returns true if there are rows for what is below @key. */
static bool rows_below(const char *key)
{
	size_t len = strlen(key);

	for (const struct project_row *r = project_rows; r->key; r++) {
		if (strncmp(r->key, key, len) == 0 && r->key[len] == '.')
			return true;
	}
	return false;
}

/* ---- walking a file ---- */

/* Called with each key that has a row; NULL: it has none, and none below it.
 * Returns 0 or a negative errno. */
typedef int (*visit_fn)(const struct project_place *p,
			const struct project_row *r, const struct yaml_node *n,
			const char *key, void *arg);

/* Returns what a reader does. */
static int walk(const struct project_place *p, const struct yaml_node *map,
		const char *above, visit_fn fn, void *arg)
{
	int all = 0;

	for (const struct yaml_node *n = map->first; n; n = n->next) {
		const struct project_row *r;
		char key[KEY_MAX];
		int len = snprintf(key, sizeof(key), "%s%s%s", above,
				   *above ? "." : "", n->key);
		/* A key with a dot is not the path that it looks like. */
		bool fits = len > 0 && (size_t)len < sizeof(key) &&
			    !strchr(n->key, '.');
		int rc;

		r = fits ? row_of(key) : NULL;
		if (!r && fits && n->kind == YAML_MAP && rows_below(key))
			rc = walk(p, n, key, fn, arg);
		else
			rc = blueprint_note(&p->at, fn(p, r, n, key, arg));
		if (rc < 0)
			return rc;
		all |= rc;
	}
	return all;
}

/* Refuses what has no row: a key of blueprints, or a mistyped one. */
static int refuse_other(const struct project_place *p,
			const struct yaml_node *n, const char *key)
{
	const struct blueprint_key *k =
		(const void *)schema_find(&blueprint_version2_is, key);
	char shown[KEY_MAX];
	struct guess g;

	if (k && !k->is.is)
		return k->fn(&p->at, n); /* which says what it is now */
	str_escape(shown, sizeof(shown), key, strlen(key));
	if (rows_below(key))
		return yaml_tree_refuse(p->at.tree, n, p->at.err,
					"'%s' must be a map in a project's "
					"own blueprint",
					shown);
	if (k) {
		yaml_tree_refuse(p->at.tree, n, p->at.err,
				 "a project's own blueprint may not set '%s'",
				 shown);
		return blueprint_code(p->at.err, MISTAKE_PROJECT);
	}
	guess_begin(&g, key);
	for (const struct project_row *r = project_rows; r->key; r++) {
		if (r->may != PROJECT_REFUSED)
			guess_try(&g, r->key);
	}
	yaml_tree_refuse(p->at.tree, n, p->at.err,
			 "a project's own blueprint has no '%s'%s%s%s", shown,
			 g.found ? ": did you mean '" : "",
			 g.found ? g.found : "", g.found ? "'?" : "");
	err_hint(p->at.err, g.found ? g.found : "");
	return blueprint_code(p->at.err, MISTAKE_KEY);
}

static int judge_key(const struct project_place *p, const struct project_row *r,
		     const struct yaml_node *n, const char *key, void *arg)
{
	struct strv *keys = arg;

	if (!r)
		return refuse_other(p, n, key);
	if (r->may == PROJECT_REFUSED) {
		yaml_tree_refuse(p->at.tree, n, p->at.err,
				 "a project's own blueprint may not set '%s': "
				 "%s",
				 r->key, r->about);
		return blueprint_code(p->at.err, MISTAKE_PROJECT);
	}
	if (strcmp(key, "version") == 0 || strcmp(key, "extends") == 0)
		return 0;
	return strv_push(keys, key) < 0 ? err_nomem(p->at.err) : 0;
}

int project_judge_keys(const struct project_place *p, struct strv *keys)
{
	return walk(p, p->at.tree->root, "", judge_key, keys);
}

static int judge_value(const struct project_place *p,
		       const struct project_row *r, const struct yaml_node *n,
		       const char *key, void *arg)
{
	int rc = r && r->check ? r->check(p, n, r->at) : 0;

	(void)key;
	(void)arg;
	return rc == -EINVAL ? blueprint_code(p->at.err, MISTAKE_PROJECT) : rc;
}

int project_judge_values(const struct project_place *p)
{
	return walk(p, p->at.tree->root, "", judge_value, NULL);
}
