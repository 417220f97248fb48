/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_test.c - the user's directory: no way out of it, and nothing that blocks
 */
#include "control/cli/layer/tree.h"

#include "tests/unit/control/cli/layer/world.h"

static void test_ways_out(void)
{
	static const char *const out[] = {
		"../outside/f",      "/etc/passwd", "way/f",
		"d/../../outside/f", "chain/f",
	};
	struct world w;
	struct spot spot;
	SCOPED_STR outside = NULL;
	SCOPED_STR file = NULL;
	SCOPED_STR way = NULL;
	SCOPED_STR chain = NULL;

	if (!ok(world_begin(&w), "a directory"))
		return;
	outside = str_printf("%s/outside", w.top);
	file = str_printf("%s/outside/f", w.top);
	way = world_path(&w, "way");
	chain = world_path(&w, "chain");
	if (!outside || !file || !way || !chain || mkdir(outside, 0755) < 0 ||
	    file_replace(file, "x", 1, 0644) < 0 || symlink(outside, way) < 0 ||
	    symlink("way", chain) < 0)
		printf("# not made\n");
	world_mkdir(&w, "d");
	world_write(&w, "d/f", "x", 0644);
	for (size_t i = 0; i < ARRAY_SIZE(out); i++) {
		SCOPED_FD fd = tree_open_file(w.root, out[i]);

		ok(fd < 0, "%s is not opened: %s", out[i], err_text(fd));
	}
	{
		SCOPED_FD fd = tree_open_file(w.root, "d/f");

		ok(fd >= 0, "the control: a file in it");
	}
	is_int(tree_look(w.root, "way/f", &spot), 0, "a path by a link");
	is_int(spot.kind, SPOT_BLOCKED, "is blocked");
	is_int(tree_look(w.root, "d/f/x", &spot), 0, "a path below a file");
	is_int(spot.kind, SPOT_BLOCKED, "as well");
	is_int(tree_look(w.root, "none/f", &spot), 0, "a path in nothing");
	is_int(spot.kind, SPOT_NONE, "is nothing");
	is_int(tree_look(w.root, "way", &spot), 0, "a link itself");
	is_int(spot.kind, SPOT_LINK, "is a link");
	world_end(&w);
}

static void test_fifo(void)
{
	struct world w;
	struct spot spot;
	SCOPED_STR at = NULL;

	if (!ok(world_begin(&w), "a directory"))
		return;
	at = world_path(&w, "fifo");
	is_int(at ? mkfifo(at, 0644) : -1, 0, "a FIFO");
	is_int(tree_open_file(w.root, "fifo"), -EINVAL,
	       "is no file, and is not waited for");
	is_int(tree_look(w.root, "fifo", &spot), 0, "looked at");
	is_int(spot.kind, SPOT_OTHER, "it is something else");
	world_end(&w);
}

static int count(void *arg, const char *path, const struct spot *spot)
{
	(void)spot;
	++*(int *)arg;
	return strcmp(path, "skip") == 0;
}

static void test_walk(void)
{
	struct world w;
	int n = 0;
	SCOPED_STR way = NULL;

	if (!ok(world_begin(&w), "a directory"))
		return;
	world_mkdir(&w, "a/b/c");
	world_mkdir(&w, "skip/this");
	world_write(&w, "a/b/c/f", "x", 0644);
	way = world_path(&w, "a/way");
	if (way && symlink("/", way) < 0)
		printf("# no link\n");
	is_int(tree_walk(w.root, "", 100, count, &n), 0, "a walk");
	is_int(n, 6, "sees all but what it skips, and follows no link");
	is_int(tree_walk(w.root, "", 3, count, &n), -E2BIG, "has a limit");
	n = 0;
	is_int(tree_walk(w.root, "a/b", 100, count, &n), 0, "of a part");
	is_int(n, 2, "sees that");
	is_int(tree_walk(w.root, "none", 100, count, &n), 0, "of nothing");
	ok(tree_walk(w.root, "a/way", 100, count, &n) < 0, "of a link fails");
	world_end(&w);
}

int main(void)
{
	test_ways_out();
	test_fifo();
	test_walk();
	return done_testing();
}
