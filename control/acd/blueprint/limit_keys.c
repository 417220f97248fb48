/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limit_keys.c - limits, lifetime and file system of a blueprint
 */
#include "control/acd/blueprint/limit_keys.h"

#include <stddef.h>
#include <string.h>

#define OUTPUT_MIN (64u * 1024)
#define TIME_MAX (366ull * 24 * 3600 * 1000)
#define LIFE_MIN 1000u
#define BLOCKED_BYTES_MAX 1024u

#define CPU_MILLI_DEFAULT 2000u
#define MEMORY_DEFAULT (4ull * 1024 * 1024 * 1024)
#define PIDS_DEFAULT 1024u

/* What a number may be, and how a mistake is answered. */
struct amount {
	const char *key;
	int (*parse)(const char *s, uint64_t *ret); /* of lib/str.h */
	uint64_t min, max;
	const char *want;
	size_t offset; /* of a uint64_t in struct blueprint */
};

static int parse_count(const char *s, uint64_t *ret)
{
	return str_parse_u64(s, 0, UINT64_MAX, ret);
}

#define INTO(member) offsetof(struct blueprint, member)

static const struct amount limits[] = {
	{ "cpus", str_parse_milli, 1, BLUEPRINT_CPU_MILLI_MAX,
	  "a number of CPUs, such as 2 or 1.5, or none", INTO(cpu_milli) },
	{ "memory", str_parse_size, BLUEPRINT_MEMORY_MIN, INT64_MAX,
	  "a size of at least 16m, such as 512m or 2g, or none", INTO(memory) },
	{ "pids", parse_count, 1, BLUEPRINT_PIDS_MAX,
	  "a number of processes, such as 512, or none", INTO(pids) },
	{ "timeout", str_parse_duration, 1, TIME_MAX,
	  "a duration, such as 90s, 30m or 8h, or none", INTO(timeout_ms) },
	{ "disk", str_parse_size, BLUEPRINT_DISK_MIN, INT64_MAX,
	  "a size of at least 16m, such as 500m or 10g, or none", INTO(disk) },
	{ "output", str_parse_size, OUTPUT_MIN, INT64_MAX,
	  "a size of at least 64k, such as 100m, or none", INTO(output) },
};

static const struct amount lives[] = {
	{ "ttl", str_parse_duration, LIFE_MIN, TIME_MAX,
	  "a duration of at least 1s, such as 12h or 7d", INTO(ttl_ms) },
	{ "idle", str_parse_duration, LIFE_MIN, TIME_MAX,
	  "a duration of at least 1s, such as 30m", INTO(idle_ms) },
};

static const struct amount *amount_find(const struct amount *a, size_t n,
					const char *key)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(a[i].key, key) == 0)
			return &a[i];
	}
	return NULL;
}

static int amount_read(const struct yaml_tree *tree, const struct yaml_node *n,
		       const struct amount *a, struct blueprint *bp,
		       struct err *err)
{
	uint64_t v = 0;

	if (n->kind != YAML_SCALAR || a->parse(n->text, &v) < 0 || v < a->min ||
	    v > a->max)
		return yaml_tree_refuse(tree, n, err, "%s must be %s", n->key,
					a->want);
	*(uint64_t *)((char *)bp + a->offset) = v;
	return 0;
}

static int unknown_key(const struct yaml_tree *tree, const struct yaml_node *n,
		       struct err *err)
{
	char shown[64];

	return yaml_tree_refuse(tree, n, err, "unknown key '%s'",
				str_escape(shown, sizeof(shown), n->key,
					   strlen(n->key)));
}

static int want_map(const struct yaml_tree *tree, const struct yaml_node *n,
		    struct err *err)
{
	if (n->kind == YAML_MAP)
		return 0;
	return yaml_tree_refuse(tree, n, err,
				"a map (key: value) is wanted here");
}

void blueprint_default_limits(struct blueprint *bp)
{
	bp->cpu_milli = CPU_MILLI_DEFAULT;
	bp->memory = MEMORY_DEFAULT;
	bp->pids = PIDS_DEFAULT;
}

static bool is_none(const struct yaml_node *n)
{
	return n->kind == YAML_SCALAR && strcmp(n->text, "none") == 0;
}

static int read_limit(const struct yaml_tree *tree, const struct yaml_node *n,
		      struct blueprint *bp, struct err *err)
{
	const struct amount *a =
		amount_find(limits, ARRAY_SIZE(limits), n->key);

