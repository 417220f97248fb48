/* SPDX-License-Identifier: Apache-2.0 */
/*
 * left_out_test.c - the names and reasons of what an apply leaves out
 */
#include "control/cli/layer/left_out.h"

#include "control/shared/json.h"
#include "tests/unit/control/cli/layer/world.h"

/* Returns what is said on stderr, which the caller frees. */
static char *said(struct world *w)
{
	const struct cli cli = { .quiet = false };
	SCOPED_STR path = str_printf("%s/said", w->top);
	SCOPED_FD fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	SCOPED_FD before = dup(STDERR_FILENO);
	char *text = NULL;

	dup2(fd, STDERR_FILENO);
	left_out_show(&cli, "bob", &w->stage, &w->plan);
	dup2(before, STDERR_FILENO);
	if (file_read(path, 1 << 20, &text, NULL) < 0)
		return NULL;
	return text;
}

static void put_setuid(struct world *w, const char *path)
{
	struct change c = world_change(CHANGE_FILE, path);

	c.mode = 04755;
	world_put(w, &c, "x");
}

static void test_reasons(void)
{
	SCOPED_JSON json = NULL;
	SCOPED_STR text = NULL;
	SCOPED_STR list = NULL;
	struct err err = { 0 };
	struct world w;

	if (!ok(world_begin(&w), "a directory"))
		return;
	world_dir(&w, ".git", false);
	world_file(&w, ".git/config", "x");
	world_file(&w, ".git/logs/HEAD", "x");
	world_file(&w, ".git/objects/aa/bb", "x");
	world_other(&w, "a", CHANGE_UNSAID);
	world_other(&w, "b", CHANGE_FIFO);
	world_other(&w, "c\n", CHANGE_SOCKET);
	world_other(&w, "d", CHANGE_DEVICE);
	world_other(&w, "e", CHANGE_TOO_LARGE);
	world_other(&w, "f", CHANGE_HOLES);
	world_file(&w, "plain", "x");
	put_setuid(&w, "su");
	is_int(world_plan(&w, false, &err), 0, "a plan %s", err.msg);
	text = said(&w);
	is_str(text,
	       "ac: 4 changes in .git: these are never applied; commits come "
	       "by `ac fetch bob`\n"
	       "ac:   .git/config\n"
	       "ac:   and 3 more: --json names all\n"
	       "ac: 6 files of bob left out, and never applied:\n"
	       "ac:   a (a device, a socket or a FIFO, or too large)\n"
	       "ac:   b (a FIFO)\n"
	       "ac:   \"c\\n\" (a socket)\n"
	       "ac:   d (a device)\n"
	       "ac:   e (larger than 16 GiB)\n"
	       "ac:   f (larger than 256 MiB, and mostly holes)\n"
	       "ac: 1 file is applied without the bits setuid and setgid:\n"
	       "ac:   su\n",
	       "each is named, but what every commit changes");
	json = left_out_json(&w.stage, &w.plan);
	list = json_dumps(json, JSON_COMPACT);
	is_str(list,
	       "[{\"path\":\".git\",\"reason\":\"git\"},"
	       "{\"path\":\".git/config\",\"reason\":\"git\"},"
	       "{\"path\":\".git/logs/HEAD\",\"reason\":\"git\"},"
	       "{\"path\":\".git/objects/aa/bb\",\"reason\":\"git\"},"
	       "{\"path\":\"a\",\"reason\":\"other\"},"
	       "{\"path\":\"b\",\"reason\":\"fifo\"},"
	       "{\"path\":\"c\\n\",\"reason\":\"socket\"},"
	       "{\"path\":\"d\",\"reason\":\"device\"},"
	       "{\"path\":\"e\",\"reason\":\"too_large\"},"
	       "{\"path\":\"f\",\"reason\":\"holes\"},"
	       "{\"path\":\"su\",\"reason\":\"setuid\"}]",
	       "all of it");
	world_end(&w);
}

static void test_many(void)
{
	SCOPED_JSON json = NULL;
	SCOPED_STR text = NULL;
	struct err err = { 0 };
	struct world w;

	if (!ok(world_begin(&w), "a directory"))
		return;
	for (int i = 10; i < 33; i++) {
		SCOPED_STR name = str_printf("p%d", i);

		world_other(&w, name ? name : "p", CHANGE_FIFO);
	}
	is_int(world_plan(&w, false, &err), 0, "a plan %s", err.msg);
	text = said(&w);
	ok(text && strstr(text, "ac:   p29 (a FIFO)\n"
				"ac:   and 3 more: --json names all\n"),
	   "20 are named");
	json = left_out_json(&w.stage, &w.plan);
	is_int(json_array_size(json), 23, "all for a program");
	world_end(&w);
}

static void test_none(void)
{
	SCOPED_JSON json = NULL;
	SCOPED_STR text = NULL;
	struct err err = { 0 };
	struct world w;

	if (!ok(world_begin(&w), "a directory"))
		return;
	world_file(&w, "plain", "x");
	is_int(world_plan(&w, false, &err), 0, "a plan %s", err.msg);
	text = said(&w);
	is_str(text, "", "nothing is said");
	json = left_out_json(&w.stage, &w.plan);
	is_int(json_array_size(json), 0, "an empty list");
	world_end(&w);
}

int main(void)
{
	test_reasons();
	test_many();
	test_none();
	return done_testing();
}
