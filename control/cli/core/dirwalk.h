/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dirwalk.h - a directory of the user's, opened once and judged as opened
 */
#ifndef CONTROL_CLI_CORE_DIRWALK_H
#define CONTROL_CLI_CORE_DIRWALK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/err.h"

#define DIRWALK_TURNS_MAX 64u

/* The identity of a directory, as long as a descriptor holds it. */
struct dir_id {
	dev_t dev;
	ino_t ino;
};

/* A place where somebody who can write to the directory @fd (O_PATH) chose
 * where the walk went on. */
struct dirwalk_turn {
	int fd;
	bool link; /* by a symbolic link in it; else by a ".." that led to it */
};

struct dirwalk {
	int fd; /* O_PATH of the directory that was found, -1: none */
	struct dirwalk_turn turns[DIRWALK_TURNS_MAX];
	size_t n_turns;
	bool linked; /* a symbolic link was followed */
};

enum dirwalk_links {
	DIRWALK_FOLLOW,
	DIRWALK_NO_LINKS, /* -ELOOP when one is in the way */
};

/*
 * Opens the directory @path, one component at a time, each relative to the
 * descriptor of the one before. Fails with -ENOENT, -ENOTDIR, -EACCES; with
 * -ELOOP after DIRWALK_TURNS_MAX links and "..". Release with dirwalk_done(),
 * also after a failure.
 */
int dirwalk_open(const char *path, enum dirwalk_links links,
		 struct dirwalk *ret);
void dirwalk_done(struct dirwalk *w); /* accepts zeroed with fd -1 */

int dirwalk_id(int fd, struct dir_id *ret) ATTR_WUR;

/*
 * Walks from @fd up to the root. Returns the index of the first directory that
 * is one of @ids, @n when none is; -ELOOP when there is no end to it, or what
 * the kernel said.
 */
ssize_t dirwalk_above(int fd, const struct dir_id *ids, size_t n) ATTR_WUR;

/*
 * Returns 1 when the directory @inner is @outer or below it, by the way up or
 * by the place of both in their file system, so through bind mounts too; else
 * 0. Fails with what the kernel said, or -EBADMSG for a mountinfo that does
 * not name the mount.
 */
int dirwalk_contains(int outer, int inner) ATTR_WUR;

/* The name of what @fd is now: absolute, without links. The caller frees it.
 * Fails with -ENOENT when it has none (removed, or out of reach). */
int dirwalk_name(int fd, char **ret) ATTR_WUR;

/* For tests: @fn is called before each component is opened. NULL: no longer. */
void dirwalk_hook(void (*fn)(void *arg, const char *name), void *arg);

#endif
