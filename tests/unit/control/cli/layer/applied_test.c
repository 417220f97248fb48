/* SPDX-License-Identifier: Apache-2.0 */
/*
 * applied_test.c - an apply: whole, killed anywhere, finished, taken back
 */
#include "control/cli/layer/applied.h"

#include <signal.h>
#include <sys/wait.h>

#include "tests/unit/control/cli/layer/world.h"

/* A directory with one of each change. */
static const struct row {
	const char *path, *before, *after;
} rows[] = {
	{ "same", "s", "s" },
	{ "changed", "old", "new" },
	{ "gone", "old", "(none)" },
	{ "dir/gone", "old", "(none)" },
	{ "dir", "(dir)", "(none)" },
	{ "made", "(none)", "new" },
	{ "deep/down/made", "(none)", "new" },
	{ "to_dir", "old", "(dir)" },
	{ "to_dir/in", "(none)", "new" },
	{ "to_file", "(dir)", "new" },
	{ "to_file/sub/f", "old", "(none)" },
	{ "to_link", "old", "-> /etc/passwd" },
	{ "link", "-> before", "-> after" },
	{ "from_link", "-> before", "new" },
	{ "na\nme \x1b[31m\xff", "(none)", "new" },
	{ "empty", "old", "" },
	{ "merged", "yours", "both" },
};

static void fill(struct world *w)
{
	static const char *const links[] = { "link", "from_link" };

	world_mkdir(w, "dir");
	world_mkdir(w, "to_file/sub");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].before[0] != '(' && rows[i].before[0] != '-')
			world_write(w, rows[i].path, rows[i].before, 0644);
	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		SCOPED_STR at = world_path(w, links[i]);

		if (at && symlink("before", at) < 0)
			printf("# no link\n");
	}
}

static void change(struct world *w)
{
	world_file(w, "same", "s");
	world_file(w, "changed", "new");
	world_gone(w, "gone");
	world_gone(w, "dir");
	world_file(w, "made", "new");
	world_file(w, "deep/down/made", "new");
	world_dir(w, "to_dir", true);
	world_file(w, "to_dir/in", "new");
	world_file(w, "to_file", "new");
	world_link(w, "to_link", "/etc/passwd");
	world_link(w, "link", "after");
	world_file(w, "from_link", "new");
	world_file(w, "na\nme \x1b[31m\xff", "new");
	world_file(w, "empty", "");
	world_file(w, "merged", "agent's");
}

/* The user has changed one since, and git has merged it. */
static void edit(struct world *w)
{
	world_write(w, "merged", "yours", 0644);
	w->merge = "merged";
	w->merge_text = "both";
}

/* Returns how many rows are as @after says. */
static size_t rows_are(struct world *w, bool after)
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		n += strcmp(world_read(w, rows[i].path),
			    after ? rows[i].after : rows[i].before) == 0;
	return n;
}

/* Returns true if no temporary name is left in @path. */
static int on_name(void *arg, const char *path, const struct spot *spot)
{
	(void)spot;
	*(bool *)arg |= strstr(path, ".ac-apply-") != NULL;
	return 0;
}

static bool is_clean(struct world *w)
{
	bool found = false;

	return tree_walk(w->root, "", 1000, on_name, &found) == 0 && !found;
}

static void test_whole(void)
{
	struct world w;

	if (!ok(world_begin(&w), "a directory"))
		return;
	fill(&w);
	world_since(&w);
	edit(&w);
	change(&w);
	is_int(world_go(&w, false), 0, "it is applied");
	is_int(rows_are(&w, true), ARRAY_SIZE(rows), "every path is new");
	ok(is_clean(&w), "no temporary name is left");
	change(&w);
	is_int(world_go(&w, false), 0, "again");
	is_int(rows_are(&w, true), ARRAY_SIZE(rows), "nothing is to be done");
	world_end(&w);
}

