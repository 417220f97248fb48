/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field.h - files of paragraphs of fields "Name: text", as Debian and Python
 * have them (RFC 822 without its comments)
 */
#ifndef CONTROL_SBOM_FIELD_H
#define CONTROL_SBOM_FIELD_H

#include <stdbool.h>

#include "lib/slice.h"

struct field {
	struct slice name; /* without the colon; empty: the paragraph ends */
	struct slice text; /* of its first line, without blanks around it */
	struct slice rest; /* the lines that continue it, as they are */
};

/*
 * Takes the next field of @in, or the empty lines between two paragraphs: then
 * the name is empty. Returns 1; 0 at the end; or -EBADMSG for a line that is
 * none of these, with @in behind it.
 */
int field_next(struct slice *in, struct field *ret) ATTR_WUR;
/* Returns true if the field has this name, in any case. */
bool field_is(const struct field *f, const char *name);
/* Takes a line of @in, without its newline. Returns false at the end. */
bool field_line(struct slice *in, struct slice *ret);
/* Copies @s to @out, cut to @size, with a NUL; what comes after a NUL in it is
 * dropped. Returns @out. */
char *field_copy(char *out, size_t size, struct slice s);

#endif
