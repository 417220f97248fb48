/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer_test.c - which instance of which blueprint words mean
 */
#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

#include "control/cli/cmd/cp.h"
#include "control/cli/cmd/cp_dest.h"
#include "control/cli/host/infer.h"
#include "control/cli/host/stopped.h"
#include "control/shared/json.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

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
	{ { "nothing" }, -ENOENT, false, NULL, NULL, "base, claude" },
};

static void test_infer(void)
{
	SCOPED_JSON instances = json_pack(
		"[{s:s, s:s}, {s:s, s:s}, {s:s, s:s}]", "name", "work",
		"blueprint", "claude", "name", "s_", "blueprint", "base",
		"name", "claude_session", "blueprint", "base");
	SCOPED_JSON blueprints = json_pack("[{s:s}, {s:s}, {s:s}]", "name",
					   "base", "name", "claude", "name",
					   "claude-desktop");
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct infer who = { .exists = false };
		struct err err = { 0 };
		size_t n = rows[i].words[1] ? 2 : 1;
		int rc = infer_names(rows[i].words, n, instances, blueprints,
				     &who, &err);

		is_int(rc, rows[i].want, "row %zu: %s", i, rows[i].words[0]);
		if (rc == 0) {
			is_str(who.instance, rows[i].instance,
			       "row %zu: instance", i);
			is_str(who.blueprint, rows[i].blueprint,
			       "row %zu: blueprint", i);
			is_int(who.exists, rows[i].exists, "row %zu: there", i);
		}
		if (rows[i].says)
			ok(strstr(err.msg, rows[i].says),
			   "row %zu says '%s': "
			   "%s",
			   i, rows[i].says, err.msg);
	}
}

static void test_copy_sides(void)
{
	static const struct {
		const char *word;
		int want;
		bool remote, stream;
		const char *name, *path;
	} sides[] = {
		{ "a", 0, false, false, "", "a" },
		{ "-", 0, false, true, "", "-" },
		{ "box:/etc", 0, true, false, "box", "/etc" },
		{ "b:x", 0, true, false, "b_", "x" },
		{ "box:a:b", 0, true, false, "box", "a:b" },
		{ "./a:b", 0, false, false, "", "./a:b" },
		{ "/a:b", 0, false, false, "", "/a:b" },
		{ "box:", 0, true, false, "box", "/workspace" },
		{ ":x", -EINVAL, true, false, "", "" },
		{ "", -EINVAL, false, false, "", "" },
	};
	static const char *const bases[][2] = {
		{ "a", "a" },   { "a/b", "b" },  { "/a/b/", "b" },
		{ "a//", "a" }, { "..", NULL },  { "/", NULL },
		{ "", NULL },   { "a/.", NULL }, { "...", "..." },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sides); i++) {
		struct err err = { 0 };
		struct cp_side s;
		int rc = cp_side_parse(sides[i].word, &s, &err);

		is_int(rc, sides[i].want, "copy side '%s'", sides[i].word);
		if (rc < 0)
			continue;
		ok(s.remote == sides[i].remote && s.stream == sides[i].stream &&
			   strcmp(s.name, sides[i].name) == 0,
		   "whose side '%s' is", sides[i].word);
		is_str(s.path, sides[i].path, "its path");
	}
	for (i = 0; i < ARRAY_SIZE(bases); i++) {
		char base[256];
		int rc = cp_base_name(bases[i][0], base, sizeof(base));

		is_str(rc < 0 ? NULL : base, bases[i][1], "name of '%s'",
		       bases[i][0]);
	}
}

static void test_blueprint(void)
{
	SCOPED_JSON list =
		json_pack("[{s:s}, {s:s}]", "name", "base", "name", "claude");
	SCOPED_JSON none = json_array();
	struct err err = { 0 };

	is_int(infer_check_blueprint("claude", list, &err), 0, "it is there");
	is_int(infer_check_blueprint("bse", list, &err), -ENOENT, "it is not");
	is_str(err.msg, "there is no blueprint 'bse'; known are: base, claude",
	       "and those that are");
	is_int(infer_check_blueprint("x", none, &err), -ENOENT, "none is: %s",
	       err.msg);
}

/* Nobody listens, and there is no store: nothing may be started for a word
 * that can mean nothing. */
static void test_stopped(void)
{
	char home[] = "/tmp/cli_names_test.XXXXXX", host[] = "h";
	SCOPED_STR sock = NULL;
	struct cli cli = { .host = host };
	struct args a = { .words = { "nope" }, .n_words = 1 };
	struct err err = { 0 };

	if (!ok(mkdtemp(home) != NULL, "a home"))
		return;
	sock = str_printf("%s/acd.sock", home);
	cli.home = home;
	cli.sock = sock;
	is_int(stopped_check(&cli, &a, &err), -ENOENT, "%s", err.msg);
	a.words[0] = "../x";
	is_int(stopped_check(&cli, &a, &err), -EINVAL, "%s", err.msg);
	a.n_words = 0;
	is_int(stopped_check(&cli, &a, &err), 0, "no word, no question");
	rmdir(home);
}

int main(void)
{
	test_infer();
	test_blueprint();
	test_stopped();
	test_copy_sides();
	return done_testing();
}
