/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quote.h - hostile names and texts for a terminal
 */
#ifndef CONTROL_CLI_LAYER_QUOTE_H
#define CONTROL_CLI_LAYER_QUOTE_H

#include <stdio.h>

#include "lib/slice.h"

/* Returns @prefix and @path as git shows them: as they are, or in double quotes
 * with \n, \t, \", \\ and \ooo, if there is anything that a terminal would not
 * show as it is. The caller frees it; NULL: out of memory. */
char *quote_path(const char *prefix, const char *path);

/* Prints a line of a text. Control characters but a tab, and bytes that are not
 * UTF-8, are printed as \xNN, as are characters that no one sees or that turn the
 * direction of writing. */
void quote_line(FILE *out, struct slice line);

#endif
