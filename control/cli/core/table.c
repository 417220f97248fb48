/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.c - prints tables
 */
#include "control/cli/core/table.h"

#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>

#include "lib/str.h"

struct table {
	struct libscols_table *st;
	struct libscols_line *last; /* NULL: no row yet */
	size_t n;
	bool colour;
};

struct table *table_new(const struct cli *cli, const struct table_col *cols,
			size_t n)
{
	struct table *t = calloc(1, sizeof(*t));
	bool cut = cli->out_tty && !cli->whole;
	size_t i;

	if (!t)
		return NULL;
	t->n = n;
	t->colour = cli->colour;
	t->st = scols_new_table();
	if (!t->st) {
		free(t);
		return NULL;
	}
	scols_table_set_column_separator(t->st, "  ");
	/* Else it would escape our backslashes again; see cell_put(). */
	scols_table_enable_noencoding(t->st, 1);
	scols_table_enable_colors(t->st, cli->colour);
	/* A file or a pipe gets complete lines; so does a user who asks for
	 * it. */
	if (!cut)
		scols_table_set_termwidth(t->st, 4096);
	for (i = 0; i < n; i++) {
		int flags =
			(cols[i].flags & TABLE_RIGHT ? SCOLS_FL_RIGHT : 0) |
			(cols[i].flags & TABLE_CUT && cut ? SCOLS_FL_TRUNC : 0);

		if (!scols_table_new_column(t->st, cols[i].head, 0.05, flags)) {
			table_free(t);
			return NULL;
		}
	}
	return t;
}

void table_free(struct table *t)
{
	if (!t)
		return;
	scols_unref_table(t->st);
	free(t);
}

/* Cells may come from a sandbox, and some are escaped already. */
static int cell_put(struct table *t, size_t col, const char *text)
{
	size_t len = strlen(text), size = 4 * len + 1;
	char *safe = malloc(size);
	int rc;

	if (!safe)
		return -ENOMEM;
	/* In other locales than UTF-8 the width is unknown. */
	if (MB_CUR_MAX > 1)
		str_escape_utf8(safe, size, text, len);
	else
		str_escape(safe, size, text, len);
	rc = scols_line_refer_data(t->last, col, safe);
	if (rc < 0)
		free(safe);
	return rc < 0 ? -ENOMEM : 0;
}

int table_row(struct table *t, const char *const *cells)
{
	size_t i;

	t->last = scols_table_new_line(t->st, NULL);
	if (!t->last)
		return -ENOMEM;
	for (i = 0; i < t->n; i++)
		if (cells[i] && cell_put(t, i, cells[i]) < 0)
			return -ENOMEM;
	return 0;
}

void table_paint(struct table *t, size_t col, enum table_colour colour)
{
	static const char *const names[] = { NULL, "green", "brown", "red" };
	struct libscols_cell *cell;

	if (!t->colour || colour == TABLE_PLAIN || !t->last)
		return;
	cell = scols_line_get_cell(t->last, col);
	if (cell)
		scols_cell_set_color(cell, names[colour]);
}

/* The library prints nothing for a table without rows. */
static void print_heads(const struct table *t)
{
	size_t i;

	for (i = 0; i < t->n; i++) {
		struct libscols_column *col = scols_table_get_column(t->st, i);
		const char *head =
			scols_cell_get_data(scols_column_get_header(col));

		printf("%s%s", i ? "  " : "", head ? head : "");
	}
	putchar('\n');
}

int table_print(struct table *t, struct err *err)
{
	if (!t->last)
		print_heads(t);
	if ((t->last && scols_print_table(t->st) < 0) || fflush(stdout) == EOF)
		return cli_stdout_failed(err);
	return 0;
}

int table_print_list(const struct cli *cli, const struct table_col *cols,
		     size_t n, const json_t *list, table_add_fn add,
		     struct err *err)
{
	struct table *t = table_new(cli, cols, n);
	int rc = t ? 0 : -ENOMEM;
	size_t i;

	for (i = 0; rc == 0 && i < json_array_size(list); i++)
		rc = add(t, json_array_get(list, i));
	rc = rc < 0 ? err_nomem(err) : table_print(t, err);
	table_free(t);
	return rc;
}
