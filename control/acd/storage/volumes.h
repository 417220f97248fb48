/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volumes.h - volumes: directories that sandboxes share, apart from any instance
 *
 *	<dir>/NAME/data         what sandboxes see
 *	<dir>/NAME/volume.json  {"created_at"}, which they do not
 *	<dir>/.taken-NAME       to be removed; an instance may still name it
 *	<dir>/.new-*, .gone-*   not made yet, or being removed
 *
 * A volume is there under its name as a whole, or not at all: it is renamed into
 * its place and out of it. No sandbox reaches more than data, which is a mount's
 * root, so it can replace nothing on the way there.
 *
 * There is one such directory, so the state is global in the process.
 */
#ifndef CONTROL_ACD_STORAGE_VOLUMES_H
#define CONTROL_ACD_STORAGE_VOLUMES_H

#include <stdint.h>
#include <sys/types.h>

#include "control/shared/names.h"
#include "control/shared/paths.h"
#include "lib/err.h"
#include "lib/loop.h"
#include "lib/str.h"

#define VOLUMES_MAX 256u

struct volume {
	char name[AC_NAME_MAX + 1];
	int64_t created_at; /* seconds since the epoch; 0: not known */
};

/* Makes the directory @dir (AC_STATE_VOLUMES), which belongs to @uid:@gid as all
 * volumes do. Returns 0 or a negative errno with @err. */
int volumes_open(const char *dir, uid_t uid, gid_t gid, struct err *err);
/* Removes in a child of @loop what an earlier acd has not made, or not removed,
 * completely. To be called before any volume is made or dropped, but after
 * those of volumes_taken() are. */
void volumes_sweep(struct loop *loop);
void volumes_close(void); /* harmless when not opened */

/* Appends the names of all, sorted. Returns 0 or a negative errno with @err. */
int volumes_names(struct strv *ret, struct err *err);
/* Fails with -ENOENT, the word VOLUME_MISSING and what to do. */
int volume_find(const char *name, struct volume *ret, struct err *err);
/* Makes an empty one. Fails with -EINVAL for a bad name, -EEXIST if there is one
 * (case does not count), -ENOSPC beyond VOLUMES_MAX. */
int volume_create(const char *name, struct err *err);
/* Opens its data with O_PATH, and sets who owns it outside. Returns a descriptor
 * for the caller to close; or fails as volume_find(). */
int volume_data_open(const char *name, uid_t *ret_uid, gid_t *ret_gid,
		     struct err *err);
/*
 * Removal has two steps, so that acd can be killed at any point (volume_use_drop()):
 * volume_take() takes a volume that nothing mounts out of its place, and fails as
 * volume_find(). When no instance names it any more, volume_drop() sets *ret to
 * where its files are then, for the caller to free, and to remove.
 * volume_take_undo() puts it back instead. Return 0 or a negative errno.
 */
int volume_take(const char *name, struct err *err);
int volume_take_undo(const char *name);
int volume_drop(const char *name, char **ret, struct err *err);
/* Appends the names of those that were taken and neither dropped nor put back:
 * acd was killed in between. Returns 0 or a negative errno. */
int volumes_taken(struct strv *ret);
/* Returns the disk space of its data, UINT64_MAX if that is not known. May take
 * long. */
uint64_t volume_bytes(const char *name);

#endif
