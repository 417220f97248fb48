/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known_test.c - whether there is anything at a path that the user named
 */
#include "control/cli/layer/known.h"

#include "tests/unit/control/cli/layer/world.h"

/* Runs git in the user's directory. */
static bool git(struct world *w, const char *args)
{
	SCOPED_STR line = str_printf("git -C %s -c user.name=u "
				     "-c user.email=u@example.org %s >&2",
				     w->user, args);

	return line && system(line) == 0;
}

static void test_all(void)
{
	static const struct {
		const char *path;
		int known;
	} rows[] = {
		{ "made", 1 },       { "made/in", 1 },   { "made/no", 0 },
		{ "gone", 1 },       { "gone/any", 1 },  { "here", 1 },
		{ "here/no", 0 },    { "dir/file", 1 },  { "dir", 1 },
		{ "dir/no", 0 },     { "link", 1 },      { "link/file", 1 },
		{ ".git/hooks", 1 }, { "tracked", 1 },   { "sub/tracked", 1 },
		{ "sub", 1 },        { "sub/no", 0 },    { "*", 0 },
		{ ":/", 0 },         { "untracked", 0 }, { "no", 0 },
	};
	struct err err = { 0 };
	struct world w;

	if (!ok(world_begin(&w), "a directory"))
		return;
	world_write(&w, "here", "x", 0644);
	world_mkdir(&w, "dir");
	world_write(&w, "dir/file", "x", 0644);
	world_mkdir(&w, "sub");
	world_write(&w, "sub/tracked", "x", 0644);
	world_write(&w, "tracked", "x", 0644);
	ok(symlinkat("dir", w.root, "link") == 0, "a link");
	ok(git(&w, "init -q") && git(&w, "add -A") &&
		   git(&w, "commit -qm first") && git(&w, "rm -qr tracked sub"),
	   "a commit, and what it had is deleted");
	world_dir(&w, ".git", false);
	world_file(&w, ".git/config", "x");
	world_dir(&w, "made", false);
	world_file(&w, "made/in", "x");
	world_gone(&w, "gone");
	is_int(world_plan(&w, false, &err), 0, "changes %s", err.msg);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		is_int(known_path(&w.stage, w.root, rows[i].path),
		       rows[i].known, "%s", rows[i].path);
	world_end(&w);
}

/* Without a repository only what is there counts. */
static void test_no_git(void)
{
	struct err err = { 0 };
	struct world w;

	if (!ok(world_begin(&w), "a directory"))
		return;
	world_write(&w, "here", "x", 0644);
	is_int(world_plan(&w, false, &err), 0, "no changes");
	is_int(known_path(&w.stage, w.root, "here"), 1, "a file");
	is_int(known_path(&w.stage, w.root, "no"), 0, "and none");
	is_int(known_path(&w.stage, w.root, ".git"), 0, "nor a .git");
	world_end(&w);
}

int main(void)
{
	test_all();
	test_no_git();
	return done_testing();
}