static void test_undo(void)
{
	struct world w;
	struct stat st;
	SCOPED_STR at = NULL;
	const struct timespec times[2] = { { 1000, 5 }, { 2000, 7 } };

	if (!ok(world_begin(&w), "a directory"))
		return;
	fill(&w);
	at = world_path(&w, "changed");
	if (!at || chmod(at, 0640) < 0 || utimensat(0, at, times, 0) < 0)
		printf("# no mode\n");
	world_since(&w);
	edit(&w);
	change(&w);
	is_int(world_go(&w, false), 0, "it is applied");
	is_int(world_mode(&w, "changed"), 0640, "the mode stays");
	is_int(world_last(&w, true), 0, "it is taken back");
	is_int(rows_are(&w, false), ARRAY_SIZE(rows), "every path is old");
	is_int(world_mode(&w, "changed"), 0640, "with its mode");
	ok(at && stat(at, &st) == 0 && st.st_mtim.tv_sec == 2000 &&
		   st.st_mtim.tv_nsec == 7,
	   "and its time");
	is_int(world_last(&w, true), -ENOENT, "only once");
	change(&w);
	is_int(world_go(&w, false), 0, "and applied again: no conflict");
	is_int(rows_are(&w, true), ARRAY_SIZE(rows), "every path is new");
	world_write(&w, "changed", "mine", 0644);
	world_write(&w, "to_dir/mine", "mine", 0644);
	is_int(world_last(&w, true), 2, "two were changed");
	is_str(world_read(&w, "changed"), "mine", "the user's stays");
	is_str(world_read(&w, "to_dir/mine"), "mine", "the other one, too");
	is_str(world_read(&w, "gone"), "old", "the others are taken back");
	world_file(&w, "changed", "newer");
	is_int(world_go(&w, false), 0, "the next apply");
	is_str(world_read(&w, "changed"), "mine", "knows the user's");
	world_end(&w);
}

/* ---- killed ---- */

static int die_at;

static int die(void *arg, const char *path)
{
	(void)arg;
	(void)path;
	if (die_at-- == 0)
		_exit(9);
	return 0;
}

/* Applies in a process that is killed at the point @at. Returns true if it was. */
static bool apply_killed(struct world *w, int at)
{
	pid_t pid;
	int status = 0;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		die_at = at;
		state_hook(die, NULL);
		_exit(world_go(w, false) == 0 ? 0 : 1);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return false;
	buf_done(&w->archive);
	return WIFEXITED(status) && WEXITSTATUS(status) == 9;
}

static bool old_or_new(struct world *w)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *is = world_read(w, rows[i].path);

		/* Between two kinds, nothing may be there. */
		if (strcmp(is, rows[i].before) != 0 &&
		    strcmp(is, rows[i].after) != 0 &&
		    strcmp(is, "(none)") != 0) {
			printf("# %s is %s\n", rows[i].path, is);
			return false;
		}
		if (strcmp(is, "(none)") == 0 &&
		    strcmp(rows[i].path, "changed") == 0)
			return false;
	}
	return true;
}

static void killed_once(int at, bool back, bool *ret_more)
{
	size_t good;
	struct world w;
	int rc;

	*ret_more = false;
	if (!world_begin(&w))
		return;
	fill(&w);
	world_since(&w);
	edit(&w);
	change(&w);
	*ret_more = apply_killed(&w, at);
	if (*ret_more) {
		SCOPED_FD base = open(w.state, O_RDONLY | O_CLOEXEC);

		ok(old_or_new(&w), "killed at %d: each path is old or new", at);
		is_int(applied_is_pending(base), 1, "and it is known");
		rc = world_last(&w, back);
		good = rows_are(&w, !back);
		ok(rc == 0 && good == ARRAY_SIZE(rows) && is_clean(&w),
		   "%s: %d, %zu", back ? "taken back" : "finished", rc, good);
		if (back)
			is_int(applied_is_pending(base), 0, "and over");
	}
	world_end(&w);
}

static void test_killed(void)
{
	bool more = true;
	int at;

	for (at = 0; more && at < 200; at++)
		killed_once(at, at % 2 == 0, &more);
	ok(at > 25, "killed at %d points", at);
}

