/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer.h - what a sandbox has written over the user's directory
 *
 * In the mode `copy` a workspace is an overlay of the kernel (overlayfs): below,
 * read-only, the user's directory; above it the layer, a directory of the
 * instance with "upper" (what was written) and "work" (the kernel's). Nothing of
 * it is a save: what a sandbox has written is in upper at once, as after any
 * write to a file system, so it survives what a file survives.
 *
 * The user's directory may change under a running overlay. A file that the
 * sandbox has not written is then seen as it is now; one that it has written
 * stays its own.
 */
#ifndef CONTROL_ACD_STORAGE_LAYER_H
#define CONTROL_ACD_STORAGE_LAYER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "lib/err.h"
#include "lib/str.h"

/* Makes upper and work in the directory @dir, which must exist, unless they are
 * there. upper gets owner and mode of @below, the user's directory: the overlay
 * shows them as those of the workspace. Returns 0 or a negative errno. */
int layer_make(const char *dir, const struct stat *below);
/* Mounts the overlay of @below and the layer in @dir at @target, all of them
 * directories: nosuid, nodev. Returns 0; -ENOTSUP with @err if the file system
 * with the layer cannot hold one; another negative errno. */
int layer_mount(const char *below, const char *dir, const char *target,
		struct err *err);

/* What layer_send() reads. */
struct layer_source {
	const char *dir; /* with upper; or in @image */
	bool must; /* it is an error if @dir does not exist; else it is an empty
		    * layer */
	const char *image; /* a disk.img that is not mounted, with "layer" in
			    * it; NULL: none */
	const char *at; /* where it may be mounted, in a mount namespace of the
			 * child's own */
	const struct strv
		*blocked; /* paths that are left out, with all below */
	int out; /* a pipe */
};

/* Writes the changes of a layer to its out, as control/shared/changes.h has it;
 * @what is a struct layer_source. A layer that was never made has none. A
 * treejob_work: it waits for the reader. Returns 0; -EPIPE if that has gone;
 * another negative errno with @err: the archive has no end then. */
int layer_send(const void *what, struct err *err);

#endif
