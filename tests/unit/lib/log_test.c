/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_test.c - one line each, whatever the text
 */
#include "lib/log.h"

#include <fcntl.h>

#include "lib/file.h"
#include "tests/unit/tap.h"

#define LINE_MAX_BYTES 65536

/* What @text becomes as an info line; the caller frees. */
static char *log_line(const char *text)
{
	char path[] = "/tmp/log_test-XXXXXX";
	SCOPED_FD file = mkostemp(path, O_CLOEXEC);
	SCOPED_FD saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	char *line = NULL;

	dup2(file, STDERR_FILENO);
	errno = EAGAIN;
	log_info("%s", text);
	if (errno != EAGAIN)
		log_error("errno is lost");
	dup2(saved, STDERR_FILENO);
	file_read(path, LINE_MAX_BYTES, &line, NULL);
	unlink(path);
	return line;
}

static void check(const char *text, const char *want, const char *what)
{
	SCOPED_STR line = log_line(text);

	is_str(line, want, "%s", what);
}

static void test_long(const char *end)
{
	static char text[30000];
	SCOPED_STR line = NULL;
	size_t len;

	memset(text, '\\', sizeof(text) - 1);
	line = log_line(text);
	len = line ? strlen(line) : 0;
	ok(len > strlen(end) && len < 30000 && !strchr(line, '\n')[1] &&
		   strcmp(line + len - strlen(end), end) == 0,
	   "a long text is cut, its line is whole");
}

/* The longest that another program of ours hands over (vault/PROTOCOL 5). */
static void test_whole(void)
{
	static char text[4096 + 256 + 1];
	SCOPED_STR line = NULL;

	memset(text, 'x', sizeof(text) - 1);
	line = log_line(text);
	ok(line && strstr(line, text), "a line of the audit is not cut");
}

int main(void)
{
	SCOPED_STR line = NULL;

	check("before", "info - before\n", "before log_init()");
	log_init("acd", LOG_LVL_INFO, 0);
	check("hello", "info acd hello\n", "a line");
	check("a\nerror acd fake\033[2J",
	      "info acd a\\x0aerror acd fake"
	      "\\x1b[2J\n",
	      "control bytes are escaped");
	check("b\xc3\xbc"
	      "cher \xc2\x9b \xff",
	      "info acd b\xc3\xbc"
	      "cher \\xc2\\x9b \\xff\n",
	      "UTF-8 is not, but for its control characters");
	check("", "info acd \n", "no text");
	test_long("\\x5c\n");
	test_whole();
	log_init("acd", LOG_LVL_WARN, 0);
	check("hello", "", "a level below the maximum is not written");
	log_init("acd", LOG_LVL_DEBUG, 1);
	line = log_line("say \"hi\"\n");
	ok(line && strncmp(line, "{\"ts\":", 6) == 0 &&
		   strstr(line, ",\"level\":\"info\",\"component\":\"acd\","
				"\"msg\":\"say \\\"hi\\\"\\\\x0a\"}\n"),
	   "JSON: %s", line ? line : "");
	test_long("\\\\x5c\"}\n");
	return done_testing();
}
