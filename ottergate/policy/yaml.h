/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml.h - a strict reading of one YAML document, with positions
 *
 * Compact enough for lists of a million names: a node is 48 bytes, all of a
 * document lie in one arena.
 */
#ifndef OTTERGATE_POLICY_YAML_H
#define OTTERGATE_POLICY_YAML_H

#include <stdbool.h>

#include "lib/err.h"
#include "lib/arena.h"

#define YAML_DEPTH_MAX 16u
#define YAML_KEYS_MAX 4096u /* of one map: duplicates are sought one by one */
#define YAML_NODES_MAX 8000000u
#define YAML_SCALAR_MAX 4096u

enum yaml_kind { YAML_SCALAR, YAML_LIST, YAML_MAP };

struct yaml_node {
	const char *text; /* of a scalar, without NUL inside */
	const char *key; /* within a map */
	struct yaml_node *first, *next; /* children; the parent's next one */
	uint32_t line, key_line; /* from 1 */
	uint16_t column, key_column;
	uint8_t kind;
	bool quoted;
};

struct yaml_doc {
	const char *file; /* as it is named in messages; borrowed */
	struct arena arena;
	struct yaml_node *root; /* a map */
};

/* -EINVAL: "file:line:column: what is wrong". */
int yaml_doc_parse(struct yaml_doc *d, const char *file, const char *text,
		   size_t len, struct err *err);
void yaml_doc_done(struct yaml_doc *d); /* accepts zeroed */

/* "a string", "a list", "a map": what @n is, for messages. */
const char *yaml_kind_name(const struct yaml_node *n);
/* What plain words may be read as something else by another reader of YAML:
 * "no", "~", "on". */
bool yaml_word_is_ambiguous(const struct yaml_node *n);
/* 12, 1e3, 0x7f, .5, .inf: unquoted, and a number to some reader. */
bool yaml_word_is_number(const struct yaml_node *n);

/* What a node says, without its format and comments: the same for the same
 * meaning, different for different ones. */
void yaml_node_each(const struct yaml_node *n,
		    void (*fn)(void *arg, const void *data, size_t len),
		    void *arg);

#endif