	if (!a)
		return unknown_key(tree, n, err);
	if (!is_none(n))
		return amount_read(tree, n, a, bp, err);
	*(uint64_t *)((char *)bp + a->offset) = 0;
	return 0;
}

int blueprint_read_limits(const struct yaml_tree *tree,
			  const struct yaml_node *n, struct blueprint *bp,
			  struct err *err)
{
	int ret;

	if (is_none(n)) {
		bp->cpu_milli = bp->memory = bp->pids = 0;
		return 0;
	}
	ret = want_map(tree, n, err);
	for (const struct yaml_node *e = ret == 0 ? n->first : NULL;
	     e && ret == 0; e = e->next)
		ret = read_limit(tree, e, bp, err);
	return ret;
}

int blueprint_read_life(const struct yaml_tree *tree, const struct yaml_node *n,
			struct blueprint *bp, struct err *err)
{
	const struct amount *a = amount_find(lives, ARRAY_SIZE(lives), n->key);
	uint64_t v = 0;

	if (a)
		return amount_read(tree, n, a, bp, err);
	if (n->kind != YAML_SCALAR ||
	    str_parse_u64(n->text, 0, BLUEPRINT_POOL_MAX, &v) < 0)
		return yaml_tree_refuse(tree, n, err,
					"pool must be a number of sandboxes "
					"to keep ready, at most %u",
					BLUEPRINT_POOL_MAX);
	bp->pool = (unsigned)v;
	return 0;
}

/* One of two words: @yes sets *@ret. */
static int read_choice(const struct yaml_tree *tree, const struct yaml_node *n,
		       const char *no, const char *yes, bool *ret,
		       struct err *err)
{
	if (n->kind == YAML_SCALAR && strcmp(n->text, yes) == 0)
		*ret = true;
	else if (n->kind == YAML_SCALAR && strcmp(n->text, no) == 0)
		*ret = false;
	else
		return yaml_tree_refuse(tree, n, err, "%s must be %s or %s",
					n->key, no, yes);
	return 0;
}

int blueprint_read_filesystem(const struct yaml_tree *tree,
			      const struct yaml_node *n, struct blueprint *bp,
			      struct err *err)
{
	int ret = want_map(tree, n, err);

	for (const struct yaml_node *e = ret == 0 ? n->first : NULL;
	     e && ret == 0; e = e->next) {
		if (strcmp(e->key, "root") == 0)
			ret = read_choice(tree, e, "read-only", "writable",
					  &bp->root_rw, err);
		else if (strcmp(e->key, "tmp") == 0)
			ret = read_choice(tree, e, "exec", "noexec",
					  &bp->tmp_noexec, err);
		else
			ret = unknown_key(tree, e, err);
	}
	return ret;
}

/* Relative, without empty parts, "." and "..": what it names is inside the
 * workspace before any link is looked at. */
static bool path_is_inside(const char *path)
{
	const char *p = path;

	if (*path == '\0' || strlen(path) > BLOCKED_BYTES_MAX)
		return false;
	for (;;) {
		size_t len = strcspn(p, "/");

		if (len == 0 || (len == 1 && p[0] == '.') ||
		    (len == 2 && p[0] == '.' && p[1] == '.'))
			return false;
		if (p[len] == '\0' || p[len + 1] == '\0')
			return true; /* "dir/" is fine */
		p += len + 1;
	}
}

int blueprint_read_blocked(const struct yaml_tree *tree,
			   const struct yaml_node *n, struct blueprint *bp,
			   struct err *err)
{
	if (n->kind != YAML_LIST)
		return yaml_tree_refuse(tree, n, err,
					"blocked_paths must be a list, such as "
					"[.env, secrets]");
	for (const struct yaml_node *e = n->first; e; e = e->next) {
		const char *text = NULL;
		int ret = yaml_tree_string(tree, e, &text, err);

		if (ret < 0)
			return ret;
		if (!path_is_inside(text))
			return yaml_tree_refuse(
				tree, e, err,
				"a blocked path is relative to "
				"the workspace and has no '..'");
		if (bp->blocked_paths.n == BLUEPRINT_BLOCKED_MAX)
			return yaml_tree_refuse(tree, e, err,
						"more than %u blocked paths",
						BLUEPRINT_BLOCKED_MAX);
		if (strv_push(&bp->blocked_paths, text) < 0)
			return err_nomem(err);
	}
	return 0;
}
