/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limit_keys.c - limits, lifetime and file system of a blueprint
 */
#include "control/acd/blueprint/limit_keys.h"

#include <stddef.h>
#include <string.h>

#include "control/acd/blueprint/keys.h"

#define OUTPUT_MIN (64u * 1024)
#define TIME_MAX (366ull * 24 * 3600 * 1000)
#define LIFE_MIN 1000u
#define BLOCKED_BYTES_MAX 1024u

#define CPU_MILLI_DEFAULT 2000u
#define MEMORY_DEFAULT (4ull * 1024 * 1024 * 1024)
#define PIDS_DEFAULT 1024u

/* Bounds of a number, and the message for a wrong one. */
struct amount {
	struct schema_key is;
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

#define SIZE_FROM(least)                                                     \
	{                                                                    \
		.kind = SCHEMA_AMOUNT, .none = true, .pattern = SCHEMA_SIZE, \
		.min = (least)                                               \
	}
static const struct schema cpus_is = { .kind = SCHEMA_AMOUNT,
				       .none = true,
				       .pattern = "[0-9]+(\\.[0-9]+)?" };
static const struct schema memory_is = SIZE_FROM(BLUEPRINT_MEMORY_MIN);
static const struct schema pids_is = {
	.kind = SCHEMA_NUMBER, .none = true, .min = 1, .max = BLUEPRINT_PIDS_MAX
};
static const struct schema timeout_is = { .kind = SCHEMA_AMOUNT,
					  .none = true,
					  .pattern = SCHEMA_DURATION };
static const struct schema disk_is = SIZE_FROM(BLUEPRINT_DISK_MIN);
static const struct schema output_is = SIZE_FROM(OUTPUT_MIN);

static const struct amount limits[] = {
	{ { "cpus", &cpus_is },
	  str_parse_milli,
	  1,
	  BLUEPRINT_CPU_MILLI_MAX,
	  "a number of CPUs, such as 2 or 1.5, or none",
	  INTO(cpu_milli) },
	{ { "memory", &memory_is },
	  str_parse_size,
	  BLUEPRINT_MEMORY_MIN,
	  INT64_MAX,
	  "a size of at least 16m, such as 512m or 2g, or none",
	  INTO(memory) },
	{ { "pids", &pids_is },
	  parse_count,
	  1,
	  BLUEPRINT_PIDS_MAX,
	  "a number of processes, such as 512, or none",
	  INTO(pids) },
	{ { "timeout", &timeout_is },
	  str_parse_duration,
	  1,
	  TIME_MAX,
	  "a duration, such as 90s, 30m or 8h, or none",
	  INTO(timeout_ms) },
	{ { "disk", &disk_is },
	  str_parse_size,
	  BLUEPRINT_DISK_MIN,
	  INT64_MAX,
	  "a size of at least 16m, such as 500m or 10g, or none",
	  INTO(disk) },
	{ { "output", &output_is },
	  str_parse_size,
	  OUTPUT_MIN,
	  INT64_MAX,
	  "a size of at least 64k, such as 100m, or none",
	  INTO(output) },
};

static const struct schema limits_map_is = { SCHEMA_ROWS(limits) };
static const struct schema *const either_limits[] = { &limits_map_is, NULL };
const struct schema blueprint_limits_is = { .kind = SCHEMA_EITHER,
					    .none = true,
					    .either = either_limits };

const struct schema blueprint_life_is = { .kind = SCHEMA_AMOUNT,
					  .pattern = SCHEMA_DURATION,
					  .min = LIFE_MIN / 1000 };
const struct schema blueprint_pool_is = { .kind = SCHEMA_NUMBER,
					  .max = BLUEPRINT_POOL_MAX };

static const struct amount lives[] = {
	{ { "ttl", &blueprint_life_is },
	  str_parse_duration,
	  LIFE_MIN,
	  TIME_MAX,
	  "a duration of at least 1s, such as 12h or 7d",
	  INTO(ttl_ms) },
	{ { "idle", &blueprint_life_is },
	  str_parse_duration,
	  LIFE_MIN,
	  TIME_MAX,
	  "a duration of at least 1s, such as 30m",
	  INTO(idle_ms) },
	{ { "hibernate_after", &blueprint_life_is },
	  str_parse_duration,
	  LIFE_MIN,
	  TIME_MAX,
	  "a duration of at least 1s, such as 10m",
	  INTO(hibernate_ms) },
};

static const struct amount *amount_find(const struct amount *a, size_t n,
					const char *key)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(a[i].is.key, key) == 0)
			return &a[i];
	}
	return NULL;
}

