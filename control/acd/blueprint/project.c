/* SPDX-License-Identifier: Apache-2.0 */
/*
 * project.c - reads a project's own blueprint over the one that it extends
 *
 * Theory of operation: such a file is judged three times, each time closed if
 * the next is missing.
 *
 *	by its keys	before anything is read: a key that has no row in the
 *			table, or a refused one, ends it (project_keys.c)
 *	by its values	when the readers of all blueprints have read it over
 *			its parent: each key's check compares the two
 *	as a whole	what the table lets a project change is put back, and
 *			the result must be the parent, byte for byte as it is
 *			printed; so a reader that sets more than its key's own
 *			value changes nothing either
 *
 * Its hash is that of the resolved blueprint, so a change of the parent is a
 * change too, and one of a comment is none. The file names no other file: keys
 * that do are refused.
 */
#include "control/acd/blueprint/project.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "control/acd/blueprint/keys.h"
#include "control/acd/blueprint/limit_keys.h"
#include "control/acd/blueprint/print.h"
#include "control/acd/blueprint/project_keys.h"
#include "control/shared/names.h"

/* Tells the agent where the text below is from. */
#define PROMPT_HEADING "# Rules of this project (" PROJECT_FILE ")\n\n"

void project_done(struct project *p)
{
	blueprint_done(&p->bp);
	blueprint_done(&p->parent);
	strv_done(&p->keys);
	*p = (struct project){ 0 };
}

/* ---- the parent ---- */

static int check_version(const struct project_place *p)
{
	const struct yaml_tree *t = p->at.tree;
	const struct yaml_node *n = yaml_child(t->root, "version");

	if (n && n->kind == YAML_SCALAR && !n->quoted &&
	    strcmp(n->text, "2") == 0)
		return 0;
	yaml_tree_refuse(t, n ? n : t->root, p->at.err,
			 "a project's own blueprint begins with 'version: 2'");
	return n ? -EINVAL : blueprint_code(p->at.err, MISTAKE_MISSING);
}

static int check_extends(const struct project_place *p)
{
	const struct yaml_tree *t = p->at.tree;
	const struct yaml_node *n = yaml_child(t->root, "extends");
	struct err why = { 0 };

	if (!n) {
		yaml_tree_refuse(t, t->root, p->at.err,
				 "'extends' is missing: the blueprint that "
				 "this project is to be run with, such as "
				 "claude");
		return blueprint_code(p->at.err, MISTAKE_MISSING);
	}
	if (n->kind == YAML_SCALAR && name_check_blueprint(n->text, &why) == 0)
		return 0;
	yaml_tree_refuse(t, n, p->at.err, "extends: %s",
			 *why.msg ? why.msg : "it must be a name");
	return blueprint_code(p->at.err, MISTAKE_PARENT);
}

static int load_parent(const struct project_place *p, struct project *to)
{
	const struct yaml_node *n = yaml_child(p->at.tree->root, "extends");
	struct err why = { 0 };
	int rc = blueprint_load(n->text, &to->parent, &why);

	/* Once more, since the file is read over it. */
	if (rc == 0)
		rc = blueprint_load(n->text, &to->bp, &why);
	if (rc == -ENOENT) {
		yaml_tree_refuse(p->at.tree, n, p->at.err, "extends: %s",
				 why.msg);
		return blueprint_code(p->at.err, MISTAKE_PARENT);
	}
	if (rc < 0)
		*p->at.err = why;
	return rc;
}

/* ---- what is added to a parent's ---- */

static int add_blocked(const struct project_place *p)
{
	const struct yaml_node *n =
		yaml_child(p->at.tree->root, "blocked_paths");
	const struct blueprint *had = p->parent;
	struct blueprint *bp = p->at.bp;
	struct strv all = { 0 };
	int rc = 0;

	if (!n)
		return 0;
	for (size_t i = 0; i < had->blocked_paths.n && rc == 0; i++)
		rc = strv_push(&all, had->blocked_paths.v[i]);
	for (size_t i = 0; i < bp->blocked_paths.n && rc == 0; i++) {
		if (!strv_has(&all, bp->blocked_paths.v[i]))
			rc = strv_push(&all, bp->blocked_paths.v[i]);
	}
	if (rc == 0 && all.n > BLUEPRINT_BLOCKED_MAX)
		rc = blueprint_much(&p->at, n, BLUEPRINT_BLOCKED_MAX,
				    "blocked paths, with those of the parent");
	else if (rc < 0)
		rc = err_nomem(p->at.err);
	if (rc < 0) {
		strv_done(&all);
		return rc;
	}
	strv_done(&bp->blocked_paths);
	bp->blocked_paths = all;
	return 0;
}

