/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set.h - the changes of one workspace, in memory and in order
 *
 * Paths are relative to the workspace. They are the agent's: no terminal gets
 * one that quote.h has not quoted, and no file here is named after one.
 */
#ifndef CONTROL_CLI_LAYER_SET_H
#define CONTROL_CLI_LAYER_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/cli/layer/blob.h"
#include "control/shared/changes.h"
#include "lib/arena.h"

#define LAYER_ITEMS_MAX 2000000u
#define LAYER_NAMES_MAX (512u * 1024 * 1024) /* bytes of all paths */

struct layer_item {
	const char *path; /* owned by the set, as is the next */
	const char *target; /* of a link; else NULL */
	struct blob_id blob; /* of a file */
	uint32_t number; /* of the staged file, from 1; 0: no file */
	uint16_t mode;
	uint8_t kind; /* enum change_kind */
	uint8_t other; /* enum change_other */
	bool opaque, torn;
};

struct layer_set { /* zeroed: empty */
	struct layer_item *v;
	size_t n, cap;
	size_t names; /* bytes of all paths */
	struct arena arena;
	size_t git; /* changes in a .git, which are in no item */
};

void layer_set_done(struct layer_set *set); /* accepts zeroed */

/* Copies a change to a new item, whose number and blob are zero. Returns the
 * item, valid until the next call, or NULL with *ret_rc: -ENOMEM, or -E2BIG
 * beyond the limits above. */
struct layer_item *layer_set_add(struct layer_set *set, const struct change *c,
				 int *ret_rc);
/* Adds a deletion of @path. Returns 0 or as above. */
int layer_set_add_gone(struct layer_set *set, const char *path);

/* Sorts the items: a directory stands before what is below it, and all of that
 * directly behind it. Returns 0, or -EBADMSG if a path is there twice or below
 * what is no directory. */
int layer_set_sort(struct layer_set *set);
/* Compares paths in that order, as strcmp() does. */
int layer_path_compare(const char *a, const char *b);
/* Returns the item with this path of a sorted set, or NULL. */
struct layer_item *layer_set_find(const struct layer_set *set,
				  const char *path);
/* Returns the path of the directory above @path that was deleted as a whole, or
 * NULL; owned by the sorted @set. */
const char *layer_set_gone_above(const struct layer_set *set, const char *path);
/* Returns true if @path is @top or below it. */
bool layer_path_in(const char *path, const char *top);
/* Returns true if a part of the path is .git in any case, or a name that some
 * file systems take for it. */
bool layer_path_is_git(const char *path);
/* Removes the items with a NULL path, in order. */
void layer_set_pack(struct layer_set *set);
/* Removes all items that are not below one of the @n paths @only, but for
 * directories above one. Without @only nothing is removed. */
void layer_set_select(struct layer_set *set, const char *const *only, size_t n);

#endif