/* ---- failures ---- */

static int full(void *arg, const char *path)
{
	return strcmp(path, arg) == 0 ? -ENOSPC : 0;
}

static void test_full(void)
{
	static char at[] = "made";
	struct world w;

	if (!ok(world_begin(&w), "a directory"))
		return;
	fill(&w);
	world_since(&w);
	edit(&w);
	change(&w);
	state_hook(full, at);
	is_int(world_go(&w, false), -ENOSPC, "a disk that is full");
	state_hook(NULL, NULL);
	is_int(world_last(&w, true), -ENOENT, "nothing is pending");
	is_int(rows_are(&w, false), ARRAY_SIZE(rows), "every path is old");
	world_end(&w);
}

/* The user edits what was applied, and then the disk is full. */
static int edit_and_full(void *arg, const char *path)
{
	if (strcmp(path, "b") != 0)
		return 0;
	world_write(arg, "a", "mine", 0644);
	return -ENOSPC;
}

static void test_left_behind(void)
{
	struct err err = { 0 };
	struct world w;

	if (!ok(world_begin(&w), "a directory"))
		return;
	world_write(&w, "a", "old", 0644);
	world_since(&w);
	world_file(&w, "a", "new");
	world_file(&w, "b", "new");
	is_int(world_plan(&w, false, &err), 0, "a plan");
	state_hook(edit_and_full, &w);
	is_int(world_apply(&w, &err), -ENOSPC, "%s", err.msg);
	state_hook(NULL, NULL);
	is_str(world_read(&w, "a"), "mine", "the user's stays");
	ok(strstr(err.msg, "but for what was changed meanwhile: a") != NULL,
	   "and is named");
	ok(!strstr(err.msg, "nothing was applied"), "as not taken back");
	world_end(&w);
}

static void test_conflicts(void)
{
	struct world w;

	if (!ok(world_begin(&w), "a directory"))
		return;
	world_write(&w, "a", "old", 0644);
	world_write(&w, "b", "old", 0644);
	world_since(&w);
	world_write(&w, "a", "mine", 0644);
	for (int i = 0; i < 2; i++) {
		world_file(&w, "a", i ? "theirs2" : "theirs");
		world_file(&w, "b", "new");
		is_int(world_go(&w, false), 0, "the rest is applied");
		is_str(world_read(&w, "a"), "mine", "the user's stays");
		is_str(world_read(&w, "b"), "new", "the other one is new");
		is_str(world_read(&w, "a.ac-bob"), i ? "theirs2" : "theirs",
		       "the agent's is beside it");
	}
	world_file(&w, "a", "theirs2");
	is_int(world_go(&w, true), 0, "--theirs");
	is_str(world_read(&w, "a"), "theirs2", "takes the agent's");
	is_int(world_last(&w, true), 0, "and is taken back");
	is_str(world_read(&w, "a"), "mine", "to the user's");
	world_file(&w, "a", "theirs2");
	is_int(world_go(&w, false), 0, "which is a conflict again");
	is_str(world_read(&w, "a"), "mine", "and stays");
	world_write(&w, "b", "edited", 0644);
	world_file(&w, "b", "newer");
	is_int(world_go(&w, false), 0, "what was applied and then edited");
	is_str(world_read(&w, "b"), "edited", "is the user's");
	world_end(&w);
}

static void user_rm(struct world *w, const char *path)
{
	SCOPED_STR at = world_path(w, path);

	if (!at || file_remove_tree(at) < 0)
		printf("# %s is there\n", path);
}

static void agent_brings(struct world *w, const char *f, const char *g)
{
	struct change c = world_change(CHANGE_LINK, "link");

	world_file(w, "junk", "j");
	world_dir(w, "dir", false);
	world_file(w, "dir/junk", "j");
	world_dir(w, "none", false);
	c.target = slice_str("to");
	world_put(w, &c, "");
	world_file(w, "f", f);
	world_file(w, "g", g);
	world_gone(w, "gone");
}

