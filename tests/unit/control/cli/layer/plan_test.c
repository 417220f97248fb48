/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_test.c - what is the same, what is applied, and what is a conflict
 */
#include "control/cli/layer/plan.h"

#include "tests/unit/control/cli/layer/world.h"

static void want(struct world *w, const char *path, enum plan_kind kind,
		 enum plan_why why)
{
	const struct plan_item *p = world_item(w, path);

	if (!ok(p != NULL, "%s is planned", path))
		return;
	is_str(plan_kind_word(p->kind), plan_kind_word(kind), "%s", path);
	is_str(plan_why_word(p->why), plan_why_word(why), "%s", path);
}

static void test_files(void)
{
	struct err err = { 0 };
	struct world w;

	if (!ok(world_begin(&w), "a directory"))
		return;
	world_write(&w, "same", "x", 0644);
	world_write(&w, "old", "x", 0644);
	world_write(&w, "edited", "x", 0644);
	world_write(&w, "edited_gone", "x", 0644);
	world_write(&w, "gone", "x", 0644);
	world_write(&w, "mode", "x", 0644);
	world_write(&w, "made_again", "x", 0644);
	world_since(&w);
	world_write(&w, "edited", "mine", 0644);
	world_write(&w, "edited_same", "both", 0644);
	world_write(&w, "edited_gone", "mine", 0644);
	world_write(&w, "both", "mine", 0644);
	world_file(&w, "same", "x");
	world_file(&w, "old", "y");
	world_file(&w, "edited", "y");
	world_file(&w, "edited_same", "both");
	world_file(&w, "both", "y");
	world_file(&w, "new", "y");
	world_file(&w, "deleted_here", "y");
	world_file(&w, "made_again", "y");
	world_gone(&w, "gone");
	world_gone(&w, "edited_gone");
	world_gone(&w, "gone_both");
	{
		struct change c = world_change(CHANGE_FILE, "mode");

		c.mode = 04755;
		world_put(&w, &c, "x");
		c = world_change(CHANGE_OTHER, "fifo");
		world_put(&w, &c, "");
	}
	is_int(world_plan(&w, false, &err), 0, "a plan %s", err.msg);
	want(&w, "same", PLAN_SAME, PLAN_FREE);
	want(&w, "old", PLAN_CHANGED, PLAN_FREE);
	want(&w, "edited", PLAN_CHANGED, PLAN_EDITED);
	want(&w, "edited_same", PLAN_SAME, PLAN_FREE);
	want(&w, "both", PLAN_CHANGED, PLAN_EDITED);
	want(&w, "new", PLAN_NEW, PLAN_FREE);
	want(&w, "deleted_here", PLAN_NEW, PLAN_FREE);
	want(&w, "made_again", PLAN_CHANGED, PLAN_FREE);
	want(&w, "gone", PLAN_DELETED, PLAN_FREE);
	want(&w, "edited_gone", PLAN_DELETED, PLAN_EDITED);
	want(&w, "gone_both", PLAN_SAME, PLAN_FREE);
	want(&w, "mode", PLAN_CHANGED, PLAN_FREE);
	want(&w, "fifo", PLAN_LEFT_OUT, PLAN_FREE);
	is_int(w.plan.conflicts, 3, "conflicts are counted");
	world_end(&w);
}

static void test_risky(void)
{
	struct change c = world_change(CHANGE_FILE, "mode");
	struct err err = { 0 };
	struct world w;

	if (!ok(world_begin(&w), "a directory"))
		return;
	world_write(&w, "mode", "x", 0644);
	world_write(&w, "runs", "x", 0755);
	world_write(&w, "same", "x", 0755);
	world_file(&w, "plain", "x");
	c.mode = 0755;
	world_put(&w, &c, "x");
	c.path = slice_str("runs");
	world_put(&w, &c, "y");
	c.path = slice_str("same");
	world_put(&w, &c, "x");
	is_int(world_plan(&w, false, &err), 0, "a plan %s", err.msg);
	ok(world_item(&w, "mode") && world_item(&w, "mode")->risky,
	   "what can be executed now is named");
	ok(world_item(&w, "runs") && world_item(&w, "runs")->risky,
	   "and what could be before, and is another one now");
	is_int(w.plan.risky, 2, "but no other file");
	world_end(&w);
}

static void user_moves(struct world *w, const char *from, const char *to)
{
	SCOPED_STR a = world_path(w, from);
	SCOPED_STR b = world_path(w, to);

	ok(a && b && rename(a, b) == 0, "%s is moved to %s", from, to);
}

