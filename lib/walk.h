/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk.h - walks a tree whose depth, width and names a sandbox chose
 */
#ifndef LIB_WALK_H
#define LIB_WALK_H

#include <stdbool.h>
#include <sys/stat.h>

/* Callbacks; each may be NULL. They return 0 to continue, or a negative errno,
 * which ends the walk and is returned by walk_tree(). */
struct walk_ops {
	/* Called for each entry of the directory @dirfd, directories included,
	 * before they are entered; not for the root. May change or remove this
	 * entry. The arguments are valid during the call. */
	int (*entry)(void *arg, int dirfd, const char *name,
		     const struct stat *st);
	/* Called after the subdirectory @name of the current directory was
	 * entered; @fd is open on it and is the walk's. Not called for the
	 * root. */
	int (*enter)(void *arg, int fd, const char *name);
	/* Called when everything below @fd was visited; for the root too, as
	 * the last. Not called for what is open when the walk fails. */
	int (*leave)(void *arg, int fd);
	/* True: an entry of another file system ends the walk with -EXDEV.
	 * False: it is skipped. */
	bool one_only;
};

/*
 * Walks the directory @path, which may not be a link; follows no links. What is
 * removed during the walk is skipped. Uses two descriptors at any depth and
 * assembles no paths, so none can become too long.
 *
 * Returns 0 or a negative errno: -ENOTDIR if @path is a link or no directory,
 * -E2BIG beyond 16 million entries or 64 MiB of names, -EAGAIN if a directory
 * was moved during the walk.
 */
int walk_tree(const char *path, const struct walk_ops *ops, void *arg);

#endif
