/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml.h - a strict reading of one YAML document, with positions
 *
 * Policies, blueprints, the rules of credentials and config.yaml are read by
 * it. Refused, with file:line:column: anchors, aliases, tags, directives, a
 * second document, duplicate keys, keys that are not plain strings, and more
 * of anything than the caller's limits. The tree is read only and pure text:
 * what a scalar means is for the caller to say.
 *
 * Nodes and their texts belong to the tree. Unless a comment says otherwise, no
 * argument may be NULL.
 *
 * Compact enough for lists of a million names: a node is 48 bytes, all of a
 * document lie in one arena.
 */
#ifndef OTTERGATE_YAML_H
#define OTTERGATE_YAML_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/err.h"

#define YAML_DEPTH_MAX 16u /* the most that a caller may ask for */

struct yaml_limits {
	unsigned depth; /* lists and maps within each other */
	unsigned keys; /* of one map: duplicates are sought one by one */
	size_t nodes;
	size_t scalar; /* bytes of one text, or of one key */
	/* True: refuses a root that is no map, and values that are missing
	 * (empty, ~ or null without quotes). False: accepts a root of any kind,
	 * or none, and a missing value is a scalar with its text. */
	bool complete;
};

/* Of policies, whose lists can be long. */
extern const struct yaml_limits yaml_policy;
/* Of all other files: blueprints, config.yaml, rules of credentials. */
extern const struct yaml_limits yaml_small;

enum yaml_kind { YAML_SCALAR, YAML_LIST, YAML_MAP };

struct yaml_node {
	const char *text; /* of a scalar, without NUL inside */
	const char *key; /* in a map, else NULL */
	struct yaml_node *first, *next; /* children; the parent's next one */
	uint32_t line, key_line; /* from 1 */
	uint32_t column : 24, key_column : 24; /* from 1; 0xffffff: or more */
	uint32_t kind : 8; /* enum yaml_kind */
	uint32_t quoted : 8; /* a scalar in quotes or a block: a string */
};

struct yaml_tree {
	const char *file; /* as it is named in messages; borrowed */
	struct arena arena;
	struct yaml_node *root; /* NULL: an empty document */
};

/*
 * Reads a document into *@ret, for yaml_tree_done(). @text is copied; @file is
 * borrowed as long as the tree lives. Returns 0. Fails with -EINVAL and a
 * message that starts with the position, or with -ENOMEM; *@ret has no root and
 * owns nothing then.
 */
int yaml_tree_parse(const char *text, size_t len, const char *file,
		    const struct yaml_limits *max, struct yaml_tree *ret,
		    struct err *err);
/* Frees the tree with all its nodes and texts. Accepts zeroed trees. */
void yaml_tree_done(struct yaml_tree *t);
/* Sets -EINVAL and "file:line:column: message" in @err, with the position of @n
 * or, if that is NULL, of the first byte. Returns -EINVAL. */
int yaml_tree_refuse(const struct yaml_tree *t, const struct yaml_node *n,
		     struct err *err, const char *fmt, ...) ATTR_PRINTF(4, 5);
/*
 * Sets *@ret to the text of the string @n; it belongs to the tree. Returns 0.
 * Fails with -EINVAL and a message if @n is a list, a map or a word for which
 * yaml_word_is_ambiguous() is true.
 */
int yaml_tree_string(const struct yaml_tree *t, const struct yaml_node *n,
		     const char **ret, struct err *err);
/* Like yaml_tree_string(), with a copy that the caller frees. Also fails with
 * -ENOMEM. */
int yaml_tree_copy(const struct yaml_tree *t, const struct yaml_node *n,
		   char **ret, struct err *err);
/* Returns 0 if @n is a map. Fails with -EINVAL and a message otherwise. */
int yaml_tree_want_map(const struct yaml_tree *t, const struct yaml_node *n,
		       struct err *err);
/* Sets -EINVAL and the message that the key of @n, which has one, is unknown.
 * Returns -EINVAL. */
int yaml_tree_unknown(const struct yaml_tree *t, const struct yaml_node *n,
		      struct err *err);

/* Returns the value of @key in @map, or NULL if it has no such key, is no map
 * or is NULL. */
const struct yaml_node *yaml_child(const struct yaml_node *map,
				   const char *key);
/* Returns what @n is, for messages: "a string", "a list" or "a map", static. */
const char *yaml_kind_name(const struct yaml_node *n);
/* Returns true for an unquoted word that readers of YAML take for a boolean
 * or for nothing: "no", "on", "~". @n must be a scalar. */
bool yaml_word_is_ambiguous(const struct yaml_node *n);
/* Returns true for an unquoted word that some reader of YAML takes for a
 * number: 12, 1e3, 0x7f, .5, .inf. @n must be a scalar. */
bool yaml_word_is_number(const struct yaml_node *n);

/* Calls @fn with pieces of bytes, to be hashed or compared. Joined, they are
 * the same for two nodes of the same meaning, whatever their format and
 * comments, and different for nodes of different meaning. */
void yaml_node_each(const struct yaml_node *n,
		    void (*fn)(void *arg, const void *data, size_t len),
		    void *arg);

#endif
