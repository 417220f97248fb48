/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_options_test.c - which words a run starts, and with what terminal
 */
#include "control/acd/instance/run_options.h"

#include <string.h>

#include "control/acd/blueprint/blueprint.h"
#include "control/shared/json.h"
#include "tests/unit/tap.h"

#define WORDS 4

static const struct {
	const char *name;
	bool append, headless, resumes; /* of the blueprint */
	const char *prompt, *argv[WORDS];
	bool shell, detached, tty, resume;
	int want;
	const char *became[WORDS]; /* the words */
	bool is_tty, is_stdin;
} rows[] = {
	{ .name = "nothing", .became = { NULL } },
	{ .name = "a command",
	  .argv = { "ls", "-l" },
	  .became = { "ls", "-l" } },
	{ .name = "appended",
	  .append = true,
	  .argv = { "-l" },
	  .became = { "agent", "-y", "-l" } },
	{ .name = "nothing to append", .append = true, .became = { NULL } },
	{ .name = "a command in place of the shell",
	  .append = true,
	  .shell = true,
	  .argv = { "ls" },
	  .became = { "ls" } },
	{ .name = "a prompt",
	  .headless = true,
	  .prompt = "do it",
	  .became = { "agent", "-p{prompt}" } },
	{ .name = "and words",
	  .append = true,
	  .headless = true,
	  .prompt = "do it",
	  .argv = { "-v" },
	  .became = { "agent", "-p{prompt}", "-v" } },
	{ .name = "and a command",
	  .headless = true,
	  .prompt = "do it",
	  .argv = { "ls" },
	  .want = -EINVAL },
	{ .name = "a prompt for none",
	  .append = true,
	  .prompt = "do it",
	  .want = -EINVAL },
	{ .name = "going on",
	  .resumes = true,
	  .resume = true,
	  .became = { "agent", "-c" } },
	{ .name = "going on, and words",
	  .append = true,
	  .resumes = true,
	  .resume = true,
	  .argv = { "-v" },
	  .became = { "agent", "-c", "-v" } },
	{ .name = "going on, and a command",
	  .resumes = true,
	  .resume = true,
	  .argv = { "ls" },
	  .want = -EINVAL },
	{ .name = "going on with none",
	  .append = true,
	  .headless = true,
	  .resume = true,
	  .want = -EINVAL },
	{ .name = "one that could go on",
	  .append = true,
	  .resumes = true,
	  .argv = { "-v" },
	  .became = { "agent", "-y", "-v" } },
	{ .name = "going on, detached",
	  .resumes = true,
	  .resume = true,
	  .detached = true,
	  .became = { "agent", "-c" },
	  .is_tty = true,
	  .is_stdin = true },
	{ .name = "detached",
	  .detached = true,
	  .is_tty = true,
	  .is_stdin = true },
	{ .name = "detached, with a command",
	  .detached = true,
	  .argv = { "ls" },
	  .became = { "ls" } },
	{ .name = "detached, on a terminal",
	  .detached = true,
	  .tty = true,
	  .argv = { "ls" },
	  .became = { "ls" },
	  .is_tty = true,
	  .is_stdin = true },
	{ .name = "detached, appended",
	  .append = true,
	  .detached = true,
	  .argv = { "-l" },
	  .became = { "agent", "-y", "-l" },
	  .is_tty = true,
	  .is_stdin = true },
	{ .name = "detached, a prompt",
	  .append = true,
	  .headless = true,
	  .detached = true,
	  .prompt = "x",
	  .became = { "agent", "-p{prompt}" } },
};

static void push(struct strv *sv, const char *word)
{
	if (strv_push(sv, word) < 0)
		abort();
}

static void test_complete(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct blueprint bp = { .args_append = rows[i].append };
		struct run_options o = { .shell = rows[i].shell,
					 .detached = rows[i].detached,
					 .tty = rows[i].tty,
					 .resume = rows[i].resume };
		struct err err = { 0 };
		size_t k, n = 0;

		push(&bp.command, "agent");
		push(&bp.command, "-y");
		bp.name = strdup("claude");
		if (rows[i].headless) {
			push(&bp.headless, "agent");
			push(&bp.headless, "-p{prompt}");
		}
		if (rows[i].resumes) {
			push(&bp.resume, "agent");
			push(&bp.resume, "-c");
		}
		for (k = 0; k < WORDS && rows[i].argv[k]; k++)
			push(&o.argv, rows[i].argv[k]);
		if (rows[i].prompt)
			o.prompt = strdup(rows[i].prompt);
		is_int(run_options_complete(&bp, &o, &err), rows[i].want,
		       "%s %s", rows[i].name, err.msg);
		while (n < WORDS && rows[i].became[n])
			n++;
		if (rows[i].want == 0) {
			is_int((int)o.argv.n, (int)n, "its words");
			for (k = 0; k < n && k < o.argv.n; k++)
				is_str(o.argv.v[k], rows[i].became[k],
				       "word %zu", k);
			is_int(o.tty, rows[i].is_tty, "a terminal");
			is_int(o.use_stdin, rows[i].is_stdin, "stdin");
		}
		run_options_done(&o);
		blueprint_done(&bp);
	}
}

/* A run without a credential leaves the others. */
static void test_without(void)
{
	SCOPED_JSON list = json_pack("[s, s, s]", "one", "two", "three");
	struct blueprint bp = { 0 };
	struct run_options o = { 0 };
	struct err err = { 0 };

	push(&o.without, "two");
	push(&o.without, "other");
	if (credentials_parse(list, &bp.credentials, &err) < 0)
		abort();
	is_int(run_options_complete(&bp, &o, &err), 0, "without %s", err.msg);
	is_int((int)bp.credentials.n, 2, "one of them");
	ok(credentials_find(&bp.credentials, "one") &&
		   credentials_find(&bp.credentials, "three"),
	   "the others stay");
	run_options_done(&o);
	blueprint_done(&bp);
}

static void test_fill(void)
{
	struct strv from = { 0 }, to = { 0 };

	push(&from, "agent");
	push(&from, "<{prompt}>");
	push(&from, "{prompt}");
	is_int(run_argv_fill(&from, "a {prompt} b", &to), 0, "filled");
	is_int((int)to.n, 3, "all words");
	is_str(to.v[1], "<a {prompt} b>", "in its word");
	is_str(to.v[2], "{prompt}", "the user's own stays");
	strv_done(&from);
	strv_done(&to);
}

int main(void)
{
	test_complete();
	test_without();
	test_fill();
	return done_testing();
}
