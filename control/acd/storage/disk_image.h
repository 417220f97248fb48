/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_image.h - a disk limit by a file system in a file
 *
 * All of these may take long: they are for a child.
 */
#ifndef CONTROL_ACD_STORAGE_DISK_IMAGE_H
#define CONTROL_ACD_STORAGE_DISK_IMAGE_H

#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

/* Loop devices that are here, free or not. */
unsigned disk_image_devices(void);
/* Makes the file @image of @bytes, sparse, with an empty file system in it,
 * owned by @uid:@gid; what was there is gone. Whoever calls gives it the name
 * that counts when it holds what it is to hold: it may be half made when this
 * is cut off. */
int disk_image_make(const char *image, uint64_t bytes, uid_t uid, gid_t gid,
		    struct err *err);
/* Makes it larger or smaller. -EDQUOT: what it holds does not fit. */
int disk_image_resize(const char *image, uint64_t bytes, struct err *err);
/* Mounts it at @at, which is made. -ENODEV: no loop device is here or free;
 * -EBUSY: it is still mounted elsewhere, by ac. The loop device is let go of
 * with the last mount. */
int disk_image_mount(const char *image, const char *at, struct err *err);

#endif
