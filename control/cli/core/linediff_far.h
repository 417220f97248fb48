/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linediff_far.h - which lines two long texts share; no side effects
 *
 * For linediff.c, whose table would be too large.
 */
#ifndef CONTROL_CLI_CORE_LINEDIFF_FAR_H
#define CONTROL_CLI_CORE_LINEDIFF_FAR_H

#include <stddef.h>

/* Lines that are in one text alone; texts with more differ as a whole. */
#define LINEDIFF_FAR_MAX 2000u

/* Writes '-', '+' and ' ' for the lines of both texts in order, at most @n + @m, to
 * @ops, and how many in *ret_n. Returns 0; 1 beyond LINEDIFF_FAR_MAX; -ENOMEM. */
int linediff_far(const char *const *old, size_t n, const char *const *new,
		 size_t m, char *ops, size_t *ret_n);

#endif
