/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mounts.h - what a sandbox sees at /workspace and /home/node
 *
 * Each is a mount of its own below AC_MOUNTS/<instance>/, made when the
 * sandbox starts and gone when it has ended. An identity-mapped mount swaps
 * the owner of the files outside with the agent's uid, so that both sides
 * see their own files as their own; nothing is ever chowned. setuid bits and
 * device files have no effect through it.
 *
 * A workspace that is not in AC_STATE comes as a descriptor through
 * mount.sock (open_tree() of the user's directory): acd never opens a path
 * of the user's machine. It serves one run and is let go by
 * mounts_release(); the client sends it again for the next.
 *
 * Blocked paths of a workspace are covered, before the sandbox exists, by an
 * empty file or directory of ours that is mounted over them in that mount of
 * ac-host: nothing is written to the user's directory, and the cover goes with
 * the mount. Each directory above becomes a mount point of itself, which
 * nobody in the sandbox can move. What is not there yet when the run starts is
 * not covered.
 *
 * One mount namespace, one table: the state belongs to the process.
 */
#ifndef CONTROL_ACD_STORAGE_MOUNTS_H
#define CONTROL_ACD_STORAGE_MOUNTS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/loop.h"
#include "lib/str.h"

#define MOUNTS_EXTERNAL_MAX 1024u /* descriptors kept at once */

struct mounts_spec {
	const char *name; /* instance, checked by name_check_instance() */
	uint32_t host_uid, host_gid; /* owner of the files outside */
	bool external; /* the workspace is the descriptor sent for @name */
	bool workspace_ro;
	bool disk; /* its own directories are in what is mounted at
		    * mounts_disk_path() */
	const struct strv *blocked; /* paths of the workspace that are not
				     * shown; NULL: none */
};

struct mounts_paths {
	char workspace[PATH_MAX]; /* AC_MOUNTS/<name>/workspace */
	char home[PATH_MAX]; /* AC_MOUNTS/<name>/home */
	/* The user's directory at @workspace; 0: it is the instance's own. */
	dev_t workspace_dev;
	ino_t workspace_ino;
};

/* Listens at @sock_path (NULL: not at all, for tests), owned by @uid:@gid,
 * mode 0600, and clears what an earlier life left mounted. @state and @run
 * are AC_STATE_INSTANCES and AC_MOUNTS but for tests. */
int mounts_init(struct loop *loop, const char *sock_path, uint32_t uid,
		uint32_t gid, const char *state, const char *run,
		struct err *err);
/* How long a peer has for its message; 10 s by default. */
void mounts_set_limit(unsigned ms);
void mounts_done(void); /* unmounts all; harmless when not initialised */

/* Makes both mounts; <state>/<name>/{workspace,home} must exist (but for
 * the workspace when it is external). Left-overs of the same name are
 * replaced. -ENOENT: external, but no descriptor is here; -ELOOP: a link is
 * in the way of a blocked path. */
int mounts_prepare(const struct mounts_spec *spec, struct mounts_paths *ret,
		   struct err *err);
/* Which of @blocked are not covered in the workspace of @name, since they did
 * not exist: "a, b". NULL: all are. */
char *mounts_uncovered(const char *name, const struct strv *blocked);
/* Calls them by another name, which has none: from now on they are that
 * one's. */
int mounts_rename(const char *name, const char *to);
/* Unmounts both, and its disk.img, and drops the descriptor. Nothing there
 * is fine. */
void mounts_release(const char *name);
/* Where the disk.img of @name is mounted for the time of its run (disk.h);
 * made by who mounts it. */
void mounts_disk_path(const char *name, char ret[PATH_MAX]);
/* A descriptor for @name has come and waits for its run. */
bool mounts_has_external(const char *name);
/* Drops the one that waits: it is of another directory than the next run's. */
void mounts_forget_external(const char *name);
/* NULL, or why files keep the agent's uid outside (for `ac doctor`). */
const char *mounts_idmap_problem(void);

#endif
