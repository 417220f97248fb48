/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge_test.c - files that the user and the agent have both changed, with the
 * machine's git
 */
#include "control/cli/layer/merge.h"

#include <sys/wait.h>

#include "tests/unit/control/cli/layer/merge_world.h"

/* ---- what is merged ---- */

/* A file at the start, and as both make it. */
static const struct row {
	const char *what, *path, *base, *ours, *theirs, *word, *result;
} rows[] = {
	{ "different lines", "clean", FOUR, OURS, THEIRS, "clean", BOTH },
	{ "the same line", "marked", "a\n", "ours\n", "theirs\n", "conflicts",
	  "<<<<<<< yours\nours\n=======\ntheirs\n>>>>>>> ac/bob\n" },
	{ "no newline at the end", "end", "1\n2\n3\n4", "0\n2\n3\n4",
	  "1\n2\n3\n5", "clean", "0\n2\n3\n5" },
	{ "the agent's is in the user's", "in", FOUR, BOTH, THEIRS, "clean",
	  BOTH },
	{ "a name of odd bytes", ":(top)na\nme \xff*[a]", FOUR, OURS, THEIRS,
	  "clean", BOTH },
	{ "a name like an option", "-p", FOUR, OURS, THEIRS, "clean", BOTH },
	{ "CRLF in all", "crlf", "1\r\n2\r\n3\r\n4\r\n", "0\r\n2\r\n3\r\n4\r\n",
	  "1\r\n2\r\n3\r\n5\r\n", "clean", "0\r\n2\r\n3\r\n5\r\n" },
	{ "LF in git, CRLF on the disk of both", "auto", FOUR,
	  "ours\r\n2\r\n3\r\n4\r\n5\r\n6\r\n",
	  "1\r\n2\r\n3\r\n4\r\n5\r\ntheirs\r\n", "clean",
	  "ours\r\n2\r\n3\r\n4\r\n5\r\ntheirs\r\n" },
	{ "other ends of lines", "ends", FOUR,
	  "ours\r\n2\r\n3\r\n4\r\n5\r\n6\r\n", THEIRS, "edited",
	  "ours\r\n2\r\n3\r\n4\r\n5\r\n6\r\n" },
	{ "mixed ends of lines", "mixed", FOUR, "ours\n2\r\n3\n4\r\n5\n6\n",
	  THEIRS, "edited", "ours\n2\r\n3\n4\r\n5\n6\n" },
};

static void test_rows(void)
{
	struct world w;

	if (!ok(git_begin(&w), "a repository"))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		world_write(&w, rows[i].path, rows[i].base, 0644);
	ok(commit(&w), "a commit");
	is_int(start(&w), 0, "a start");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		world_write(&w, rows[i].path, rows[i].ours, 0644);
		world_file(&w, rows[i].path, rows[i].theirs);
	}
	is_int(merge_go(&w, true), 0, "merged and applied");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		is_str(word(&w, rows[i].path), rows[i].word, "%s",
		       rows[i].what);
		is_str(world_read(&w, rows[i].path), rows[i].result, "%s",
		       rows[i].what);
	}
	is_int(w.plan.merged, 7, "merged are counted");
	is_int(w.plan.marked, 1, "and those with conflicts");
	is_int(w.plan.conflicts, 2, "and the rest");
	is_str(world_read(&w, "mixed.ac-bob"), THEIRS,
	       "the rest is put beside");
	is_str(world_read(&w, "marked.ac-bob"), "(none)",
	       "but not what is merged");
	world_end(&w);
}

/* ---- what has no base ---- */

