/* SPDX-License-Identifier: Apache-2.0 */
/*
 * treecopy.h - copies all files of one tree into another, and nowhere else
 */
#ifndef CONTROL_ACD_STORAGE_TREECOPY_H
#define CONTROL_ACD_STORAGE_TREECOPY_H

#include "lib/err.h"

/*
 * Copies the contents of the directory @from to the directory @to, with owners,
 * times, attributes, holes and links, and replaces what @to has of the same
 * name. A sandbox may have made either tree, to any depth: no link in them
 * leads out of @to. The directory "@to.links" exists beside it during the copy;
 * one left by an interrupted copy is removed. May take long, so it runs in a
 * child that asks treejob_is_canceled(). Returns 0; -ECANCELED (what was copied
 * stays); -EXDEV if a part of @from is on another file system; another negative
 * errno.
 */
int treecopy(const char *from, const char *to, struct err *err);

/* Writes all that was written to the file system of the directory @path to the
 * disk. Returns 0 or a negative errno with @err. */
int tree_sync(const char *path, struct err *err);

#endif