/* What was applied once is decided: the user does with it what they like. */
static void test_decided(void)
{
	struct world w;

	if (!ok(world_begin(&w), "a directory"))
		return;
	world_write(&w, "f", "old", 0644);
	world_write(&w, "g", "old", 0644);
	world_write(&w, "gone", "old", 0644);
	world_since(&w);
	agent_brings(&w, "1", "1");
	is_int(world_go(&w, false), 0, "it is applied");
	is_str(world_read(&w, "gone"), "(none)", "with the deletion");
	user_rm(&w, "junk");
	user_rm(&w, "dir");
	user_rm(&w, "none");
	user_rm(&w, "link");
	world_write(&w, "f", "mine", 0644);
	world_write(&w, "gone", "mine", 0644);
	agent_brings(&w, "1", "2");
	is_int(world_go(&w, true), 0, "again, with another g, --theirs");
	is_str(world_read(&w, "junk"), "(none)", "what the user deleted");
	is_str(world_read(&w, "dir"), "(none)", "is not brought again");
	is_str(world_read(&w, "none"), "(none)", "nor a directory");
	is_str(world_read(&w, "link"), "(none)", "nor a link");
	is_str(world_read(&w, "f"), "mine", "an edit stays");
	is_str(world_read(&w, "f.ac-bob"), "(none)", "and is no conflict");
	is_str(world_read(&w, "gone"), "mine", "what was made again stays");
	is_str(world_read(&w, "g"), "2", "what is new is brought");
	agent_brings(&w, "3", "2");
	is_int(world_go(&w, false), 0, "another f");
	is_str(world_read(&w, "f"), "mine", "the user's stays");
	is_str(world_read(&w, "f.ac-bob"), "3", "a conflict");
	agent_brings(&w, "3", "2");
	world_file(&w, "dir/more", "m");
	is_int(world_go(&w, false), 0, "something in the directory");
	is_str(world_read(&w, "dir/more"), "m", "needs it");
	is_str(world_read(&w, "dir/junk"), "(none)", "but not the rest of it");
	world_end(&w);
}

/* A file that the user changes after the plan, when the question is asked. */
static void test_late(void)
{
	struct err err = { 0 };
	struct world w;

	if (!ok(world_begin(&w), "a directory"))
		return;
	world_write(&w, "a", "old", 0644);
	world_write(&w, "b", "old", 0644);
	world_since(&w);
	world_file(&w, "a", "new");
	world_file(&w, "b", "new");
	is_int(world_plan(&w, false, &err), 0, "a plan");
	world_write(&w, "b", "late", 0644);
	is_int(world_apply(&w, &err), -EAGAIN, "%s", err.msg);
	is_str(world_read(&w, "a"), "old", "nothing was applied");
	is_str(world_read(&w, "b"), "late", "the user's stays");
	world_end(&w);
}

/* Changes the user's file @arg when its turn has come, the last time that the step
 * looks up: its temporary file is there. */
static int calls;

static int edit_late(void *arg, const char *path)
{
	if (strcmp(path, "a") == 0 && ++calls == 2)
		world_write(arg, "a", "ola", 0644);
	if (strcmp(path, "gone") == 0)
		world_write(arg, "gone", "ola", 0644);
	return 0;
}

/* A file that the user changes while the agent's is copied. */
static void test_later(void)
{
	struct err err = { 0 };
	struct world w;

	if (!ok(world_begin(&w), "a directory"))
		return;
	world_write(&w, "a", "old", 0644);
	world_write(&w, "gone", "old", 0644);
	world_since(&w);
	world_file(&w, "a", "new");
	world_file(&w, "b", "new");
	world_gone(&w, "gone");
	is_int(world_plan(&w, false, &err), 0, "a plan");
	calls = 0;
	state_hook(edit_late, &w);
	is_int(world_apply(&w, &err), 2, "two are left %s", err.msg);
	state_hook(NULL, NULL);
	is_str(world_read(&w, "a"), "ola", "the user's stays");
	is_str(world_read(&w, "gone"), "ola", "the other one, too");
	is_str(world_read(&w, "b"), "new", "the rest is applied");
	ok(is_clean(&w), "no temporary name is left");
	world_end(&w);
}