static void test_kinds(void)
{
	struct err err = { 0 };
	struct world w;
	SCOPED_STR fifo = NULL;
	SCOPED_STR link = NULL;

	if (!ok(world_begin(&w), "a directory"))
		return;
	fifo = world_path(&w, "fifo");
	link = world_path(&w, "way");
	world_write(&w, "file", "x", 0644);
	world_mkdir(&w, "dir/sub");
	world_write(&w, "dir/sub/f", "x", 0644);
	world_mkdir(&w, "repo/.GIT");
	world_write(&w, "repo/.GIT/config", "x", 0644);
	world_mkdir(&w, "edited");
	world_write(&w, "edited/f", "x", 0644);
	world_mkdir(&w, "kept");
	world_mkdir(&w, "hidden");
	world_mkdir(&w, "else/old");
	world_write(&w, "else/old/f", "x", 0644);
	world_mkdir(&w, "else/older");
	world_write(&w, "else/older/f", "x", 0644);
	if (fifo && link &&
	    (mkfifo(fifo, 0644) < 0 || symlink("/etc", link) < 0))
		printf("# no FIFO\n");
	world_since(&w);
	world_write(&w, "edited/f", "y", 0644);
	user_moves(&w, "else/old", "kept/old");
	user_moves(&w, "else/older", "hidden/older");
	world_gone(&w, "kept");
	world_dir(&w, "hidden", true);
	world_dir(&w, "file", true);
	world_file(&w, "file/in", "y");
	world_file(&w, "dir", "y");
	world_file(&w, "fifo", "y");
	world_file(&w, "way/passwd", "y");
	world_gone(&w, "repo");
	world_gone(&w, "edited");
	is_int(world_plan(&w, true, &err), 0, "a plan %s", err.msg);
	want(&w, "file", PLAN_TYPE, PLAN_FREE);
	want(&w, "file/in", PLAN_NEW, PLAN_FREE);
	want(&w, "dir", PLAN_TYPE, PLAN_FREE);
	want(&w, "fifo", PLAN_TYPE, PLAN_SPECIAL);
	want(&w, "way/passwd", PLAN_NEW, PLAN_WAY);
	want(&w, "repo", PLAN_DELETED, PLAN_GIT);
	want(&w, "edited", PLAN_DELETED, PLAN_INSIDE);
	want(&w, "kept", PLAN_DELETED, PLAN_INSIDE);
	ok(!world_item(&w, "hidden/older") && !world_item(&w, "hidden/older/f"),
	   "what the user has moved into a directory is the user's, however "
	   "old");
	ok(world_item(&w, "edited") && world_item(&w, "edited")->theirs,
	   "--theirs decides what is edited");
	ok(world_item(&w, "repo") && !world_item(&w, "repo")->theirs,
	   "but deletes no .git");
	ok(world_item(&w, "fifo") && !world_item(&w, "fifo")->theirs,
	   "and replaces no FIFO");
	world_end(&w);
}

/* The user puts another directory into the place of one: all in it is older than the
 * layer. */
static void test_moved(void)
{
	struct err err = { 0 };
	struct world w;

	if (!ok(world_begin(&w), "a directory"))
		return;
	for (int i = 0; i < 2; i++) {
		world_mkdir(&w, i ? "src2/sub" : "src/sub");
		world_write(&w, i ? "src2/f" : "src/f", "x", 0644);
		world_write(&w, i ? "src2/sub/f" : "src/sub/f", "x", 0644);
		world_write(&w, i ? "src2/gone" : "src/gone", "x", 0644);
	}
	world_mkdir(&w, "keep");
	world_write(&w, "keep/f", "x", 0644);
	world_since(&w);
	user_moves(&w, "src", "src.old");
	user_moves(&w, "src2", "src");
	world_file(&w, "src/f", "y");
	world_file(&w, "src/sub/f", "y");
	world_file(&w, "src/new", "y");
	world_gone(&w, "src/gone");
	world_file(&w, "keep/f", "y");
	is_int(world_plan(&w, false, &err), 0, "a plan %s", err.msg);
	want(&w, "src/f", PLAN_CHANGED, PLAN_EDITED);
	want(&w, "src/sub/f", PLAN_CHANGED, PLAN_EDITED);
	want(&w, "src/gone", PLAN_DELETED, PLAN_EDITED);
	want(&w, "src/new", PLAN_NEW, PLAN_FREE);
	want(&w, "keep/f", PLAN_CHANGED, PLAN_FREE);
	is_int(world_apply(&w, &err), 0, "the rest is applied %s", err.msg);
	world_unplan(&w);
	world_file(&w, "src/f", "y");
	world_file(&w, "keep/f", "z");
	is_int(world_plan(&w, false, &err), 0, "a plan %s", err.msg);
	want(&w, "keep/f", PLAN_CHANGED, PLAN_FREE);
	world_end(&w);
}

