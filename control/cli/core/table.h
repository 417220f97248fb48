/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - prints tables, by libsmartcols
 *
 * Text is shown safely: control bytes are escaped, once.
 */
#ifndef CONTROL_CLI_CORE_TABLE_H
#define CONTROL_CLI_CORE_TABLE_H

#include <jansson.h>
#include <stddef.h>

#include "control/cli/core/cli.h"

enum table_flags {
	TABLE_RIGHT = 1, /* numbers */
	TABLE_CUT = 2, /* may be cut to the width of the terminal */
};

struct table_col {
	const char *head;
	int flags;
};

enum table_colour { TABLE_PLAIN, TABLE_GREEN, TABLE_YELLOW, TABLE_RED };

struct table;

/* Makes a table of @n columns, copied from @cols. @cli tells about colours and
 * the terminal. Returns NULL without memory. */
struct table *table_new(const struct cli *cli, const struct table_col *cols,
			size_t n);
/* Frees a table. NULL is fine. */
void table_free(struct table *t);
/* Adds a row. @cells has a text for each column, copied; NULL is an empty cell.
 * Returns 0, or -ENOMEM, and the table cannot be used any more. */
int table_row(struct table *t, const char *const *cells);
/* Colours a cell of the last row. No effect without a row or colours. */
void table_paint(struct table *t, size_t col, enum table_colour colour);
/* Prints the table on stdout, only its heads if it has no row. Returns 0 or a
 * negative errno with @err. */
int table_print(struct table *t, struct err *err);

/* Adds the row for one item to @t, by table_row(). Returns 0 or -ENOMEM. */
typedef int (*table_add_fn)(struct table *t, const json_t *item);
/* Prints a table with a row for each item of @list (borrowed), made by @add.
 * Returns like table_print(), or -ENOMEM. */
int table_print_list(const struct cli *cli, const struct table_col *cols,
		     size_t n, const json_t *list, table_add_fn add,
		     struct err *err);

#endif