static int add_prompt(const struct project_place *p)
{
	const struct yaml_node *n =
		yaml_child(yaml_child(p->at.tree->root, "prompt"), "text");
	const struct blueprint *had = p->parent;
	struct blueprint *bp = p->at.bp;
	char *all;

	if (!n || !bp->prompt)
		return 0;
	all = str_printf("%s%s" PROMPT_HEADING "%s",
			 had->prompt ? had->prompt : "",
			 had->prompt ? "\n\n" : "", bp->prompt);
	if (!all)
		return err_nomem(p->at.err);
	free(bp->prompt);
	bp->prompt = all;
	if (strlen(all) <= BLUEPRINT_TEXT_MAX)
		return 0;
	yaml_tree_refuse(p->at.tree, n, p->at.err,
			 "with that of '%s' the text has more than %u KiB",
			 had->name, BLUEPRINT_TEXT_MAX / 1024);
	return blueprint_code(p->at.err, MISTAKE_LIMIT);
}

/* ---- as a whole ---- */

static int print_both(const struct blueprint *a, const struct blueprint *b,
		      bool *ret_same)
{
	struct buf one, other;
	struct slice x, y;
	int rc;

	buf_init(&one, BLUEPRINT_PRINT_MAX);
	buf_init(&other, BLUEPRINT_PRINT_MAX);
	rc = blueprint_print(a, &one, NULL);
	if (rc == 0)
		rc = blueprint_print(b, &other, NULL);
	x = buf_slice(&one);
	y = buf_slice(&other);
	*ret_same = rc == 0 && x.len == y.len &&
		    memcmp(x.ptr, y.ptr, x.len) == 0;
	buf_done(&one);
	buf_done(&other);
	return rc;
}

/* Refuses a file that has changed what none of its keys may change. */
static int check_rest(const struct project_place *p)
{
	const struct blueprint *had = p->parent;
	struct blueprint back = *p->at.bp; /* borrows all */
	bool same = false;
	int rc;

	back.description = had->description;
	back.workdir = had->workdir;
	back.env = had->env;
	back.cpu_milli = had->cpu_milli;
	back.memory = had->memory;
	back.pids = had->pids;
	back.timeout_ms = had->timeout_ms;
	back.disk = had->disk;
	back.output = had->output;
	back.ttl_ms = had->ttl_ms;
	back.idle_ms = had->idle_ms;
	back.hibernate_ms = had->hibernate_ms;
	back.root_rw = had->root_rw;
	back.tmp_noexec = had->tmp_noexec;
	back.blocked_paths = had->blocked_paths;
	back.egress.mode = had->egress.mode;
	back.egress.deny = had->egress.deny;
	back.prompt = had->prompt;
	rc = print_both(had, &back, &same);
	if (rc < 0)
		return err_set(p->at.err, rc, "%s: %s", p->at.tree->file,
			       err_text(rc));
	if (same)
		return 0;
	yaml_tree_refuse(p->at.tree, p->at.tree->root, p->at.err,
			 "it changes more of '%s' than a project's own "
			 "blueprint may",
			 had->name);
	return blueprint_code(p->at.err, MISTAKE_PROJECT);
}

/* ---- its hash ---- */

static void hash_part(crypto_hash_sha256_state *st, const void *data,
		      size_t len)
{
	uint8_t size[8];

	for (size_t i = 0; i < sizeof(size); i++)
		size[i] = (uint8_t)((uint64_t)len >> (8 * i));
	crypto_hash_sha256_update(st, size, sizeof(size));
	crypto_hash_sha256_update(st, data, len);
}

