/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - tables for people, over libsmartcols
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

/* Columns are copied. NULL without memory. */
struct table *table_new(const struct cli *cli, const struct table_col *cols,
			size_t n);
void table_free(struct table *t); /* NULL is fine */
/* One cell a column, copied. -ENOMEM. */
int table_row(struct table *t, const char *const *cells);
/* Of the row added last. */
void table_paint(struct table *t, size_t col, enum table_colour colour);
/* On stdout. Fills @err. */
int table_print(struct table *t, struct err *err);

/* Adds the row of one item: 0 or -ENOMEM. */
typedef int (*table_add_fn)(struct table *t, const json_t *item);
/* A whole table on stdout, with a row for each item of @list. */
int table_print_list(const struct cli *cli, const struct table_col *cols,
		     size_t n, const json_t *list, table_add_fn add,
		     struct err *err);

#endif