static int amount_read(const struct blueprint_place *p,
		       const struct yaml_node *n, const struct amount *a)
{
	uint64_t v = 0;

	if (n->kind != YAML_SCALAR || a->parse(n->text, &v) < 0 || v < a->min ||
	    v > a->max)
		return yaml_tree_refuse(p->tree, n, p->err, "%s must be %s",
					n->key, a->want);
	*(uint64_t *)((char *)p->bp + a->offset) = v;
	return 0;
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

static int read_limit(const struct blueprint_place *p,
		      const struct yaml_node *n, void *arg)
{
	const struct amount *a =
		amount_find(limits, ARRAY_SIZE(limits), n->key);

	(void)arg;
	if (!a)
		return blueprint_unknown(p->tree, n, &limits_map_is, NULL,
					 p->err);
	if (!is_none(n))
		return amount_read(p, n, a);
	*(uint64_t *)((char *)p->bp + a->offset) = 0;
	return 0;
}

int blueprint_read_limits(const struct blueprint_place *p,
			  const struct yaml_node *n)
{
	int rc;

	if (is_none(n)) {
		for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
			*(uint64_t *)((char *)p->bp + limits[i].offset) = 0;
		return 0;
	}
	rc = yaml_tree_want_map(p->tree, n, p->err);
	return rc == 0 ? blueprint_each(p, n, read_limit, NULL) : rc;
}

int blueprint_read_life(const struct blueprint_place *p,
			const struct yaml_node *n)
{
	const struct amount *a = amount_find(lives, ARRAY_SIZE(lives), n->key);
	uint64_t v = 0;

	if (a)
		return amount_read(p, n, a);
	if (n->kind != YAML_SCALAR ||
	    str_parse_u64(n->text, blueprint_pool_is.min, blueprint_pool_is.max,
			  &v) < 0)
		return yaml_tree_refuse(p->tree, n, p->err,
					"pool must be a number of sandboxes "
					"to keep ready, at most %u",
					BLUEPRINT_POOL_MAX);
	p->bp->pool = (unsigned)v;
	return 0;
}

/* One of two words; the second sets a bool of struct blueprint. */
struct choice {
	struct schema_key is;
	size_t offset;
};

static const char *const root_words[] = { "read-only", "writable", NULL };
static const char *const tmp_words[] = { "exec", "noexec", NULL };
static const struct schema root_is = SCHEMA_WORDS(root_words);
static const struct schema tmp_is = SCHEMA_WORDS(tmp_words);
static const struct choice choices[] = {
	{ { "root", &root_is }, INTO(root_rw) },
	{ { "tmp", &tmp_is }, INTO(tmp_noexec) },
};
const struct schema blueprint_filesystem_is = { SCHEMA_ROWS(choices) };

/* Reads one of two words; sets the bool for the second. */
static int read_choice(const struct blueprint_place *p,
		       const struct yaml_node *n, void *arg)
{
	const struct choice *c =
		(const void *)schema_find(&blueprint_filesystem_is, n->key);
	char want[64];
	int rc;

	(void)arg;
	if (!c)
		return blueprint_unknown(p->tree, n, &blueprint_filesystem_is,
					 NULL, p->err);
	snprintf(want, sizeof(want), "%s must be %s or %s", n->key,
		 c->is.is->words[0], c->is.is->words[1]);
	rc = blueprint_read_word(p, n, c->is.is, want);
	if (rc < 0)
		return rc;
	*(bool *)((char *)p->bp + c->offset) = rc == 1;
	return 0;
}

int blueprint_read_filesystem(const struct blueprint_place *p,
			      const struct yaml_node *n)
{
	int rc = yaml_tree_want_map(p->tree, n, p->err);

	return rc == 0 ? blueprint_each(p, n, read_choice, NULL) : rc;
}

static const struct schema blocked_path_is = { .kind = SCHEMA_TEXT,
					       .pattern = "[^/].*",
					       .max = BLOCKED_BYTES_MAX };
const struct schema blueprint_blocked_is = { .kind = SCHEMA_LIST,
					     .item = &blocked_path_is,
					     .max = BLUEPRINT_BLOCKED_MAX };

static int read_blocked_path(const struct blueprint_place *p,
			     const struct yaml_node *n, void *arg)
{
	struct strv *to = arg;
	const char *text = NULL;
	int rc = yaml_tree_string(p->tree, n, &text, p->err);

	if (rc < 0)
		return rc;
	if (!blueprint_path_is_below(text, BLOCKED_BYTES_MAX))
		return yaml_tree_refuse(p->tree, n, p->err,
					"a blocked path is relative to "
					"the workspace and has no '..'");
	if (to->n == BLUEPRINT_BLOCKED_MAX)
		return blueprint_much(p, n, BLUEPRINT_BLOCKED_MAX,
				      "blocked paths");
	return strv_push(to, text) < 0 ? err_nomem(p->err) : 0;
}

int blueprint_read_blocked(const struct blueprint_place *p,
			   const struct yaml_node *n)
{
	struct strv *to = &p->bp->blocked_paths;

	strv_done(to);
	if (n->kind != YAML_LIST)
		return yaml_tree_refuse(p->tree, n, p->err,
					"blocked_paths must be a list, such as "
					"[.env, secrets]");
	return blueprint_each(p, n, read_blocked_path, to);
}