static void test_no_base(void)
{
	static const char *const paths[] = { "dirty",  "staged",  "untracked",
					     "filter", "assumed", "id",
					     "link",   "gone",    "binary",
					     "sub/x" };
	SCOPED_STR link = NULL;
	struct world w;

	if (!ok(git_begin(&w), "a repository"))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (strcmp(paths[i], "untracked") != 0 &&
		    strcmp(paths[i], "sub/x") != 0 &&
		    strcmp(paths[i], "link") != 0)
			world_write(&w, paths[i], FOUR, 0644);
	link = world_path(&w, "link");
	ok(link && symlink("clean", link) == 0, "a link");
	world_write(&w, "clean", FOUR, 0644);
	world_write(&w, ".gitattributes", "id ident\n", 0644);
	ok(sh(&w, "git init -q sub; cd sub; echo x >x; git add x; "
		  "git -c user.name=a -c user.email=a@b.c commit -qm x"),
	   "a submodule");
	ok(commit(&w), "a commit");
	world_write(&w, "dirty", "was dirty\n2\n3\n4\n5\n6\n", 0644);
	world_write(&w, "staged", "was staged\n2\n3\n4\n5\n6\n", 0644);
	world_write(&w, "untracked", FOUR, 0644);
	world_write(&w, "assumed", "was changed\n2\n3\n4\n5\n6\n", 0644);
	ok(sh(&w, "git add staged; git update-index --assume-unchanged "
		  "assumed; echo 'filter filter=evil' >.git/info/attributes; "
		  "git config filter.evil.clean 'touch ran; cat'; "
		  "git config filter.evil.smudge 'touch ran; cat'; "
		  "git config core.fsmonitor 'touch ran'; touch filter; "
		  "printf '#!/bin/sh\\ntouch ran\\n' "
		  ">.git/hooks/post-index-change; "
		  "chmod +x .git/hooks/post-index-change"),
	   "traps");
	is_int(start(&w), 0, "a start");
	ok(unlink(link) == 0, "no link");
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		world_write(&w, paths[i], OURS, 0644);
		if (strcmp(paths[i], "gone") == 0)
			world_gone(&w, paths[i]);
		else
			world_file(&w, paths[i], THEIRS);
	}
	ok(sh(&w, "printf 'a\\0b' >binary"), "a file with a NUL");
	world_write(&w, "clean", OURS, 0644);
	world_file(&w, "clean", THEIRS);
	is_int(merge_go(&w, false), 0, "merged");
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		is_str(word(&w, paths[i]), "edited", "%s", paths[i]);
	is_str(word(&w, "clean"), "clean", "a file that has one");
	is_str(world_read(&w, "ran"), "(none)", "nothing of theirs was run");
	world_end(&w);
}

/* Returns true if both are one file with the same bytes and times. */
static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* git would write the index again, since it has other times of the files. */
static void test_index(void)
{
	struct stat before, after, then;
	SCOPED_STR index = NULL;
	struct world w;

	if (!ok(git_begin(&w), "a repository"))
		return;
	world_write(&w, "touched", FOUR, 0644);
	world_write(&w, "dir\tty\n", FOUR, 0644);
	world_write(&w, "mode", FOUR, 0644);
	ok(commit(&w), "a commit");
	world_write(&w, "dir\tty\n", "was dirty\n2\n3\n4\n5\n6\n", 0644);
	ok(sh(&w, "touch -d '1 hour ago' touched; chmod +x mode; "
		  "cp .git/index ../index"),
	   "other times");
	index = world_path(&w, ".git/index");
	ok(index && stat(index, &before) == 0, "the index");
	is_int(start(&w), 0, "a start");
	ok(index && stat(index, &after) == 0 && same_file(&before, &after),
	   "the index is the same file");
	ok(sh(&w, "cmp .git/index ../index"), "with the same bytes");
	ok(sh(&w, "git diff --numstat >../counts") && index &&
		   stat(index, &then) == 0 && !same_file(&after, &then),
	   "which a diff of the user's does refresh");
	world_write(&w, "touched", OURS, 0644);
	world_write(&w, "dir\tty\n", OURS, 0644);
	world_write(&w, "mode", OURS, 0755);
	world_file(&w, "touched", THEIRS);
	world_file(&w, "dir\tty\n", THEIRS);
	world_file(&w, "mode", THEIRS);
	is_int(merge_go(&w, false), 0, "merged");
	is_str(word(&w, "touched"), "clean", "other times are no change");
	is_str(word(&w, "dir\tty\n"), "edited", "other lines are one");
	is_str(word(&w, "mode"), "edited", "and so is another mode");
	world_end(&w);
}

/* What is lost of our own repository is made again. */
static void test_repository(void)
{
	static const char *const lost[] = { "HEAD", "refs", "config", "../1" };
	struct world w;

	if (!ok(git_begin(&w), "a repository"))
		return;
	world_write(&w, "a", FOUR, 0644);
	ok(commit(&w), "a commit");
	is_int(start(&w), 0, "a start");
	for (size_t i = 0; i < ARRAY_SIZE(lost); i++) {
		SCOPED_STR at = str_printf("%s/git/1/%s", w.top, lost[i]);

		ok(at && access(at, F_OK) == 0 && file_remove_tree(at) == 0,
		   "%s is lost", lost[i]);
		is_int(start(&w), 0, "a start without it");
	}
	world_end(&w);
}

