/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge_world.h - a user's repository, and merges in it, with the machine's git
 */
#ifndef TESTS_UNIT_CONTROL_CLI_LAYER_MERGE_WORLD_H
#define TESTS_UNIT_CONTROL_CLI_LAYER_MERGE_WORLD_H

#include "control/cli/layer/base_look.h"
#include "control/cli/layer/merge.h"
#include "lib/proc.h"
#include "tests/unit/control/cli/layer/world.h"

#define FOUR "1\n2\n3\n4\n5\n6\n"
#define OURS "ours\n2\n3\n4\n5\n6\n"
#define THEIRS "1\n2\n3\n4\n5\ntheirs\n"
#define BOTH "ours\n2\n3\n4\n5\ntheirs\n"

/* Runs a script in the user's directory. */
static inline bool sh(struct world *w, const char *script)
{
	const char *const argv[] = { "sh", "-ec", script, NULL };
	const struct proc_opts opts = { .argv = argv,
					.cwd = w->user,
					.fd = { -1, -1, 2 } };
	struct err err = { 0 };
	int rc = proc_run(&opts, &err);

	if (rc != 0)
		printf("# %d %s: %s\n", rc, err.msg, script);
	return rc == 0;
}

/* The tests may be run by a git, whose variables (rebase --exec, a hook)
 * name another repository: the scripts would change that one. */
static inline void forget_git(void)
{
	static const char *const names[] = {
		"GIT_DIR",
		"GIT_WORK_TREE",
		"GIT_INDEX_FILE",
		"GIT_COMMON_DIR",
		"GIT_OBJECT_DIRECTORY",
		"GIT_PREFIX",
		"GIT_CONFIG",
		"GIT_CONFIG_COUNT",
		"GIT_NAMESPACE",
		"GIT_REFLOG_ACTION",
		"GIT_CONFIG_PARAMETERS",
		"GIT_ALTERNATE_OBJECT_DIRECTORIES",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		unsetenv(names[i]);
}

static inline bool git_begin(struct world *w)
{
	setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
	setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	return world_begin(w) && sh(w, "git init -q .");
}

static inline bool commit(struct world *w)
{
	return sh(w, "git add -A; git -c user.name=a -c user.email=a@b.c "
		     "commit -qm x");
}

/* What a start does: looks, and begins the layer. Returns the look's result. */
static inline int start(struct world *w)
{
	SCOPED_BASE b = { .prefix = NULL };
	SCOPED_FD root = open(w->user, O_PATH | O_DIRECTORY | O_CLOEXEC);
	SCOPED_FD dir = -1;
	int rc = base_look_now(w->top, root, NULL, NULL, &b);

	world_since(w);
	if (mkdir(w->state, 0700) < 0 && errno != EEXIST)
		return -errno;
	dir = open(w->state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return rc < 0 ? rc : base_save(&b, dir, &w->key);
}

/* Plans, merges, and applies if @apply. */
static inline int merge_go(struct world *w, bool apply)
{
	struct err err = { 0 };
	int rc = world_plan(w, false, &err);

	if (rc == 0)
		rc = merge_plan(&w->input, &w->plan, &w->stage, "bob", &err);
	if (rc == 0 && apply)
		rc = world_apply(w, &err);
	if (rc < 0)
		printf("# %s\n", err.msg);
	return rc;
}

static inline const char *word(struct world *w, const char *path)
{
	const struct plan_item *p = world_item(w, path);
	const char *text = p ? plan_merge_word(p) : NULL;

	return !p ? "(none)" : text ? text : plan_why_word(p->why);
}

#endif
