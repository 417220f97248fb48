/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer_test.c - which instance of which blueprint words mean
 */
#include "control/shared/infer.h"

#include <string.h>

#include "control/shared/names.h"
#include "tests/unit/tap.h"

/* One word, or a blueprint and a name; "=" is before a blueprint that is given
 * as such, and alone for none. */
static const struct {
	const char *words[2];
	int want; /* 0 or a negative errno */
	bool exists;
	const char *instance, *blueprint;
	const char *says; /* part of the message */
} rows[] = {
	{ { "base", "hello" }, 0, false, "hello", "base", NULL },
	{ { "base", "work" }, -EEXIST, false, NULL, NULL, "claude" },
	{ { "claude", "work" }, 0, true, "work", "claude", NULL },
	{ { "base", "q" }, 0, false, "q_", "base", NULL },
	{ { "nope", "x1" }, 0, false, "x1", "nope", NULL },
	{ { "../x", "x1" }, -EINVAL, false, NULL, NULL, "blueprint" },
	{ { "base", "../up" }, -EINVAL, false, NULL, NULL, "up" },
	{ { "base", "a/b" }, -EINVAL, false, NULL, NULL, "a/b" },
	{ { "base", "" }, -EINVAL, false, NULL, NULL, "short" },
	{ { "base", "/" }, -EINVAL, false, NULL, NULL, "instance" },
	{ { "base", "-x" }, -EINVAL, false, NULL, NULL, "start" },
	{ { "base", "x\ny" }, -EINVAL, false, NULL, NULL, "x\\x0ay" },
	{ { "work" }, 0, true, "work", "claude", NULL },
	{ { "s" }, 0, true, "s_", "base", NULL },
	{ { "base" }, 0, false, "base_session", "base", NULL },
	{ { "claude" }, -EEXIST, false, NULL, NULL, "collision" },
	{ { "my-base-2" }, 0, false, "my-base-2", "base", NULL },
	{ { "claude-base" }, 0, false, "claude-base", "claude", NULL },
	{ { "claude-desktop1" },
	  0,
	  false,
	  "claude-desktop1",
	  "claude-desktop",
	  NULL },
	{ { "nothing" },
	  -ENOENT,
	  false,
	  NULL,
	  NULL,
	  "instance; blueprints: b" },
	{ { "cluade" }, -ENOENT, false, NULL, NULL, "did you mean 'claude'?" },
	{ { NULL, NULL }, -EINVAL, false, NULL, NULL, "word" },
	/* As members of a request: what a person cannot write. */
	{ { "=base", NULL }, 0, false, "base_session", "base", NULL },
	{ { "=", "work" }, 0, true, "work", "claude", NULL },
	{ { "=", "s" }, 0, true, "s_", "base", NULL },
	{ { "=", "claude-x" }, -ENOENT, false, NULL, NULL, "claude-x" },
	{ { "=claude", "../x" }, -EINVAL, false, NULL, NULL, "x" },
	{ { "=Base", NULL }, -EINVAL, false, NULL, NULL, "blueprint" },
};

static const char *blueprint_of(void *arg, const char *name)
{
	static const char *const all[][2] = {
		{ "work", "claude" },          { "s_", "base" },
		{ "claude_session", "base" },  { "claude-src", "claude" },
		{ "claude-src-2", "claude" },  { "claude-bare", "claude" },
		{ "claude-here-3", "claude" }, { "claude-base1", "base" }
	};

	(void)arg;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (strcmp(all[i][0], name) == 0)
			return all[i][1];
	return NULL;
}

static const char *workspace_of(void *arg, const char *name)
{
	static const char *const all[][2] = {
		{ "work", "/w" },
		{ "claude-src", "/a/src" },
		{ "claude-src-2", "/b/src" },
		{ "claude-bare", NULL },
		{ "claude-here-3", "/h/here" },
		{ "claude-base1", "/x/base1" },
	};

	(void)arg;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (strcmp(all[i][0], name) == 0)
			return all[i][1];
	return NULL;
}

static struct infer_words words_of(const char *const words[2])
{
	struct infer_words w = { .name = words[1] };

	if (words[0] && words[0][0] == '=')
		w.blueprint = words[0][1] ? words[0] + 1 : NULL;
	else if (words[1])
		w.blueprint = words[0];
	else
		w.word = words[0];
	return w;
}

static const char *word_of(int code)
{
	return code == -EEXIST ? "name_collision" :
	       code == -ENOENT ? "unknown_name" :
				 "";
}

static void test_infer(void)
{
	struct strv blueprints = { 0 };
	const struct infer_known known = { .blueprint_of = blueprint_of,
					   .blueprints = &blueprints };
	size_t i;

	if (strv_push(&blueprints, "base") < 0 ||
	    strv_push(&blueprints, "claude") < 0 ||
	    strv_push(&blueprints, "claude-desktop") < 0)
		abort();
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct infer_words words = words_of(rows[i].words);
		struct infer who = { .exists = false };
		struct err err = { 0 };
		int rc = infer_names(&words, &known, &who, &err);

		is_int(rc, rows[i].want, "row %zu: %s", i,
		       rows[i].words[0] ? rows[i].words[0] : "");
		is_str(err.word, word_of(rc), "row %zu: its word", i);
		if (rc == 0) {
			is_str(who.instance, rows[i].instance,
			       "row %zu: instance", i);
			is_str(who.blueprint, rows[i].blueprint,
			       "row %zu: blueprint", i);
			is_int(who.exists, rows[i].exists, "row %zu: there", i);
		}
		if (rows[i].says)
			ok(strstr(err.msg, rows[i].says),
			   "row %zu says '%s': %s", i, rows[i].says, err.msg);
	}
	strv_done(&blueprints);
}

