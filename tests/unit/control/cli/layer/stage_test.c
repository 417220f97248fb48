/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage_test.c - the private directory of changes, and paths that the user names
 */
#include "control/cli/layer/stage.h"

#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>

#include "control/cli/layer/layer.h"
#include "tests/unit/control/cli/layer/world.h"

static int feed_zeros(struct stage *s, size_t len, struct err *err)
{
	static const uint8_t zeros[65536];
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < len; i += sizeof(zeros))
		rc = stage_feed(s, slice_of(zeros, sizeof(zeros)), err);
	return rc;
}

/* A sandbox makes files of zeros at no cost: they must cost none here. */
static void test_sparse(void)
{
	enum { SIZE = 64 << 20 };
	struct change c = world_change(CHANGE_FILE, "sparse");
	struct err err = { 0 };
	struct world w;
	struct stat st = { 0 };
	SCOPED_FD fd = -1;

	if (!ok(world_begin(&w), "a directory"))
		return;
	c.size = SIZE;
	is_int(stage_open(w.state, &w.stage, &err), 0, "a stage");
	is_int(changes_head(&w.archive, &c), 0, "a large file");
	is_int(stage_feed(&w.stage, buf_slice(&w.archive), &err), 0,
	       "its head");
	is_int(feed_zeros(&w.stage, SIZE, &err), 0, "its content");
	buf_done(&w.archive);
	is_int(changes_end(&w.archive), 0, "the end");
	is_int(stage_feed(&w.stage, buf_slice(&w.archive), &err), 0, "is fed");
	is_int(stage_finish(&w.stage, &err), 0, "and is the end");
	fd = stage_file(w.stage.dir, 'n', 1);
	ok(fd >= 0 && fstat(fd, &st) == 0 && st.st_size == SIZE,
	   "it has its size");
	ok(st.st_blocks * 512 < 1 << 20, "and takes no room");
	ok((st.st_mode & 0777) == 0600, "no one else reads it");
	world_end(&w);
}

static void test_content(void)
{
	static char text[10000];
	struct err err = { 0 };
	struct world w;
	SCOPED_STR got = NULL;

	if (!ok(world_begin(&w), "a directory"))
		return;
	memset(text, 'x', sizeof(text) - 1);
	memset(text + 4096, 'y', 100);
	world_file(&w, "\xff\n", text);
	is_int(changes_end(&w.archive), 0, "an archive");
	is_int(stage_open(w.state, &w.stage, &err), 0, "a stage");
	for (size_t i = 0; i < buf_len(&w.archive); i++)
		if (stage_feed(&w.stage,
			       slice_of(buf_slice(&w.archive).ptr + i, 1),
			       &err) < 0)
			printf("# %s\n", err.msg);
	is_int(stage_finish(&w.stage, &err), 0, "fed byte by byte");
	is_int(file_read_at(w.stage.dir, "n1", 1 << 20, &got, NULL), 0,
	       "the file has a number");
	is_str(got, text, "and its content");
	world_end(&w);
}

/* A file that is too large to be shown by its lines. */
static void test_most(void)
{
	struct err err = { 0 };
	struct world w;

	if (!ok(world_begin(&w), "a directory"))
		return;
	world_file(&w, "a", "large");
	world_file(&w, "b", "ok");
	is_int(changes_end(&w.archive), 0, "an archive");
	is_int(stage_open(w.state, &w.stage, &err), 0, "a stage");
	w.stage.most = 4;
	is_int(stage_feed(&w.stage, buf_slice(&w.archive), &err), 0, "is fed");
	is_int(stage_finish(&w.stage, &err), 0, "and complete");
	is_int(w.stage.set.v[0].number, 0, "the large one is not kept");
	is_int(w.stage.set.v[0].blob.size, 5, "but has its size");
	is_int(w.stage.set.v[1].number, 1, "the small one is");
	world_end(&w);
}

