/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print_impl.h - shared by print.c and print_text.c
 */
#ifndef CONTROL_ACD_BLUEPRINT_PRINT_IMPL_H
#define CONTROL_ACD_BLUEPRINT_PRINT_IMPL_H

#include "control/acd/blueprint/print.h"
#include "lib/attr.h"

/* The text, and the first failure to write it. */
struct printer {
	const struct blueprint *bp;
	struct buf *out;
	struct print_lines *lines; /* may be NULL */
	struct print_line now; /* the line that is being written */
	int rc;
};

struct unit {
	uint64_t is;
	const char *name;
};

/* ---- print_text.c ---- */

void print_put(struct printer *p, const char *fmt, ...) ATTR_PRINTF(2, 3);
/* What follows is from where the value @key is; the value @name in the map or
 * list @map; or has no value, such as the key of a map. */
void print_from(struct printer *p, const char *key);
void print_from_item(struct printer *p, const char *map, const char *name);
void print_from_none(struct printer *p);
/* Puts the text within quotes; @json: is JSON already, with its own. */
void print_escaped(struct printer *p, const char *s, bool json);
/* Puts a word, quoted if a reader of YAML could take it for more than a word. */
void print_word(struct printer *p, const char *s);
void print_words(struct printer *p, const struct strv *sv); /* [a, b] */
/* Puts a text that may have lines, below a key that is indented by less than
 * @indent. */
void print_text(struct printer *p, const char *s, int indent);
/* Puts @v in the largest unit of @u that fits; the last is 1. 0 is "none". */
void print_amount(struct printer *p, uint64_t v, const struct unit *u);

#endif
