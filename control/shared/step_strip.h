/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_strip.h - takes setuid bits and file capabilities from an image
 */
#ifndef CONTROL_SHARED_STEP_STRIP_H
#define CONTROL_SHARED_STEP_STRIP_H

#include <stddef.h>

#include "lib/err.h"

/* A file of the image, which init-guard reads at each start. */
#define STEP_STRIP_LIST "usr/libexec/ac/setid-files"

/*
 * Removes every setuid and setgid bit and file capability below the directory
 * @root, and writes the empty list of those that are left, STEP_STRIP_LIST.
 * Follows no link, and fails with -EXDEV at a mount. Nothing may run in @root
 * meanwhile. Sets *ret_files to the number of files that it changed. Returns 0,
 * or a negative errno with @err, and then the list is not written.
 */
int step_strip(const char *root, size_t *ret_files, struct err *err);

#endif