/* ---- a directory that becomes a link while it is applied ---- */

static char outside[128];

static int swap_parent(void *arg, const char *path)
{
	struct world *w = arg;
	SCOPED_STR from = world_path(w, "d");
	SCOPED_STR to = world_path(w, "moved");

	if (strcmp(path, "d/f") == 0 && from && to && rename(from, to) == 0 &&
	    symlink(outside, from) < 0)
		printf("# no link\n");
	return 0;
}

static void test_swapped(void)
{
	struct err err = { 0 };
	struct world w;
	SCOPED_STR victim = NULL;
	SCOPED_STR text = NULL;

	if (!ok(world_begin(&w), "a directory"))
		return;
	snprintf(outside, sizeof(outside), "%s/outside", w.top);
	victim = str_printf("%s/g", outside);
	if (!victim || mkdir(outside, 0755) < 0 ||
	    file_replace(victim, "old", 3, 0644) < 0)
		return;
	world_mkdir(&w, "d");
	world_write(&w, "d/f", "old", 0644);
	world_write(&w, "d/g", "old", 0644);
	world_since(&w);
	world_file(&w, "d/f", "new");
	world_file(&w, "d/g", "new");
	is_int(world_plan(&w, false, &err), 0, "a plan");
	state_hook(swap_parent, &w);
	(void)world_apply(&w, &err);
	state_hook(NULL, NULL);
	is_int(file_read(victim, 100, &text, NULL), 0, "the file outside");
	is_str(text, "old", "is not written");
	world_end(&w);
}

static void test_modes(void)
{
	struct world w;
	struct change c;

	if (!ok(world_begin(&w), "a directory"))
		return;
	world_write(&w, "plain", "x", 0640);
	world_write(&w, "runs", "x", 0755);
	world_since(&w);
	c = world_change(CHANGE_FILE, "new");
	c.mode = 07777;
	world_put(&w, &c, "x");
	c.path = slice_str("plain");
	world_put(&w, &c, "x");
	c.path = slice_str("runs");
	c.mode = 0;
	world_put(&w, &c, "x");
	is_int(world_go(&w, false), 0, "modes");
	is_int(world_mode(&w, "new"), 0755, "a new one has the umask's");
	is_int(world_mode(&w, "plain"), 0750, "+x for those that read it");
	is_int(world_mode(&w, "runs"), 0644, "-x");
	is_int(world_last(&w, true), 0, "taken back");
	is_int(world_mode(&w, "plain"), 0640, "as it was");
	is_int(world_mode(&w, "runs"), 0755, "as it was");
	world_end(&w);
}

static void test_many(void)
{
	enum { MANY = 5000 };
	struct world w;
	struct change c;
	char path[300];

	if (!ok(world_begin(&w), "a directory"))
		return;
	for (int i = 0; i < MANY; i++) {
		snprintf(path, sizeof(path), "d%d/f%d", i % 100, i);
		c = world_change(CHANGE_FILE, path);
		world_put(&w, &c, "x");
	}
	memset(path, 'n', 255);
	path[255] = '\0';
	world_file(&w, path, "long");
	is_int(world_go(&w, false), 0, "%d files", MANY);
	is_str(world_read(&w, "d99/f4999"), "x", "the last one");
	is_str(world_read(&w, path), "long", "a name of 255 bytes");
	world_end(&w);
}

int main(void)
{
	/* Many applies, each with its fsync: that takes long on a disk. */
	if (access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 0);
	test_whole();
	test_undo();
	test_killed();
	test_full();
	test_left_behind();
	test_conflicts();
	test_decided();
	test_late();
	test_later();
	test_swapped();
	test_modes();
	test_many();
	return done_testing();
}
