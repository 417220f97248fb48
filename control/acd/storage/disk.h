/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk.h - how much the workspace and the home of an instance may hold
 *
 * Together; held by the first of these that works here:
 *
 *	quota  project quota of the file system that has $AC_HOME
 *	file   a file system in the instance's disk.img, mounted for the time
 *	       of a run; the files of both directories are in it
 *
 * Where neither does, a run with a limit is refused. An instance that has a
 * disk.img keeps it until it has no limit any more.
 */
#ifndef CONTROL_ACD_STORAGE_DISK_H
#define CONTROL_ACD_STORAGE_DISK_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

struct disk_spec {
	const char *dir; /* of the instance: workspace, home, disk.img */
	const char *at; /* where its disk.img is mounted */
	uint64_t bytes; /* 0: no limit */
	uint32_t uid, gid; /* owner of the files */
};

enum disk_held { DISK_FREE, DISK_QUOTA, DISK_FILE };

struct disk_use {
	enum disk_held held;
	uint64_t used, limit; /* bytes */
	/* Inodes; both 0 where nobody counts them now: a disk.img that is
	 * not mounted. */
	uint64_t files, files_limit;
};

/* Nothing has to be done before a run: no limit, and none left from before. */
bool disk_is_settled(const struct disk_spec *spec);
/*
 * A struct disk_spec; treejob_work, for it may copy all files. Makes its
 * limit hold, or takes an earlier one away. disk.img is then mounted. Nobody
 * else may use the files meanwhile. After a failure, -ECANCELED and a crash
 * included, nothing is lost, and the limit that held before can be had again
 * by the same call.
 */
int disk_settle(const void *spec, struct err *err);
/* Its files are in disk.img. */
bool disk_has_image(const char *dir);
/* A few system calls. Of a disk.img that is not mounted: what it takes up. */
void disk_look(const char *dir, const char *at, struct disk_use *ret);
const char *disk_held_name(enum disk_held held); /* "quota", "file", NULL */
/* {"held", "used", "limit", "files", "files_limit"}; null: no limit. */
json_t *disk_use_json(const struct disk_use *use);
/* How a limit below @dir would be held, for people. -ENOTSUP: not at all. */
int disk_means(const char *dir, char *text, size_t size);

struct disk_removal {
	struct disk_spec spec;
	bool all; /* the whole directory; else home and log alone */
};

/* A struct disk_removal; treejob_work. Removes an instance's files, wherever
 * they are. */
int disk_remove(const void *removal, struct err *err);

#endif
