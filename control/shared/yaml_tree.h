/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml_tree.h - a strict reading of one YAML document, with positions
 *
 * Refused, with file:line:column: anchors, aliases, tags, directives, a
 * second document, duplicate keys, keys that are not plain strings, and more
 * of anything than the limits. The tree is read only and pure text: what a
 * scalar means is for the caller to say.
 */
#ifndef CONTROL_SHARED_YAML_TREE_H
#define CONTROL_SHARED_YAML_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"

#define YAML_DEPTH_MAX 8u
#define YAML_NODES_MAX 4096u
#define YAML_SCALAR_MAX 8192u /* bytes */

enum yaml_kind { YAML_SCALAR, YAML_LIST, YAML_MAP };

struct yaml_node {
	enum yaml_kind kind;
	unsigned line, column; /* from 1 */
	char *key; /* in a map, else NULL */
	char *text; /* of a scalar */
	bool quoted; /* of a scalar: it is a string whatever it says */
	struct yaml_node *first, *last; /* children of a list or map */
	struct yaml_node *next; /* child of the same parent */
};

struct yaml_tree {
	const char *file; /* borrowed, for messages */
	struct yaml_node *root; /* NULL: an empty document */
};

/* -EINVAL with a message that starts with the position, -ENOMEM. */
int yaml_tree_parse(const char *text, size_t len, const char *file,
		    struct yaml_tree *ret, struct err *err);
void yaml_tree_done(struct yaml_tree *t); /* accepts zeroed */
/* Sets -EINVAL and "file:line:column: message"; returns the code. */
int yaml_tree_refuse(const struct yaml_tree *t, const struct yaml_node *n,
		     struct err *err, const char *fmt, ...) ATTR_PRINTF(4, 5);
/*
 * The text of a scalar that must be a string: not a list or map, and not a
 * bare word that YAML readers take for a boolean or for nothing (yes, off,
 * null, ~): those have to be quoted. -EINVAL.
 */
int yaml_tree_string(const struct yaml_tree *t, const struct yaml_node *n,
		     const char **ret, struct err *err);

#endif
