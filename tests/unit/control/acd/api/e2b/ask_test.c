/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask_test.c - what clients of E2B's API ask for, read out of its JSON
 */
#include "control/acd/api/e2b/ask.h"

#include <errno.h>
#include <stdlib.h>

#include "control/shared/json.h"
#include "tests/unit/tap.h"

static void test_box(void)
{
	static const struct {
		const char *body;
		int rc;
		const char *options; /* JSON, sorted */
	} rows[] = {
		{ "{}", 0, "{}" },
		{ "{\"templateID\": \"base:v1\", \"metadata\": {\"a\": \"b\"}, "
		  "\"timeout\": 5, \"secure\": false, \"mcp\": null}",
		  0, "{}" },
		{ "{\"envVars\": {\"A\": \"1\", \"B\": \"\"}}", 0,
		  "{\"env\":[\"A=1\",\"B=\"]}" },
		{ "{\"allow_internet_access\": true}", 0,
		  "{\"egress\":[\"open\"]}" },
		{ "{\"allow_internet_access\": false}", 0,
		  "{\"egress\":[\"locked\"]}" },
		{ "{\"autoPause\": true, \"autoResume\": {\"enabled\": false}, "
		  "\"autoPauseMemory\": true, \"volumeMounts\": []}",
		  0, "{}" },
		{ "{\"autoPauseMemory\": false}", -ENOTSUP, NULL },
		{ "{\"autoResume\": {\"enabled\": true}}", -ENOTSUP, NULL },
		{ "{\"mcp\": {\"x\": {}}}", -ENOTSUP, NULL },
		{ "{\"network\": {\"allowOut\": [\"a\"]}}", -ENOTSUP, NULL },
		{ "{\"newer\": 1}", -ENOTSUP, NULL },
		{ "{\"templateID\": \"a/b\"}", -ENOENT, NULL },
		{ "{\"templateID\": \"../base\"}", -ENOENT, NULL },
		{ "{\"templateID\": \":x\"}", -ENOENT, NULL },
		{ "{\"templateID\": 7}", -EINVAL, NULL },
		{ "{\"timeout\": -1}", -EINVAL, NULL },
		{ "{\"timeout\": 99999999}", -EINVAL, NULL },
		{ "{\"metadata\": {\"a\": 1}}", -EINVAL, NULL },
		{ "{\"metadata\": []}", -EINVAL, NULL },
		{ "{\"envVars\": {\"A=B\": \"\"}}", -EINVAL, NULL },
		{ "{\"envVars\": {\"A\": \"\\u0000\"}}", -EINVAL, NULL },
		{ "{\"envVars\": {\"1A\": \"\"}}", -EINVAL, NULL },
		{ "{\"envVars\": [\"A=B\"]}", -EINVAL, NULL },
		{ "{\"allow_internet_access\": \"no\"}", -EINVAL, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		SCOPED_JSON body =
			json_loads(rows[i].body, JSON_ALLOW_NUL, NULL);
		SCOPED_STR options = NULL;
		struct ask_box ask;
		struct err err = { 0 };

		is_int(ask_box(body, &ask, &err), rows[i].rc, "%s: %s",
		       rows[i].body, err.msg);
		options =
			json_dumps(ask.options, JSON_COMPACT | JSON_SORT_KEYS);
		if (rows[i].rc == 0) {
			is_str(options, rows[i].options, "its options");
			is_str(ask.blueprint, "base", "its blueprint");
		}
		json_decref(ask.options);
	}
}

static void test_path(void)
{
	static const struct {
		const char *path, *is;
	} rows[] = {
		{ NULL, E2B_HOME },
		{ "", E2B_HOME },
		{ ".", E2B_HOME },
		{ "~", E2B_HOME },
		{ "~/a", E2B_HOME "/a" },
		{ "~a", E2B_HOME "/~a" },
		{ "a/b/", E2B_HOME "/a/b" },
		{ "/a", "/a" },
		{ "/", "/" },
		{ "//", "/" },
		{ "/a//b/./c/", "/a/b/c" },
		{ "/a/b/../c", "/a/c" },
		{ "/../..", "/" },
		{ "../x", "/home/x" },
		{ "/a/...", "/a/..." },
		{ "/a/.b", "/a/.b" },
		{ "/a/..b/..", "/a" },
	};
	char got[FILEWIRE_PATH_MAX + 1], longest[FILEWIRE_PATH_MAX + 2];
	struct err err = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		ok(ask_path(rows[i].path, got, &err) == 0, "a path");
		is_str(got, rows[i].is, "%s", rows[i].path);
	}
	memset(longest, 'a', sizeof(longest) - 1);
	longest[0] = '/';
	longest[sizeof(longest) - 1] = '\0';
	ok(ask_path(longest, got, &err) < 0, "too long");
	longest[sizeof(longest) - 2] = '\0';
	ok(ask_path(longest, got, &err) == 0, "as long as may be");
	longest[0] = 'b';
	ok(ask_path(longest, got, &err) < 0, "too long below home");
}

