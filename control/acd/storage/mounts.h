/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mounts.h - the mounts at /workspace, /home/node and /mnt of a sandbox
 *
 * Each is a mount of its own below AC_MOUNTS/<instance>/, made when the sandbox
 * starts and removed when it has ended. An id-mapped mount swaps the owner of
 * the files outside with the agent's uid, so both see their own files as
 * theirs; nothing is chowned. Setuid bits and device files have no effect
 * through it.
 *
 * A workspace outside AC_STATE comes as a descriptor through mount.sock
 * (open_tree() of the user's directory): acd never opens a path of the user's
 * machine. It serves one run and is dropped by mounts_release(); the client
 * sends it again for the next run.
 *
 * In the mode `copy` that directory is mounted read-only at below, the layer of
 * the instance at layer, and an overlay of both at workspace.
 *
 * Further directories of the user's (`mounts` of a blueprint) come and go the
 * same way. Each is mounted at AC_MOUNTS/<instance>/mounts/NAME for AC_MNT/NAME;
 * beside it, mnt/NAME is the empty directory over which a sandbox mounts it. A
 * volume (volumes.h) is mounted the same way, with a mapping of its own: its files
 * have one owner outside, also if the instance's have another.
 *
 * Before the sandbox exists, blocked paths of a workspace are covered by an
 * empty file or directory, mounted over them in ac-host's mount. Nothing is
 * written to the user's directory, and the cover goes with the mount. Each
 * directory above becomes a mount point of itself, so the sandbox cannot move
 * it. Paths that do not exist when the run starts are not covered.
 *
 * There is one mount namespace, so the state is global in the process.
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

/* One of the `mounts` of a blueprint. */
struct mounts_extra {
	const char *to; /* AC_MNT/NAME, by name_is_mount(); borrowed */
	const char *volume; /* NULL: a directory of the user's; borrowed */
	bool ro;
	/* Set by mounts_prepare(): the directory. */
	dev_t dev;
	ino_t ino;
};

struct mounts_spec {
	const char *name; /* instance, checked by name_check_instance() */
	uint32_t host_uid, host_gid; /* owner of the files outside */
	bool external; /* the workspace is the descriptor sent for @name */
	bool workspace_ro;
	bool copy; /* external, and below the instance's layer (layer.h) */
	bool disk; /* its own directories are in the disk.img that is mounted
		    * at mounts_disk_path() */
	struct mounts_extra *extras;
	size_t n_extras;
	const struct strv *blocked; /* paths of the workspace to cover; NULL:
				     * none */
};

struct mounts_paths {
	char workspace[PATH_MAX]; /* AC_MOUNTS/<name>/workspace */
	char home[PATH_MAX]; /* AC_MOUNTS/<name>/home */
	/* The user's directory at @workspace; 0: it is a private one. */
	dev_t workspace_dev;
	ino_t workspace_ino;
	int64_t workspace_born_ns; /* since the epoch; 0: not known */
};

/* Listens at @sock_path (NULL, in tests: nowhere), owned by @uid:@gid, mode
 * 0600, and unmounts what an earlier acd left. @state and @run are
 * AC_STATE_INSTANCES and AC_MOUNTS except in tests. Returns 0 or a negative
 * errno with @err. */
int mounts_init(struct loop *loop, const char *sock_path, uint32_t uid,
		uint32_t gid, const char *state, const char *run,
		struct err *err);
void mounts_done(void); /* unmounts all; harmless when not initialised */

/* Makes all mounts. <state>/<name>/{workspace,home} must exist, except the
 * workspace if it is external; and layer for a copy. Mounts of the same name are replaced. Returns 0;
 * -ENOENT if no descriptor was sent for one of the user's, or a volume is not
 * there; -ELOOP if a link is in
 * the way of a blocked path; another negative errno. A failure releases all. */
int mounts_prepare(const struct mounts_spec *spec, struct mounts_paths *ret,
		   struct err *err);
/* Returns those of @blocked that are not covered in the workspace of @name,
 * since they did not exist: "a, b" (the caller frees it), or NULL if all
 * are. */
char *mounts_uncovered(const char *name, const struct strv *blocked);
/* Renames the mounts of @name to @to, after mounts_release() of @to. Returns 0
 * or a negative errno. */
int mounts_rename(const char *name, const char *to);
/* Sets @out to the directory below which those of @name are shown. */
void mounts_place(const char *name, char out[PATH_MAX]);
/* Unmounts all mounts and the disk.img, and drops the descriptor. Nothing
 * there is fine. */
void mounts_release(const char *name);
/* Writes where the disk.img of @name is to be mounted during a run (disk.h).
 * Does not make it. */
void mounts_disk_path(const char *name, char ret[PATH_MAX]);
/* Writes where the home of @name is mounted during a run. */
void mounts_home_path(const char *name, char ret[PATH_MAX]);
/* Writes where the skills of @name are during a run: a directory, no mount. Does
 * not make it. */
void mounts_skills_path(const char *name, char ret[PATH_MAX]);
/* Writes where the mount at @to, AC_MNT/NAME, is during a run; and where the
 * empty directories for all of them are. Make neither. */
void mounts_extra_path(const char *name, const char *to, char ret[PATH_MAX]);
void mounts_mnt_path(const char *name, char ret[PATH_MAX]);
/* Returns true if a descriptor for the mount of @name at @to waits. */
bool mounts_has_extra(const char *name, const char *to);
/* Drops the descriptors that wait for mounts of @name. */
void mounts_forget_extras(const char *name);
/* Returns true if a descriptor for @name has come and waits for its run. */
bool mounts_has_external(const char *name);
/* Drops the descriptor that waits: the next run uses another directory. */
void mounts_forget_external(const char *name);
/* Drops the descriptor that waits unless it is of the directory @dev, @ino. */
void mounts_keep_external(const char *name, dev_t dev, ino_t ino);
/* Returns why files keep the agent's uid outside (for `ac doctor`), or NULL. */
const char *mounts_idmap_problem(void);

#endif
