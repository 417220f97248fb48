/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linediff.h - which lines two texts share; no side effects
 */
#ifndef CONTROL_CLI_CORE_LINEDIFF_H
#define CONTROL_CLI_CORE_LINEDIFF_H

#include <stddef.h>

/* Texts that differ in more lines than this, multiplied, and with more than
 * LINEDIFF_FAR_MAX lines that only one has, count as wholly different between their
 * common beginning and end. */
#define LINEDIFF_CELLS_MAX (4u * 1024 * 1024)

/* A line: '-' of the old text alone, '+' of the new one, ' ' of both. */
struct linediff_line {
	char op;
	size_t old, new; /* its number from 0, in the text that has it */
};

/* Compares @n lines with @m lines. Returns the lines of both in order, at most
 * @n + @m, and their number in *ret_n; the caller frees them. Returns NULL
 * without memory. */
struct linediff_line *linediff(const char *const *old, size_t n,
			       const char *const *new, size_t m, size_t *ret_n);

#endif