static void test_cut(void)
{
	struct err err = { 0 };
	struct world w;

	if (!ok(world_begin(&w), "a directory"))
		return;
	world_file(&w, "a", "text");
	is_int(stage_open(w.state, &w.stage, &err), 0, "a stage");
	is_int(stage_feed(&w.stage, buf_slice(&w.archive), &err), 0, "a part");
	is_int(stage_finish(&w.stage, &err), -EBADMSG, "is refused: %s",
	       err.msg);
	world_end(&w);
}

/* A disk that is full, here a limit of the process. */
static void test_full(void)
{
	const struct rlimit small = { 4096, RLIM_INFINITY };
	struct rlimit before;
	struct err err = { 0 };
	struct world w;
	static char text[20000];
	int rc;

	if (!ok(world_begin(&w), "a directory"))
		return;
	memset(text, 'x', sizeof(text) - 1);
	world_file(&w, "a", text);
	is_int(stage_open(w.state, &w.stage, &err), 0, "a stage");
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	setrlimit(RLIMIT_FSIZE, &small);
	rc = stage_feed(&w.stage, buf_slice(&w.archive), &err);
	setrlimit(RLIMIT_FSIZE, &before);
	is_int(rc, -EFBIG, "no room: %s", err.msg);
	stage_done(&w.stage);
	is_int(rmdir(w.state), 0, "nothing is left");
	world_end(&w);
}

static void test_sweep(void)
{
	struct err err = { 0 };
	struct stage two = STAGE_NONE;
	struct world w;
	SCOPED_STR stale = NULL;
	SCOPED_STR mine = NULL;

	if (!ok(world_begin(&w), "a directory"))
		return;
	is_int(stage_open(w.state, &w.stage, &err), 0, "a stage");
	stale = str_printf("%s/stage.0123456789abcdef", w.state);
	mine = str_printf("%s/%s", w.state, w.stage.name);
	is_int(stale ? mkdir(stale, 0700) : -1, 0, "one of a killed program");
	is_int(stage_open(w.state, &two, &err), 0, "another one");
	ok(stale && access(stale, F_OK) < 0, "removes it");
	ok(mine && access(mine, F_OK) == 0, "but not one that is in use");
	stage_done(&two);
	world_end(&w);
}

static const struct {
	const char *cwd, *word, *want; /* NULL: refused; "": all */
} rows[] = {
	{ "/elsewhere", "a/b", "a/b" },
	{ "/elsewhere", "./a/", "a" },
	{ "/elsewhere", ".", "" },
	{ "/elsewhere", "../x", NULL },
	{ "/srv/me/p", "a", "a" },
	{ "/srv/me/p/sub", "a", "sub/a" },
	{ "/srv/me/p/sub", "..", "" },
	{ "/srv/me/p/sub", "../b//c", "b/c" },
	{ "/srv/me/p/sub", "../../p/b", "b" },
	{ "/srv/me/p/sub", "../../q", NULL },
	{ "/srv/me/p2", "a", "a" },
	{ NULL, "/srv/me/p/a", "a" },
	{ NULL, "/srv/me/p", "" },
	{ NULL, "/srv/me/p2/a", NULL },
	{ NULL, "/../..", NULL },
	{ NULL, "", NULL },
};

static void test_paths(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct strv got = { 0 };
		struct err err = { 0 };
		bool all = false;
		int rc = layer_paths("/srv/me/p", rows[i].cwd, &rows[i].word, 1,
				     &got, &all, &err);

		if (!rows[i].want)
			is_int(rc, -EINVAL, "%s is outside", rows[i].word);
		else if (*rows[i].want == '\0')
			ok(rc == 0 && all && got.n == 0, "%s is all",
			   rows[i].word);
		else
			is_str(got.n == 1 ? got.v[0] : NULL, rows[i].want,
			       "%s in %s", rows[i].word,
			       rows[i].cwd ? rows[i].cwd : "nothing");
		strv_done(&got);
	}
}

int main(void)
{
	test_sparse();
	test_content();
	test_most();
	test_cut();
	test_full();
	test_sweep();
	test_paths();
	return done_testing();
}
