/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk.h - limits what workspace, layer and home of an instance hold together
 *
 * By the first of these that works here:
 *
 *	quota  project quota of the file system with $AC_HOME
 *	file   a file system in the instance's disk.img, mounted during a run;
 *	       the files of all three directories are in it
 *
 * If neither works, a run with a limit is refused. An instance with a disk.img
 * keeps it until its limit is removed.
 */
#ifndef CONTROL_ACD_STORAGE_DISK_H
#define CONTROL_ACD_STORAGE_DISK_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

struct disk_spec {
	const char *dir; /* of the instance: workspace, layer, home, disk.img */
	const char *at; /* where its disk.img is mounted */
	uint64_t bytes; /* limit; 0: none */
	uint32_t uid, gid; /* owner of the files */
};

enum disk_held { DISK_FREE, DISK_QUOTA, DISK_FILE };

struct disk_use {
	enum disk_held held;
	uint64_t used, limit; /* bytes */
	/* Inodes; both 0 if unknown: a disk.img that is not mounted. */
	uint64_t files, files_limit;
};

/* Returns true if a run needs no disk_settle(): it has no limit, and the files
 * are under none from before. */
bool disk_is_settled(const struct disk_spec *spec);
/*
 * Makes the limit of @spec, a struct disk_spec, hold; without a limit removes
 * an earlier one. If the files are in a disk.img then, it is mounted, and the
 * caller unmounts it after the run. A treejob_work, since it may copy all
 * files, which must not be used meanwhile. Returns 0, -EDQUOT if they do not
 * fit, or another negative errno, with @err. After a failure (also -ECANCELED,
 * or a crash) no file is lost, and a call with the limit that held before
 * restores it.
 */
int disk_settle(const void *spec, struct err *err);
/* Returns true if the files of the instance in @dir are in a disk.img. */
bool disk_has_image(const char *dir);
/* Sets *ret to what is used, with a few system calls; all of it is 0 if there
 * is no limit, or it cannot be read. `used` of a disk.img that is not mounted
 * is the space that the image takes up. @dir and @at: as in struct
 * disk_spec. */
void disk_look(const char *dir, const char *at, struct disk_use *ret);
/* Returns "quota" or "file", a constant; NULL for DISK_FREE. */
const char *disk_held_name(enum disk_held held);
/* Returns {"held", "used", "limit", "files", "files_limit"}, or JSON's null if
 * there is no limit: a new reference, or NULL without memory. */
json_t *disk_use_json(const struct disk_use *use);
/* Writes to @text for the user how a limit below @dir would be enforced.
 * Returns 0, or -ENOTSUP, with @text unchanged, if none can be. */
int disk_means(const char *dir, char *text, size_t size);

struct disk_removal {
	struct disk_spec spec;
	bool all; /* the whole directory, and its snapshots; else: */
	const char *snapshots; /* NULL: it has none */
	bool home; /* home and log */
	bool layer;
};

/* Removes the files of an instance that @removal, a struct disk_removal, names,
 * also those in its disk.img, which must not be mounted. A treejob_work.
 * Returns 0 or a negative errno with @err; some files may be gone then. */
int disk_remove(const void *removal, struct err *err);

#endif