static void test_git(void)
{
	static const char *const names[] = {
		".git",   ".git/hooks/x", "a/.GIT/config",
		"a/.giT", "b/git~1/x",    ".git. /x",
	};
	struct err err = { 0 };
	struct world w;

	if (!ok(world_begin(&w), "a directory"))
		return;
	for (size_t i = 1; i < ARRAY_SIZE(names); i++)
		world_file(&w, names[i], "y");
	world_file(&w, "a/.github", "y");
	world_file(&w, ".gitignore", "y");
	is_int(world_plan(&w, false, &err), 0, "a plan %s", err.msg);
	is_int(w.stage.set.git, 5, "what is in a .git is counted");
	is_int(w.plan.n, 2, "and in no plan");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		ok(layer_path_is_git(names[i]), "%s", names[i]);
	ok(!layer_path_is_git("a.git/x"), "a.git is another name");
	world_end(&w);
}

static void test_opaque(void)
{
	struct err err = { 0 };
	struct world w;

	if (!ok(world_begin(&w), "a directory"))
		return;
	world_mkdir(&w, "d/sub/deep");
	world_write(&w, "d/a", "x", 0644);
	world_write(&w, "d/keep", "x", 0644);
	world_write(&w, "d/sub/f", "x", 0644);
	world_write(&w, "d/sub/deep/f", "x", 0644);
	world_since(&w);
	world_write(&w, "d/later", "x", 0644);
	world_dir(&w, "d", true);
	world_file(&w, "d/keep", "x");
	world_dir(&w, "d/sub", false);
	world_file(&w, "d/sub/f", "y");
	is_int(world_plan(&w, false, &err), 0, "a plan %s", err.msg);
	want(&w, "d/a", PLAN_DELETED, PLAN_FREE);
	want(&w, "d/keep", PLAN_SAME, PLAN_FREE);
	want(&w, "d/sub/f", PLAN_CHANGED, PLAN_FREE);
	want(&w, "d/sub/deep", PLAN_DELETED, PLAN_FREE);
	ok(!world_item(&w, "d/later") ||
		   world_item(&w, "d/later")->why != PLAN_FREE,
	   "what the user has made since is not deleted");
	if (world_apply(&w, &err) == 0) {
		is_str(world_read(&w, "d/sub/deep"), "(none)", "all is gone");
		is_str(world_read(&w, "d/later"), "x", "but the new one");
	}
	world_end(&w);
}

/* The archive tells again of what an earlier apply has made. */
static void test_twice(void)
{
	struct world w;

	if (!ok(world_begin(&w), "a directory"))
		return;
	world_since(&w);
	for (int i = 0; i < 3; i++) {
		world_file(&w, "added", i == 2 ? "2" : "1");
		world_dir(&w, "made", true);
		if (i == 0)
			world_file(&w, "made/short", "s");
		is_int(world_go(&w, false), 0, "apply %d", i);
		is_str(world_read(&w, "added"), i == 2 ? "2" : "1",
		       "what is new");
		is_str(world_read(&w, "made/short"), i ? "(none)" : "s",
		       "what the agent has made and deleted again goes");
		world_write(&w, "made/mine", "m", 0644);
	}
	is_str(world_read(&w, "made/mine"), "m", "the user's stays");
	world_end(&w);
}

static void test_refused(void)
{
	struct err err = { 0 };
	struct world w;

	if (!ok(world_begin(&w), "a directory"))
		return;
	world_file(&w, "a", "y");
	world_file(&w, "a", "z");
	is_int(world_plan(&w, false, &err), -EBADMSG, "a path twice");
	world_unplan(&w);
	world_link(&w, "a", "/etc");
	world_file(&w, "a/passwd", "z");
	is_int(world_plan(&w, false, &err), -EBADMSG, "a path below a link");
	world_end(&w);
}

static void test_select(void)
{
	static const char *const only[] = { "b", "c/d" };
	struct layer_set set = { 0 };
	int rc = 0;

	for (const char *const *p =
		     (const char *const[]){ "a", "b", "b/x", "bb", "c", "c/d",
					    "c/e", NULL };
	     *p; p++) {
		struct change c = world_change(CHANGE_DIR, *p);

		if (!layer_set_add(&set, &c, &rc))
			printf("# %d\n", rc);
	}
	is_int(layer_set_sort(&set), 0, "a set");
	layer_set_select(&set, only, 2);
	is_int(set.n, 4, "these, what is below, and directories above");
	ok(layer_set_find(&set, "b/x") && layer_set_find(&set, "c") &&
		   !layer_set_find(&set, "bb"),
	   "a name that begins so is another");
	ok(layer_path_compare("a/b", "a-b") < 0 &&
		   layer_path_compare("a", "a/b") < 0,
	   "what is below a directory follows it");
	layer_set_done(&set);
}

int main(void)
{
	test_files();
	test_risky();
	test_kinds();
	test_moved();
	test_git();
	test_opaque();
	test_twice();
	test_refused();
	test_select();
	return done_testing();
}
