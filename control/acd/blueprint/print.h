/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print.h - a blueprint as the text of one, of version 2
 */
#ifndef CONTROL_ACD_BLUEPRINT_PRINT_H
#define CONTROL_ACD_BLUEPRINT_PRINT_H

#include "control/acd/blueprint/blueprint.h"
#include "lib/buf.h"

#define BLUEPRINT_PRINT_MAX (1024u * 1024)

/* A line of the text, and what it is from. */
struct print_line {
	const struct blueprint_source *from; /* of the blueprint; NULL: nothing,
					      * or the default */
	bool set; /* has a value, so that NULL is the default */
	bool inside; /* of a text or of JSON: a comment would be part of it */
};

struct print_lines {
	struct print_line *v;
	size_t n, room;
};

/* Frees what @l holds and zeroes it. Accepts zeroed. */
void print_lines_done(struct print_lines *l);
/* Appends the text of @bp, without `extends`; read again, it is the same
 * blueprint. Adds each of its lines to @lines, which is zeroed, or NULL: they
 * borrow the sources of @bp, and the caller releases them in any case. Returns 0,
 * -ENOMEM or -ENOBUFS. */
int blueprint_print(const struct blueprint *bp, struct buf *out,
		    struct print_lines *lines);

#endif
