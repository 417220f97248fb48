/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines.h - splits pieces of text into lines
 */
#ifndef CONTROL_CLI_CORE_LINES_H
#define CONTROL_CLI_CORE_LINES_H

#include <stddef.h>

#include "lib/buf.h"

/* @line: without its end, borrowed, not NUL-terminated. */
typedef int (*lines_fn)(void *arg, const char *line, size_t len);

/* Calls @fn with each complete line. The beginning of the next line is kept in
 * @held, whose maximum bounds a line. Returns 0, -EMSGSIZE for a longer line,
 * or a negative result of @fn, which ends it. */
int lines_feed(struct buf *held, const char *data, size_t len, lines_fn fn,
	       void *arg);

#endif
