/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_test.c - what a table does to text that would paint
 */
#include "control/cli/core/table.h"

#include <fcntl.h>
#include <locale.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static char path[] = "/tmp/cli_table_test.XXXXXX";

/* Prints one cell in a table; what came out, without its head. A terminal has
 * 40 columns. */
static void shown_on(struct cli cli, const char *cell, char *out, size_t size)
{
	static const struct table_col cols[] = { { "COMMAND", TABLE_CUT } };
	struct table *t;
	const struct winsize ws = { .ws_row = 24, .ws_col = 40 };
	SCOPED_FD file = -1;
	SCOPED_FD from = -1;
	SCOPED_FD saved = dup(STDOUT_FILENO);
	struct err err = { 0 };
	char text[512];
	ssize_t n;
	char *line;

	out[0] = '\0';
	fflush(stdout);
	if (cli.out_tty) {
		(void)openpty(&from, &file, NULL, NULL, &ws);
	} else {
		file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		from = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (file < 0 || from < 0 || saved < 0 ||
	    dup2(file, STDOUT_FILENO) < 0) {
		ok(false, "a place for a table");
		return;
	}
	t = table_new(&cli, cols, ARRAY_SIZE(cols));
	if (t && table_row(t, &cell) == 0)
		table_print(t, &err);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	table_free(t);
	n = read(from, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	line = strchr(text, '\n');
	snprintf(out, size, "%s", line ? line + 1 : "");
	out[strcspn(out, "\r\n")] = '\0';
}

static void shown(const char *cell, char *out, size_t size)
{
	shown_on((struct cli){ .out_tty = false }, cell, out, size);
}

/* A cell is cut to the width of a terminal, unless nothing is to be. */
static void test_width(void)
{
	static const char cell[] = "a reason that goes on for much longer than "
				   "any terminal is wide";
	char out[512];

	shown(cell, out, sizeof(out));
	is_str(out, cell, "a file gets all of it");
	shown_on((struct cli){ .out_tty = true }, cell, out, sizeof(out));
	ok(strlen(out) > 0 && strlen(out) <= 40 &&
		   strncmp(out, cell, strlen(out)) == 0,
	   "a terminal what fits: %s", out);
	shown_on((struct cli){ .out_tty = true, .whole = true }, cell, out,
		 sizeof(out));
	is_str(out, cell, "with --no-trunc all of it");
}

int main(void)
{
	static const struct {
		const char *cell, *want, *plain;
	} cases[] = {
		{ "python -c x", "python -c x", NULL },
		{ "\033[31mred", "\\x1b[31mred", NULL },
		{ "\\x1b[31m", "\\x5cx1b[31m", NULL }, /* not one */
		{ "two\nlines\ttab", "two\\x0alines\\x09tab", NULL },
		{ "gr\xc3\xbcn", "gr\xc3\xbcn", "gr\\xc3\\xbcn" },
		/* NOLINTNEXTLINE(misc-misleading-bidirectional) */
		{ "\xe2\x80\xae"
		  "back",
		  "\\xe2\\x80\\xae"
		  "back",
		  NULL },
		{ "bad \xff", "bad \\xff", NULL },
	};
	char out[512];
	int fd = mkostemp(path, O_CLOEXEC);
	bool utf8 = setlocale(LC_ALL, "C.UTF-8") != NULL;

	if (fd < 0)
		abort();
	close(fd);
	for (size_t i = 0; utf8 && i < ARRAY_SIZE(cases); i++) {
		shown(cases[i].cell, out, sizeof(out));
		is_str(out, cases[i].want, "cell %zu", i);
	}
	setlocale(LC_ALL, "C");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		shown(cases[i].cell, out, sizeof(out));
		is_str(out, cases[i].plain ? cases[i].plain : cases[i].want,
		       "cell %zu without UTF-8", i);
	}
	test_width();
	unlink(path);
	return done_testing();
}
