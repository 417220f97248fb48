/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_table_test.c - what a table does to text that would paint
 */
#include "control/cli/table.h"

#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

/* Prints one cell in a table; what came out, without its head. */
static void shown(const char *cell, char *out, size_t size)
{
	static const struct table_col cols[] = { { "COMMAND", TABLE_CUT } };
	const struct cli cli = { .out_tty = false };
	struct table *t = table_new(&cli, cols, ARRAY_SIZE(cols));
	SCOPED_FD file = open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	SCOPED_FD saved = dup(STDOUT_FILENO);
	struct err err = { 0 };
	char text[512];
	ssize_t n;
	char *line;

	out[0] = '\0';
	fflush(stdout);
	if (!t || file < 0 || saved < 0 || table_row(t, &cell) < 0 ||
	    dup2(file, STDOUT_FILENO) < 0) {
		ok(false, "a table");
		table_free(t);
		return;
	}
	table_print(t, &err);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	table_free(t);
	n = pread(file, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	line = strchr(text, '\n');
	snprintf(out, size, "%s", line ? line + 1 : "");
	out[strcspn(out, "\n")] = '\0';
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
	bool utf8 = setlocale(LC_ALL, "C.UTF-8") != NULL;

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
	return done_testing();
}
