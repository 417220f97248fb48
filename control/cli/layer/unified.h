/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unified.h - the difference of two files, as git prints it
 */
#ifndef CONTROL_CLI_LAYER_UNIFIED_H
#define CONTROL_CLI_LAYER_UNIFIED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/attr.h"

#define TEXT_MAX (4u * 1024 * 1024) /* bytes; more are not compared by lines */

/* One side: what a path is. */
struct text { /* zeroed: nothing is there */
	unsigned
		mode; /* as git has it: 0100644, 0100755, 0120000; 0: nothing */
	uint64_t size;
	bool binary; /* it has a NUL, or is too large */
	char *mem;
	const char **lines; /* without their ends; the last ends with a newline
			     * if it has none in the file */
	size_t n;
};

void text_done(struct text *t); /* accepts zeroed */
#define SCOPED_TEXT ATTR_CLEANUP(text_done) struct text

/* Reads the file @fd, of @size bytes. Returns 0 or a negative errno. The caller
 * calls text_done() in any case. */
int text_read(int fd, uint64_t size, bool runs, struct text *ret) ATTR_WUR;
/* Makes the text that git has for a link with this target. As above. */
int text_link(const char *target, struct text *ret) ATTR_WUR;

struct diff_count {
	size_t added, removed; /* lines */
	bool binary;
};

/* Returns true if the sides are the same. Of binary files that has to be known
 * already: then they differ. */
bool unified_same(const struct text *a, const struct text *b);
/* Counts lines. Returns 0 or -ENOMEM. */
int unified_count(const struct text *a, const struct text *b,
		  struct diff_count *ret) ATTR_WUR;
/* Prints header and lines. @path is quoted here. Returns 0 or -ENOMEM. */
int unified_print(FILE *out, bool colour, const char *path,
		  const struct text *a, const struct text *b) ATTR_WUR;

#endif