static int hash(struct project *p, struct err *err)
{
	static const char what[] = "ac project 1";
	uint8_t sum[crypto_hash_sha256_BYTES];
	crypto_hash_sha256_state st;
	struct buf text;
	struct slice s;
	int rc;

	static_assert(sizeof(p->hash) == 2 * sizeof(sum) + 1, "hexadecimal");
	buf_init(&text, BLUEPRINT_PRINT_MAX);
	rc = blueprint_print(&p->bp, &text, NULL);
	s = buf_slice(&text);
	if (rc == 0) {
		crypto_hash_sha256_init(&st);
		hash_part(&st, what, strlen(what));
		hash_part(&st, p->bp.name, strlen(p->bp.name));
		hash_part(&st, s.ptr, s.len);
		crypto_hash_sha256_final(&st, sum);
		sodium_bin2hex(p->hash, sizeof(p->hash), sum, sizeof(sum));
	}
	buf_done(&text);
	return rc < 0 ? err_set(err, rc, "%s: %s", p->bp.name, err_text(rc)) :
			0;
}

/* ---- a file ---- */

/* Calls @fn; notes the mistake, if it finds one. Returns what a reader does. */
static int step(const struct project_place *p,
		int (*fn)(const struct project_place *p))
{
	return blueprint_note(&p->at, fn(p));
}

static int read_over(const struct project_place *p)
{
	int rc = blueprint_read(&p->at);

	if (rc == 0)
		rc = project_judge_values(p);
	if (rc == 0)
		rc = step(p, add_blocked);
	if (rc == 0)
		rc = step(p, add_prompt);
	return rc == 0 ? step(p, check_rest) : rc;
}

/* Notes what it is from: the file, over its parent. */
static int note_sources(const struct project_place *p)
{
	struct blueprint *bp = p->at.bp;

	free(bp->extends);
	bp->extends = strdup(p->parent->name);
	if (!bp->extends || sources_note(&bp->sources, p->at.tree) < 0)
		return err_nomem(p->at.err);
	return 0;
}

/* Returns what a reader does. */
static int read_tree(const struct project_place *p, struct project *to)
{
	const struct yaml_tree *t = p->at.tree;
	int rc, keys;

	if (!t->root)
		return blueprint_note(&p->at,
				      yaml_tree_refuse(t, NULL, p->at.err,
						       "the file is "
						       "empty"));
	rc = yaml_tree_want_map(t, t->root, p->at.err);
	if (rc < 0)
		return blueprint_note(&p->at, rc);
	rc = step(p, check_version);
	keys = rc < 0 ? rc : project_judge_keys(p, &to->keys);
	rc = keys < 0 ? keys : rc | keys;
	keys = rc < 0 ? rc : step(p, check_extends);
	rc = keys < 0 ? keys : rc | keys;
	if (rc == 0)
		rc = blueprint_note(&p->at, load_parent(p, to));
	if (rc == 0)
		rc = read_over(p);
	if (rc == 0)
		rc = note_sources(p);
	return rc == 0 ? hash(to, p->at.err) : rc;
}

int project_judge(const char *text, size_t len, const char *file,
		  struct project *ret, struct blueprint_mistakes *m,
		  struct err *err)
{
	const struct yaml_tree none = { .file = file };
	struct yaml_tree tree = { 0 };
	struct project p = { 0 };
	struct project_place place = { { &tree, &p.bp, err, m }, &p.parent };
	int rc = blueprint_tree(text, len, file, &tree, err);

	if (rc < 0) {
		place.at.tree = &none;
		rc = blueprint_note(&place.at, rc);
	}
	if (rc == 0)
		rc = read_tree(&place, &p);
	yaml_tree_done(&tree);
	/* One that could not be noted ended the reading. */
	if (rc > 0 || (rc == -EINVAL && m->n > 0))
		rc = mistakes_fail(m, err);
	if (rc < 0) {
		project_done(&p);
		return rc;
	}
	*ret = p;
	return 0;
}

int project_parse(const char *text, size_t len, const char *file,
		  struct project *ret, struct err *err)
{
	struct blueprint_mistakes m = { 0 };
	struct err ignored = { 0 };
	int rc = project_judge(text, len, file, ret, &m, err ? err : &ignored);

	mistakes_done(&m);
	return rc;
}