/* A blueprint and a directory; a name makes the directory no part of it. */
static const struct {
	const char *word, *blueprint, *name, *dir;
	const char *instance;
	bool exists;
} dirs[] = {
	{ "claude", NULL, NULL, "/new/place", "claude-place", false },
	{ "claude", NULL, NULL, "/new/My Code", "claude-my-code", false },
	{ "claude", NULL, NULL, "/a/src", "claude-src", true },
	{ "claude", NULL, NULL, "/b/src", "claude-src-2", true },
	{ "claude", NULL, NULL, "/c/src", "claude-src-3", false },
	/* An instance with files of its own has another directory. */
	{ "claude", NULL, NULL, "/a/bare", "claude-bare-2", false },
	/* Those before it are gone, yet it is the one with the directory. */
	{ "claude", NULL, NULL, "/h/here", "claude-here-3", true },
	{ "claude", NULL, NULL, "/i/here", "claude-here", false },
	/* Its name is that of another blueprint's. */
	{ "claude", NULL, NULL, "/x/base1", "claude-base1-2", false },
	{ "base", NULL, NULL, "/", "base-", false },
	{ NULL, "claude", NULL, "/b/src", "claude-src-2", true },
	{ NULL, "claude", "work", "/b/src", "work", true },
	{ NULL, "base", "new", "/b/src", "new", false },
	{ "work", NULL, NULL, "/b/src", "work", true },
	{ "my-base-2", NULL, NULL, "/b/src", "my-base-2", false },
};

static void test_dirs(void)
{
	struct strv blueprints = { 0 };
	const struct infer_known known = { .blueprint_of = blueprint_of,
					   .workspace_of = workspace_of,
					   .blueprints = &blueprints };

	if (strv_push(&blueprints, "base") < 0 ||
	    strv_push(&blueprints, "claude") < 0)
		abort();
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		const struct infer_words words = { dirs[i].word,
						   dirs[i].blueprint,
						   dirs[i].name, dirs[i].dir };
		struct infer who = { .exists = false };
		struct err err = { 0 };
		int rc = infer_names(&words, &known, &who, &err);

		is_int(rc, 0, "row %zu: %s %s", i, dirs[i].dir, err.msg);
		is_str(who.instance, dirs[i].instance, "row %zu: instance", i);
		is_int(who.exists, dirs[i].exists, "row %zu: there", i);
	}
	strv_done(&blueprints);
}

static const char *always_base(void *arg, const char *name)
{
	(void)arg;
	(void)name;
	return "base";
}

static void test_dir_names(void)
{
	const struct infer_known known = { .blueprint_of = always_base,
					   .workspace_of = workspace_of };
	const struct infer_words words = { .blueprint = "base",
					   .dir = "/tmp/x" };
	char name[AC_NAME_MAX + 1], dir[200] = "/d/";
	struct infer who = { .exists = false };
	struct err err = { 0 };

	infer_dir_name("a", "/x/\303\251T\n~", 1, name);
	is_str(name, "a---t--", "what no name may have is a dash");
	memset(dir + 3, 'k', sizeof(dir) - 4);
	infer_dir_name("claude", dir, 1, name);
	is_int((int)strlen(name), AC_NAME_MAX, "a long one is cut");
	is_int(name_check_instance(name, &err), 0, "to a name: %s", err.msg);
	infer_dir_name("claude", dir, 12, name);
	is_int((int)strlen(name), AC_NAME_MAX, "with its number too");
	is_str(name + AC_NAME_MAX - 4, "k-12", "which is whole");
	is_int(infer_names(&words, &known, &who, &err), -EEXIST, "all taken");
	is_str(err.word, "name_collision", "its word");
	ok(strstr(err.msg, "base-x-99"), "and how to go on: %s", err.msg);
}

static void test_blueprint(void)
{
	struct strv list = { 0 }, none = { 0 };
	struct err err = { 0 };

	if (strv_push(&list, "base") < 0 || strv_push(&list, "claude") < 0)
		abort();
	is_int(infer_check_blueprint("claude", &list, &err), 0, "it is there");
	is_int(infer_check_blueprint("bse", &list, &err), -ENOENT, "it is not");
	is_str(err.msg, "there is no blueprint 'bse'; known are: base, claude",
	       "and those that are");
	is_str(err.word, "unknown_blueprint", "its word");
	is_int(infer_check_blueprint("x", &none, &err), -ENOENT, "none is: %s",
	       err.msg);
	strv_done(&list);
}

int main(void)
{
	test_infer();
	test_dirs();
	test_dir_names();
	test_blueprint();
	return done_testing();
}
