/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_test.c - the files of a plan, and of two
 */
#include "control/cli/layer/view.h"

#include "control/cli/layer/show.h"
#include "control/shared/json.h"
#include "tests/unit/control/cli/layer/world.h"

/* Returns the view's paths, each with - or + for its sides; valid until the next
 * call. */
static const char *paths(const struct view *v)
{
	static char text[1024];
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < v->n && used < sizeof(text); i++)
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "%s%s%s%s%s",
			i ? " " : "", v->v[i].old.from == SIDE_NONE ? "" : "-",
			v->v[i].now.from == SIDE_NONE ? "" : "+", v->v[i].path,
			v->v[i].is == VIEW_FILE     ? "" :
			v->v[i].is == VIEW_MADE_DIR ? "/+" :
						      "/-");
	return text;
}

static void test_one(void)
{
	SCOPED_VIEW v = { 0 };
	SCOPED_JSON json = NULL;
	const json_t *first;
	struct err err = { 0 };
	struct world w;

	if (!ok(world_begin(&w), "a directory"))
		return;
	world_mkdir(&w, "d/sub/.git");
	world_write(&w, "d/a", "x", 0644);
	world_write(&w, "d/sub/b", "x", 0644);
	world_write(&w, "d/sub/.git/config", "x", 0644);
	world_mkdir(&w, "to_file");
	world_write(&w, "to_file/x", "x", 0644);
	world_write(&w, "to_dir", "x", 0644);
	world_write(&w, "same", "x", 0644);
	world_mkdir(&w, "void/in");
	world_since(&w);
	world_gone(&w, "void");
	world_gone(&w, "d");
	world_file(&w, "to_file", "new");
	world_dir(&w, "to_dir", true);
	world_file(&w, "to_dir/in\xff", "new");
	world_file(&w, "same", "x");
	world_dir(&w, "empty", true);
	is_int(world_plan(&w, false, &err), 0, "a plan");
	is_int(view_make(&w.input, &w.plan, &w.stage, &v), 0, "a view");
	is_str(paths(&v),
	       "-d/a -d/sub/b empty/+ -to_dir +to_dir/in\xff +to_file "
	       "-to_file/x void/-",
	       "all files of directories, but of no .git");
	json = show_json(w.root, &v, &err);
	first = json_array_get(json_object_get(json, "files"), 0);
	is_str(jsonx_text_at(first, "path"), "d/a", "JSON");
	is_str(jsonx_text_at(first, "kind"), "deleted", "is deleted");
	is_str(jsonx_text_at(first, "conflict"), "has_git", "a conflict");
	first = json_array_get(json_object_get(json, "files"), 2);
	is_str(jsonx_text_at(first, "path"), "empty", "an empty directory");
	is_str(jsonx_text_at(first, "kind"), "new", "is new");
	first = json_array_get(json_object_get(json, "files"), 4);
	is_str(jsonx_text_at(first, "path"), "to_dir/in\\xff", "is escaped");
	is_str(jsonx_text_at(first, "path_b64"),
	       "dG9fZGlyL2lu/w==", "and has its bytes");
	world_end(&w);
}

static void test_two(void)
{
	SCOPED_VIEW a = { 0 };
	SCOPED_VIEW b = { 0 };
	SCOPED_VIEW both = { 0 };
	struct err err = { 0 };
	struct world w;
	struct world other;

	if (!ok(world_begin(&w) && world_begin(&other), "two"))
		return;
	world_write(&w, "x", "x", 0644);
	world_write(&w, "y", "y", 0644);
	world_since(&w);
	world_file(&w, "x", "1");
	world_file(&w, "same", "s");
	world_gone(&w, "y");
	world_file(&other, "x", "2");
	world_file(&other, "same", "s");
	world_file(&other, "z", "z");
	fd_closep(&other.root);
	other.root = dup(w.root);
	other.key = w.key;
	is_int(world_plan(&w, false, &err), 0, "a plan");
	is_int(world_plan(&other, false, &err), 0, "another");
	is_int(view_make(&w.input, &w.plan, &w.stage, &a), 0, "a view");
	is_int(view_make(&other.input, &other.plan, &other.stage, &b), 0,
	       "another");
	is_int(view_join(w.root, &a, &b, &both), 0, "both");
	is_str(paths(&both), "-+x +y +z", "what differs between them");
	world_end(&w);
	world_end(&other);
}

int main(void)
{
	test_one();
	test_two();
	return done_testing();
}
