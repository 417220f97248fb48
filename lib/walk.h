/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk.h - through a tree whose depth, width and names a sandbox chose
 */
#ifndef LIB_WALK_H
#define LIB_WALK_H

#include <stdbool.h>
#include <sys/stat.h>

/* Each may be NULL; a negative result ends the walk with it. */
struct walk_ops {
	/* An entry of the directory @dirfd, which may be changed, but not
	 * entered by whoever is called. Directories as well, before they are
	 * entered. */
	int (*entry)(void *arg, int dirfd, const char *name,
		     const struct stat *st);
	/* @name, a directory of the one entered last, has been entered: it
	 * is @fd. Not called for the root. */
	int (*enter)(void *arg, int fd, const char *name);
	/* All below @fd is done: goes back to its parent. Also for the root,
	 * as the last. */
	int (*leave)(void *arg, int fd);
	/* What is of another file system ends the walk with -EXDEV; else it
	 * is left out. */
	bool one_only;
};

/*
 * Walks through the directory @path, which is no link, and follows none. What
 * is removed meanwhile is left out. Two descriptors, whatever the depth, and
 * no path that could become too long. -E2BIG: more entries than 16 million,
 * or names of them than 64 MiB; -EAGAIN: a directory was moved elsewhere
 * meanwhile; else what the kernel said.
 */
int walk_tree(const char *path, const struct walk_ops *ops, void *arg);

#endif
