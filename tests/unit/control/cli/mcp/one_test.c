/* SPDX-License-Identifier: Apache-2.0 */
/*
 * one_test.c - what sandbox_exec takes, and what it says about an end
 */
#include "control/cli/mcp/one.h"

#include "control/shared/json.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static const struct cli cli;
static const struct args none;
static const struct mcp_opts opts = { .cli = &cli,
				      .args = &none,
				      .shell = "/bin/bash",
				      .timeout_ms = 120000,
				      .output_max = 100 };

static void test_arguments(void)
{
	static const struct {
		const char *args;
		const char *says; /* NULL: they are taken */
	} rows[] = {
		{ "{\"command\":\"x\"}", NULL },
		{ "{\"command\":\"x\",\"args\":null,\"timeout\":null}", NULL },
		{ "{\"args\":[\"a\",\"\"]}", NULL },
		{ "{\"args\":[\"a\"],\"stdin\":\"\",\"timeout\":1,"
		  "\"working_directory\":\"/tmp\"}",
		  NULL },
		{ "{\"command\":\"x\",\"timeout\":9223372036854775807}", NULL },
		{ "{\"command\":\"x\",\"stdin\":\"a\\u0000b\"}", NULL },
		{ "{}", "either" },
		{ "{\"command\":\"x\",\"args\":[\"a\"]}", "either" },
		{ "{\"command\":\"\"}", "command" },
		{ "{\"args\":[]}", "args" },
		{ "{\"command\":[\"x\"]}", "command" },
		{ "{\"args\":\"x\"}", "args" },
		{ "{\"args\":[1]}", "args" },
		{ "{\"command\":\"a\\u0000b\"}", "NUL" },
		{ "{\"args\":[\"a\",\"b\\u0000\"]}", "NUL" },
		{ "{\"command\":\"x\",\"timeout\":0}", "timeout" },
		{ "{\"command\":\"x\",\"timeout\":1.5}", "timeout" },
		{ "{\"command\":\"x\",\"timeout\":\"1\"}", "timeout" },
		{ "{\"command\":\"x\",\"working_directory\":\"a\"}",
		  "absolute" },
		{ "{\"command\":\"x\",\"working_directory\":\"\"}",
		  "absolute" },
		{ "{\"command\":\"x\",\"env\":{}}", "env" },
		{ "{\"command\":\"x\",\"stdin\":3}", "stdin" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		SCOPED_JSON args =
			json_loads(rows[i].args, JSON_ALLOW_NUL, NULL);
		struct tool_call c = { .o = &opts, .args = args };
		struct err err = { 0 };

		is_int(tool_check(&one_tool, &c, &err),
		       rows[i].says ? -EINVAL : 0, "%s", rows[i].args);
		if (rows[i].says)
			ok(strstr(err.msg, rows[i].says), "says: %s", err.msg);
	}
}

static void test_stdin_limit(void)
{
	for (size_t more = 0; more < 2; more++) {
		size_t len = ONE_STDIN_MAX + more;
		SCOPED_MEM mem = calloc(1, len);
		SCOPED_JSON args = NULL;
		struct tool_call c = { .o = &opts };
		struct err err = { 0 };

		if (!ok(mem, "memory"))
			return;
		memset(mem, 'a', len);
		args = json_pack("{s:s, s:s%}", "command", "x", "stdin", mem,
				 len);
		c.args = args;
		is_int(tool_check(&one_tool, &c, &err), more ? -EINVAL : 0,
		       "a stdin of %zu bytes", len);
	}
}

static void test_end(const char *what, const struct link_exit *x, bool over,
		     const char *out, const char *says, int code)
{
	struct command_end e = { .over = over, .wall_ms = 7 };
	SCOPED_JSON got = NULL;
	const char *err;

	if (x)
		e.exit = *x;
	buf_init(&e.out, 100);
	buf_init(&e.err, 100);
	if (buf_append(&e.out, "out\xff", 4) < 0 ||
	    buf_append(&e.err, "e\0", 2) < 0)
		return;
	got = one_result(&e, "prog", 3000, 2048);
	err = json_text(got, "stderr");
	is_str(json_text(got, "stdout"), out, "%s: stdout", what);
	ok(says ? strstr(err, says) || strstr(err + strlen(err) + 1, says) :
		  strcmp(err, "e") == 0,
	   "stderr: %s", err);
	is_int(json_count(got, "exit_code"), code, "the exit code");
	is_int(json_count(got, "exec_duration_ms"), 7, "the duration");
	command_end_done(&e);
}

#define OUT "out\xef\xbf\xbd"

static void test_ends(void)
{
	const struct link_exit fine = { .kind = LINK_EXITED, .value = 3 };
	const struct link_exit killed = { .kind = LINK_SIGNALED, .value = 9 };
	const struct link_exit late = { .kind = LINK_TIMEOUT };
	const struct link_exit full = { .kind = LINK_OOM };
	const struct link_exit noexec = { .kind = LINK_NOEXEC,
					  .value = ENOENT };
	const struct link_exit nocwd = { .kind = LINK_NOCWD, .value = ENOENT };

	test_end("an exit", &fine, false, OUT, NULL, 3);
	test_end("a signal", &killed, false, OUT, NULL, 137);
	test_end("a time limit", &late, false, "", "after 3 s", 124);
	test_end("an output limit", NULL, true, "", "2.0 KiB", 1);
	test_end("no memory", &full, false, OUT, "out of memory", 137);
	test_end("no program", &noexec, false, OUT, "prog: No such file", 127);
	test_end("no directory", &nocwd, false, OUT, "working directory", 126);
}

static void test_entry(void)
{
	struct mcp_opts o = opts;
	SCOPED_JSON plain = tool_entry(&one_tool, &o);
	SCOPED_JSON more = NULL;
	SCOPED_JSON other = NULL;
	const json_t *in = json_object_get(plain, "inputSchema");
	const json_t *props = json_object_get(in, "properties");
	const json_t *out = json_object_get(plain, "outputSchema");

	is_str(json_text(plain, "name"), "sandbox_exec", "its name");
	is_int(json_object_size(props), 5, "what it takes");
	ok(json_is_false(json_object_get(in, "additionalProperties")),
	   "and nothing else");
	is_int(json_array_size(json_object_get(out, "required")), 4,
	       "what it gives");
	o.about_more = "and more";
	more = tool_entry(&one_tool, &o);
	ok(str_ends(json_text(more, "description"), "\n\nand more") &&
		   strlen(json_text(more, "description")) > 20,
	   "a description with more");
	o.about_more = NULL;
	o.about = "other";
	other = tool_entry(&one_tool, &o);
	is_str(json_text(other, "description"), "other", "another one");
}

int main(void)
{
	test_arguments();
	test_stdin_limit();
	test_ends();
	test_entry();
	return done_testing();
}
