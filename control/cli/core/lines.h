/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines.h - lines of text that come in pieces
 */
#ifndef CONTROL_CLI_CORE_LINES_H
#define CONTROL_CLI_CORE_LINES_H

#include <stddef.h>

#include "lib/buf.h"

/* One line without its end, borrowed; not ended by NUL. */
typedef int (*lines_fn)(void *arg, const char *line, size_t len);

/* Calls @fn with each whole line; the beginning of the next one is kept in
 * @held, whose maximum bounds a line. -EMSGSIZE past it; a negative result of
 * @fn ends it and is returned. */
int lines_feed(struct buf *held, const char *data, size_t len, lines_fn fn,
	       void *arg);

#endif