static void test_no_git(void)
{
	struct world w;

	if (!ok(world_begin(&w), "a directory"))
		return;
	world_write(&w, "a", FOUR, 0644);
	is_int(start(&w), -ENOENT, "no repository");
	world_write(&w, "a", OURS, 0644);
	world_file(&w, "a", THEIRS);
	is_int(merge_go(&w, true), 0, "is no failure");
	is_str(world_read(&w, "a"), OURS, "the user's stays");
	is_str(world_read(&w, "a.ac-bob"), THEIRS, "both are kept");
	world_end(&w);
}

/* The directory is a part of a work tree, which has moved since. */
static void test_below(void)
{
	struct world w;

	if (!ok(world_begin(&w), "a directory"))
		return;
	world_write(&w, "a", FOUR, 0644);
	ok(sh(&w, "cd ..; git init -q .; echo apply >.gitignore; git add user; "
		  "git -c user.name=a -c user.email=a@b.c commit -qm x"),
	   "a repository above");
	is_int(start(&w), 0, "a start");
	ok(sh(&w, "cd ..; git mv user other; "
		  "git -c user.name=a -c user.email=a@b.c commit -qm y"),
	   "the directory is moved");
	snprintf(w.user, sizeof(w.user), "%s/other", w.top);
	world_write(&w, "a", OURS, 0644);
	world_file(&w, "a", THEIRS);
	is_int(merge_go(&w, true), 0, "merged");
	is_str(world_read(&w, "a"), BOTH, "with the file of the commit");
	world_end(&w);
}

/* ---- again ---- */

/* The user has decided about what was brought: that is the next base. */
static void test_again(void)
{
	struct world w;

	if (!ok(git_begin(&w), "a repository"))
		return;
	world_write(&w, "a", FOUR, 0644);
	world_write(&w, "other", "x", 0644);
	ok(commit(&w), "a commit");
	is_int(start(&w), 0, "a start");
	world_write(&w, "a", OURS, 0644);
	world_file(&w, "a", THEIRS);
	is_int(merge_go(&w, true), 0, "merged");
	is_str(world_read(&w, "a"), BOTH, "both");
	world_unplan(&w);
	world_file(&w, "a", THEIRS);
	is_int(merge_go(&w, false), 0, "the same again");
	is_str(word(&w, "a"), "", "is nothing");
	is_str(world_read(&w, "a"), BOTH, "to be done");
	world_unplan(&w);
	/* The user takes the agent's line out, the agent changes another. */
	world_write(&w, "a", OURS, 0644);
	world_file(&w, "a", "1\n2\n3\nmore\n5\ntheirs\n");
	is_int(merge_go(&w, true), 0, "merged");
	is_str(word(&w, "a"), "clean", "with what was brought as the base");
	is_str(world_read(&w, "a"), "ours\n2\n3\nmore\n5\n6\n",
	       "so the line stays out");
	world_unplan(&w);
	is_int(world_last(&w, true), 0, "taken back");
	is_str(world_read(&w, "a"), OURS, "to the user's");
	world_file(&w, "a", "more\n2\n3\n4\n5\ntheirs\n");
	is_int(merge_go(&w, true), 0, "and again");
	is_str(word(&w, "a"), "edited",
	       "not merged: what was brought before is not kept any more");
	is_str(world_read(&w, "a"), OURS, "so it stays");
	world_end(&w);
}

static void test_committed(void)
{
	struct world w;

	if (!ok(git_begin(&w), "a repository"))
		return;
	world_write(&w, "a", FOUR, 0644);
	world_write(&w, "other", "x", 0644);
	ok(commit(&w), "a commit");
	is_int(start(&w), 0, "a start");
	world_file(&w, "a", THEIRS);
	is_int(world_go(&w, false), 0, "applied");
	is_str(world_read(&w, "a"), THEIRS, "the agent's");
	ok(commit(&w), "and committed");
	world_file(&w, "a", THEIRS);
	world_file(&w, "other", "y");
	is_int(world_go(&w, false), 0, "another apply");
	world_write(&w, "a", OURS, 0644);
	world_file(&w, "a", "1\n2\n3\n4\nmore\ntheirs\n");
	is_int(merge_go(&w, true), 0, "what was committed");
	is_str(word(&w, "a"), "conflicts", "is the base");
	world_end(&w);
}

