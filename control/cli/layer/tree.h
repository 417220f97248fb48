/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.h - the user's directory, by descriptors
 *
 * Every path is resolved below the descriptor of the workspace, without links and
 * without leaving its mount (lib/beneath.h). Somebody else may rename things at
 * the same time: what was found may be gone, but nothing outside is reached.
 */
#ifndef CONTROL_CLI_LAYER_TREE_H
#define CONTROL_CLI_LAYER_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/attr.h"

enum spot_kind {
	SPOT_NONE,
	SPOT_FILE,
	SPOT_DIR,
	SPOT_LINK,
	SPOT_OTHER, /* FIFO, socket, device */
	SPOT_BLOCKED, /* a part of the path is no directory, or another mount */
};

/* What is at a path. */
struct spot {
	enum spot_kind kind;
	uint16_t mode; /* 07777 */
	uint64_t size;
	uint64_t dev, ino;
	int64_t ctime, mtime; /* ns since the epoch */
	int64_t born; /* the same; 0: not known */
};

/* Returns true if the directory @spot was moved there, or had its mode changed,
 * after @since, in ns since the epoch: what is in it may then be older, and yet
 * new there. A change of its entries moves both times. */
static inline bool spot_was_moved(const struct spot *spot, int64_t since)
{
	return spot->kind == SPOT_DIR && spot->ctime > since &&
	       spot->mtime <= since;
}

/* Opens @path for @flags (with O_CLOEXEC, O_NOFOLLOW, O_NONBLOCK added) below
 * @root. Returns a descriptor that the caller owns, or a negative errno. */
int tree_open(int root, const char *path, int flags) ATTR_WUR;
/* Opens the regular file @path for reading. Returns as above, -EINVAL if it is no
 * regular file. */
int tree_open_file(int root, const char *path) ATTR_WUR;
/* Opens the directory that @path is in; *ret_name is the last part, in @path.
 * Returns as tree_open(). */
int tree_open_parent(int root, const char *path,
		     const char **ret_name) ATTR_WUR;
/* Looks what is at @path. Returns 0 or a negative errno; nothing there is no
 * failure, nor is SPOT_BLOCKED. */
int tree_look(int root, const char *path, struct spot *ret) ATTR_WUR;
/* Sets *ret, which the caller frees, to the target of the link @path. */
int tree_link(int root, const char *path, char **ret) ATTR_WUR;

/* Called for what is below a directory, before what is below that itself. Returns
 * 0; 1 if that is not to be visited; a negative errno, which ends the walk. */
typedef int (*tree_fn)(void *arg, const char *path, const struct spot *spot);
/* Walks what is below the directory @path ("": all), in no order; what vanishes
 * is skipped. Returns 0; -E2BIG after more than @max entries; a result of @fn;
 * another negative errno. */
int tree_walk(int root, const char *path, size_t max, tree_fn fn,
	      void *arg) ATTR_WUR;

#endif