static void test_start(void)
{
	SCOPED_JSON body = json_loads(
		"{\"process\": {\"cmd\": \"/bin/bash\", \"args\": [\"-c\", "
		"\"x\"],"
		" \"envs\": {\"A\": \"b\"}, \"cwd\": \"w\"}, \"stdin\": false,"
		" \"pty\": {\"size\": {\"rows\": 2, \"cols\": 3}}}",
		0, NULL);
	static const char *const bad[] = {
		"{}",
		"{\"process\": {}}",
		"{\"process\": {\"cmd\": \"\"}}",
		"{\"process\": {\"cmd\": \"a\", \"args\": [1]}}",
		"{\"process\": {\"cmd\": \"a\", \"envs\": {\"=\": \"\"}}}",
		"{\"process\": {\"cmd\": \"a\"}, \"tag\": \"t\"}",
		("{\"process\": {\"cmd\": \"a\"}, \"pty\": {\"size\": "
		 "{\"rows\": 70000}}}"),
	};
	struct ask_start ask;
	struct err err = { 0 };

	ok(ask_start(body, &ask, &err) == 0 && ask.options.argv.n == 3 &&
		   ask.options.env.n == 1 && ask.options.tty && ask.input &&
		   ask.options.rows == 2 && ask.options.cols == 3 &&
		   ask.options.detached,
	   "a command: %s", err.msg);
	is_str(ask.options.cwd, E2B_HOME "/w", "its directory");
	run_options_done(&ask.options);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		SCOPED_JSON v = json_loads(bad[i], 0, NULL);

		err = (struct err){ 0 };
		ok(ask_start(v, &ask, &err) < 0, "%s: %s", bad[i], err.msg);
		run_options_done(&ask.options);
	}
}

static void test_small(void)
{
	SCOPED_JSON pid = json_pack("{s:{s:i}}", "process", "pid", 7);
	SCOPED_JSON zero = json_pack("{s:{s:i}}", "process", "pid", 0);
	SCOPED_JSON tag = json_pack("{s:{s:s}}", "process", "tag", "x");
	SCOPED_JSON input = json_pack("{s:{s:s}}", "input", "stdin", "aGk=");
	SCOPED_JSON wrong = json_pack("{s:{s:s}}", "input", "pty", "a*");
	SCOPED_JSON kill = json_pack("{s:s}", "signal", "SIGNAL_SIGKILL");
	SCOPED_JSON hup = json_pack("{s:i}", "signal", 1);
	SCOPED_JSON none = json_object();
	struct err err = { 0 };
	struct slice data;
	uint8_t *mem;
	uint32_t n = 0;

	ok(ask_pid(pid, &n, &err) == 0 && n == 7, "a pid");
	ok(ask_pid(zero, &n, &err) == -EINVAL, "no pid");
	ok(ask_pid(tag, &n, &err) == -ENOTSUP, "a tag");
	ok(ask_pid(none, &n, &err) == -EINVAL, "nothing");
	ok(ask_input(input, &mem, &data, &err) == 0 &&
		   slice_eq(data, slice_str("hi")),
	   "input");
	free(mem);
	ok(ask_input(none, &mem, &data, &err) == 0 && data.len == 0, "none");
	ok(ask_input(wrong, &mem, &data, &err) == -EINVAL, "no Base64");
	ok(ask_signal(kill, &n, &err) == 0 && n == 9, "a signal");
	ok(ask_signal(hup, &n, &err) == -EINVAL, "another one");
	ok(ask_user(NULL, &err) == 0, "no user");
	ok(ask_user("Basic dXNlcjo=", &err) == 0, "user");
	ok(ask_user("Basic cm9vdDo=", &err) == -ENOTSUP, "root");
	ok(ask_user("Basic *", &err) == -EINVAL, "no Base64");
	ok(ask_memory(none, &err) == 0, "with memory");
	json_object_set_new(none, "memory", json_false());
	ok(ask_memory(none, &err) == -ENOTSUP, "without");
}

int main(void)
{
	test_box();
	test_path();
	test_start();
	test_small();
	return done_testing();
}
