/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dirwalk.h - opens a directory of the user's once, and judges what was opened
 */
#ifndef CONTROL_CLI_CORE_DIRWALK_H
#define CONTROL_CLI_CORE_DIRWALK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/err.h"

#define DIRWALK_TURNS_MAX 64u

/* Identity of a directory, valid while a descriptor holds it. */
struct dir_id {
	dev_t dev;
	ino_t ino;
};

/* A turn: a place where a program with write access to the directory @fd
 * (O_PATH) could choose how the walk went on. */
struct dirwalk_turn {
	int fd;
	bool link; /* by a symbolic link in it; else by a ".." into it */
};

struct dirwalk {
	int fd; /* O_PATH of the directory, -1: none */
	struct dirwalk_turn turns[DIRWALK_TURNS_MAX];
	size_t n_turns;
	bool linked; /* a symbolic link was followed */
};

enum dirwalk_links {
	DIRWALK_FOLLOW,
	DIRWALK_NO_LINKS, /* a link is -ELOOP */
};

/*
 * Opens the directory @path, one component at a time, each relative to the
 * descriptor before. Returns 0; -ELOOP after DIRWALK_TURNS_MAX links and "..";
 * -ENOENT, -ENOTDIR, -EACCES or another negative errno. The caller calls
 * dirwalk_done() in any case.
 */
int dirwalk_open(const char *path, enum dirwalk_links links,
		 struct dirwalk *ret);
void dirwalk_done(struct dirwalk *w); /* accepts zeroed with fd -1 */

/* Sets the identity of the directory @fd. Returns 0 or a negative errno. */
int dirwalk_id(int fd, struct dir_id *ret) ATTR_WUR;

/*
 * Walks from @fd up to the root. Returns the index of the first directory that
 * is one of @ids, @n if none is, -ELOOP if there is no end, or another negative
 * errno.
 */
ssize_t dirwalk_above(int fd, const struct dir_id *ids, size_t n) ATTR_WUR;

/*
 * Returns 1 if the directory @inner is @outer or below it, 0 if not. Checks the
 * way up and the place of both in their file system, so bind mounts are seen
 * too. Fails with -EBADMSG for a mountinfo without the mount, or another
 * negative errno.
 */
int dirwalk_contains(int outer, int inner) ATTR_WUR;

/* Sets *ret to the current name of @fd, absolute and without links (the caller
 * frees it). Returns 0; -ENOENT if it has none (removed, or out of reach);
 * another negative errno. */
int dirwalk_name(int fd, char **ret) ATTR_WUR;

/* For tests: calls @fn before each component is opened. NULL: no longer. */
void dirwalk_hook(void (*fn)(void *arg, const char *name), void *arg);

#endif
