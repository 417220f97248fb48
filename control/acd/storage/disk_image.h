/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_image.h - a disk limit by a file system in a file
 *
 * Calls with @err may take long: they run in a child (treejob.h). They return 0
 * or a negative errno with @err.
 */
#ifndef CONTROL_ACD_STORAGE_DISK_IMAGE_H
#define CONTROL_ACD_STORAGE_DISK_IMAGE_H

#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

/* Returns the number of loop devices here, free or not. */
unsigned disk_image_devices(void);
/* Makes the sparse file @image of @bytes, owned by @uid:@gid, with an empty
 * file system; replaces an earlier file. The file may be incomplete after a
 * failure or a kill, so the caller makes it under another name, and renames it
 * when it has been filled. */
int disk_image_make(const char *image, uint64_t bytes, uid_t uid, gid_t gid,
		    struct err *err);
/* Makes @image and its file system, which is not mounted, as large as @bytes.
 * Fails with -EDQUOT if the contents do not fit, -EBUSY if ac has it mounted,
 * -EUCLEAN if it is damaged. May be repeated after a failure or a kill. */
int disk_image_resize(const char *image, uint64_t bytes, struct err *err);
/* Mounts @image at the directory @at, which is made. Fails with -ENODEV if
 * there is no free loop device, and with -EBUSY if ac has it mounted already,
 * for which it waits 10 s. The caller unmounts it; that frees the loop
 * device. */
int disk_image_mount(const char *image, const char *at, struct err *err);

#endif
