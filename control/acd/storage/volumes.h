/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volumes.h - volumes: directories that sandboxes share, apart from any instance
 *
 *	<dir>/NAME/data         what sandboxes see
 *	<dir>/NAME/volume.json  {"created_at"}, which they do not
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
 * volumes do, and removes in a child of @loop what an earlier acd left there in
 * between (NULL: does not). Returns 0 or a negative errno with @err. */
int volumes_open(struct loop *loop, const char *dir, uid_t uid, gid_t gid,
		 struct err *err);
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
/* Takes a volume that nothing mounts out of its place. Sets *ret to where its
 * files are now, for the caller to free, and to remove. Fails as volume_find(). */
int volume_drop(const char *name, char **ret, struct err *err);
/* Returns the disk space of its data, UINT64_MAX if that is not known. May take
 * long. */
uint64_t volume_bytes(const char *name);

#endif
