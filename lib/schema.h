/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.h - what a value may be, for its reader and as JSON Schema
 *
 * A reader of files or of requests has a table of its keys; each names a
 * struct schema. The reader takes words and bounds from it, and
 * schema_print() writes the same as JSON Schema (2020-12). All are static.
 */
#ifndef LIB_SCHEMA_H
#define LIB_SCHEMA_H

#include "lib/attr.h"
#include "lib/jsonw.h"

enum schema_kind {
	SCHEMA_TEXT, /* a string; in YAML a number is one as well */
	SCHEMA_FORM, /* a string that fits @pattern, and no number */
	SCHEMA_WORD, /* one of @words */
	SCHEMA_NUMBER, /* a whole one from @min to @max */
	SCHEMA_AMOUNT, /* a number, or one with a unit: @pattern */
	SCHEMA_BOOL,
	SCHEMA_TRUE, /* true alone */
	SCHEMA_LIST, /* of @item; from @min to @max, 0: any number */
	SCHEMA_MAP, /* of @rows and nothing else */
	SCHEMA_NAMED, /* a map with names as keys; each value is an @item */
	SCHEMA_EITHER, /* what fits one of @either */
	SCHEMA_INTEGER, /* a whole number that may be negative */
	SCHEMA_DECIMAL, /* any number */
	SCHEMA_ANY,
	SCHEMA_JSON, /* any map or list */
};

struct schema {
	enum schema_kind kind;
	bool none; /* the word "none", too */
	bool null; /* JSON's null, too */
	bool nulls; /* of a map: a member may be null, unless it is required */
	bool whole; /* of a map: all but @optional are required */
	bool open; /* of a map: other members may be there */
	uint64_t min, max; /* of a text: bytes at most; of an amount without
			    * a unit, 0: any */
	const char *pattern; /* a regular expression, as in ECMA-262 */
	const char *const *words; /* ends with NULL */
	const struct schema *item;
	const struct schema *const *either; /* ends with NULL */
	const void *rows; /* n_rows times row_size bytes */
	size_t n_rows, row_size;
	const struct schema *also; /* of a map: one whose rows follow */
	const char *const *required; /* keys, ends with NULL; may be NULL */
	const char *const *optional; /* the same, for @whole */
	const char *about; /* one sentence; may be NULL */
	const char *name; /* of a component of OpenAPI, written as a reference
			   * to it; may be NULL */
};

/* How each row of a reader's table begins. */
struct schema_key {
	const char *key;
	const struct schema *is; /* NULL: known, and always refused */
};

/* The map of a table whose rows begin with a struct schema_key. */
#define SCHEMA_ROWS(table)                                                \
	.kind = SCHEMA_MAP, .rows = (table), .n_rows = ARRAY_SIZE(table), \
	.row_size = sizeof((table)[0])
#define SCHEMA_WORDS(list)                           \
	{                                            \
		.kind = SCHEMA_WORD, .words = (list) \
	}
#define SCHEMA_LIST_OF(is)                        \
	{                                         \
		.kind = SCHEMA_LIST, .item = (is) \
	}

/* Row @i of a map, or NULL behind the last. */
const struct schema_key *schema_row(const struct schema *s, size_t i);
/* The row of @key, or NULL. */
const struct schema_key *schema_find(const struct schema *s, const char *key);
/* Returns true if the map @s must have the member @key. */
bool schema_requires(const struct schema *s, const char *key);

/* "512m", "2GiB"; "90s", "1.5h". */
#define SCHEMA_SIZE "[0-9]+(\\.[0-9]+)?([bB]|[kKmMgGtT]([iI]?[bB])?)?"
#define SCHEMA_DURATION "[0-9]+(\\.[0-9]+)?(ms|s|m|h|d)?"
extern const struct schema schema_text, schema_bool, schema_true;

/* Writes @s as the member @key of @w, of a document that is YAML or JSON. */
void schema_write(struct jsonw *w, const char *key, const struct schema *s,
		  bool yaml);
/* The same of the component @s->name itself, which is the member's key. */
void schema_write_component(struct jsonw *w, const struct schema *s);
/* Appends the whole document for files that are YAML, indented, with a newline
 * at its end. Returns 0; fails with -ENOMEM or -ENOBUFS. */
int schema_print(const struct schema *s, const char *title, struct buf *out);
/* Appends compact JSON @text as people read it, as above. */
int schema_indent(struct slice text, struct buf *out);

#endif
