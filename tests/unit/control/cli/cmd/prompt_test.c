/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prompt_test.c - where a task comes from, and where its result is
 */
#include "control/cli/cmd/prompt.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "control/shared/json.h"
#include "control/shared/names.h"
#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

/* ---- the task ---- */

static void read_is(const char *given, int want, const char *text,
		    const char *what)
{
	SCOPED_STR got = NULL;
	struct err err = { 0 };

	is_int(prompt_read(given, &got, &err), want, "%s: %s", what, err.msg);
	is_str(got ? got : "none", text ? text : "none", "%s, its text", what);
}

static void stdin_is(const char *path)
{
	SCOPED_FD fd = open(path, O_RDONLY | O_CLOEXEC);

	if (dup2(fd, STDIN_FILENO) < 0)
		abort();
}

static void test_read(void)
{
	static char much[AC_PROMPT_MAX + 3], path[] = "/tmp/ac-prompt.XXXXXX";
	SCOPED_FD fd = mkstemp(path);
	SCOPED_STR at = str_printf("@%s", path);
	const size_t max = AC_PROMPT_MAX;

	ok(fd >= 0, "a file");
	read_is("fix it", 0, "fix it", "words");
	read_is("two\nlines\n", 0, "two\nlines", "a line end behind it");
	read_is("", -EINVAL, NULL, "nothing");
	read_is("\n\n", -EINVAL, NULL, "line ends");
	read_is("\xff\xfe", -EINVAL, NULL, "bytes that are no text");
	memset(much, 'x', max + 1);
	read_is(much, -EINVAL, NULL, "a byte too many");
	file_write_atomic(path, much, max + 1, 0600);
	stdin_is(path);
	read_is(at, -EINVAL, NULL, "in a file");
	read_is("-", -EINVAL, NULL, "on stdin");
	much[max] = '\n';
	file_write_atomic(path, much, max + 1, 0600);
	stdin_is(path);
	much[max] = '\0';
	read_is(at, 0, much, "as much as there may be, in a file");
	read_is("-", 0, much, "on stdin");
	read_is("-", -EINVAL, NULL, "stdin at its end");
	file_write_atomic(path, "a\0b", 3, 0600);
	stdin_is(path);
	read_is(at, -EINVAL, NULL, "a NUL in a file");
	read_is("-", -EINVAL, NULL, "a NUL on stdin");
	read_is("@/no/such/file", -ENOENT, NULL, "a file that is not there");
	read_is("@/tmp", -EINVAL, NULL, "a directory");
	unlink(path);
}

/* ---- the result ---- */

static const struct {
	const char *output, *path, *want; /* as JSON; NULL: none */
} members[] = {
	{ "{\"result\":\"done\"}", ".result", "\"done\"" },
	{ "{\"result\":\"done\"}", "result", "\"done\"" },
	{ "{\n \"a\": {\n  \"b\": [1, \"x\"]\n }\n}\n", ".a.b.1", "\"x\"" },
	{ "{\"a\":1}\n{\"a\":2}\n", ".a", "2" },
	{ "{\"a\":1}\n{\"b\":2}\n", ".a", "1" },
	{ "warning: x\n{\"a\":{\"b\":0}}\nbye {\n\n", ".a", "{\"b\":0}" },
	{ "{\"a\":1}\r\n", ".a", "1" },
	{ "{\"a\":null}", ".a", NULL },
	{ "{\"a\":1}", ".a.b", NULL },
	{ "{\"a\":[1]}", ".a.1", NULL },
	{ "{\"a\":[1]}", ".a.-1", NULL },
	{ "{\"a\":1}", ".", NULL },
	{ "{\"\":1}", "..", NULL },
	{ "{\"a\":1", ".a", NULL },
	{ "Invalid API key", ".result", NULL },
	{ "", ".a", NULL },
	{ "\n\n", ".a", NULL },
	{ "{\"a\":1}", NULL, NULL },
};

static void test_members(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		SCOPED_JSON v = prompt_member(slice_str(members[i].output),
					      members[i].path);
		SCOPED_STR got =
			v ? json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY) :
			    NULL;

		is_str(got ? got : "none",
		       members[i].want ? members[i].want : "none", "member %zu",
		       i);
	}
}

/* What is printed of @output, in memory until the next call. */
static const char *printed(const char *output, const char *message,
			   const char *usage, bool json)
{
	static char text[1024];
	SCOPED_FD mem = memfd_create("out", MFD_CLOEXEC);
	SCOPED_FD out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	struct prompt p = { .collects = true };
	const struct cli cli = { .json = json };
	struct err err = { 0 };
	int rc;

	memset(text, 0, sizeof(text));
	buf_init(&p.out, PROMPT_OUTPUT_MAX);
	p.message_path = message ? strdup(message) : NULL;
	p.usage_path = usage ? strdup(usage) : NULL;
	if (buf_append(&p.out, output, strlen(output)) < 0)
		abort();
	fflush(stdout);
	dup2(mem, STDOUT_FILENO);
	rc = prompt_print(&p, &cli, 3, &err);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	prompt_done(&p);
	if (rc < 0)
		snprintf(text, sizeof(text), "%s", err.msg);
	else if (pread(mem, text, sizeof(text) - 1, 0) < 0)
		abort();
	return text;
}

static void test_print(void)
{
	static const char of[] = "{\"r\":\"all is well\",\"u\":{\"in\":5}}\n";

	is_str(printed(of, ".r", ".u", false), "all is well\n", "the message");
	is_str(printed(of, ".u", NULL, false), "{\"in\":5}\n",
	       "one that is no text");
	is_str(printed("no key", ".r", ".u", false), "no key\n",
	       "all of it without one");
	is_str(printed(of, ".r", ".u", true),
	       "{\"exit_code\":3,\"message\":\"all is well\",\"usage\":"
	       "{\"in\":5}}\n",
	       "both, and the code");
	is_str(printed("a\nb\n", NULL, NULL, true),
	       "{\"exit_code\":3,\"message\":\"a\\nb\\n\",\"usage\":null}\n",
	       "of plain text");
	is_str(printed("\xff!", NULL, NULL, true),
	       "{\"exit_code\":3,\"message\":\"?!\",\"usage\":null}\n",
	       "of bytes");
	is_str(printed("", NULL, NULL, true),
	       "{\"exit_code\":3,\"message\":\"\",\"usage\":null}\n",
	       "of nothing");
}

int main(void)
{
	test_read();
	test_members();
	test_print();
	return done_testing();
}