static void test_modes(void)
{
	static const struct {
		const char *path;
		mode_t base, ours, theirs, result;
	} modes[] = {
		{ "a", 0644, 0644, 0755, 0755 },
		{ "b", 0755, 0644, 0755, 0644 },
		{ "c", 0755, 0755, 0644, 0644 },
		{ "d", 0644, 0755, 0644, 0755 },
	};
	struct world w;

	if (!ok(git_begin(&w), "a repository"))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		world_write(&w, modes[i].path, FOUR, modes[i].base);
	ok(commit(&w), "a commit");
	is_int(start(&w), 0, "a start");
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		struct change c = world_change(CHANGE_FILE, modes[i].path);

		c.mode = modes[i].theirs;
		world_write(&w, modes[i].path, OURS, modes[i].ours);
		world_put(&w, &c, THEIRS);
	}
	is_int(merge_go(&w, true), 0, "merged");
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		is_str(world_read(&w, modes[i].path), BOTH, "both");
		is_int(world_mode(&w, modes[i].path), modes[i].result,
		       "%s: who has changed the mode", modes[i].path);
	}
	world_end(&w);
}

/* A file that the user changes once more after it was merged. */
static void test_late(void)
{
	struct err err = { 0 };
	struct world w;

	if (!ok(git_begin(&w), "a repository"))
		return;
	world_write(&w, "a", FOUR, 0644);
	ok(commit(&w), "a commit");
	is_int(start(&w), 0, "a start");
	world_write(&w, "a", OURS, 0644);
	world_file(&w, "a", THEIRS);
	is_int(merge_go(&w, false), 0, "merged");
	world_write(&w, "a", "late\n", 0644);
	is_int(world_apply(&w, &err), -EAGAIN, "%s", err.msg);
	is_str(world_read(&w, "a"), "late\n", "the user's stays");
	world_end(&w);
}

/* ---- the process beside a start ---- */

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Returns true when the file is there, within some seconds. */
static bool appears(const char *path)
{
	const struct timespec wait = { .tv_nsec = 10000000 };

	for (int i = 0; i < 1000; i++) {
		if (access(path, F_OK) == 0)
			return true;
		nanosleep(&wait, NULL);
	}
	return false;
}

static void test_process(void)
{
	struct base_look look = BASE_LOOK_NONE;
	struct layer_key key = { .dev = 1, .ino = 2 };
	SCOPED_BASE b = { .prefix = NULL };
	SCOPED_STR at = NULL;
	SCOPED_FD dir = -1;
	struct cli cli = { 0 };
	struct world w;

	if (!ok(git_begin(&w), "a repository"))
		return;
	cli.home = w.top;
	world_write(&w, "a", FOUR, 0644);
	ok(commit(&w), "a commit");
	world_write(&w, "dirty", FOUR, 0644);
	ok(sh(&w, "git add dirty; mkdir -p ../instances/bob"), "an instance");
	at = str_printf("%s/instances/bob/apply", w.top);
	/* A layer that was begun before. */
	key.since = now_ns();
	base_look_begin(&cli, w.root, &look);
	base_look_keep(&look, "bob", &key);
	/* Nothing is kept for this one. */
	base_look_begin(&cli, w.root, &look);
	base_look_done(&look);
	base_look_begin(&cli, w.root, &look);
	key.since = now_ns() + 1000000000;
	base_look_keep(&look, "bob", &key);
	ok(at && appears(at), "a directory");
	free(at);
	at = str_printf("%s/instances/bob/apply/base", w.top);
	ok(at && appears(at), "with what it found");
	free(at);
	at = str_printf("%s/instances/bob/apply", w.top);
	dir = open(at ? at : "", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	is_int(base_load(dir, &key, &b), 0, "which is read");
	ok(base_has(&b, "a"), "a clean file");
	ok(!base_has(&b, "dirty"), "and one that is not");
	world_end(&w);
}

int main(void)
{
	if (access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 0);
	forget_git();
	test_rows();
	test_no_base();
	test_index();
	test_repository();
	test_no_git();
	test_below();
	test_again();
	test_committed();
	test_modes();
	test_late();
	test_process();
	return done_testing();
}
