/* SPDX-License-Identifier: Apache-2.0 */
/*
 * treehash.h - a digest of all files of a tree, to notice that one has changed
 */
#ifndef CONTROL_ACD_STORAGE_TREEHASH_H
#define CONTROL_ACD_STORAGE_TREEHASH_H

#include <stdint.h>

#include "lib/err.h"

#define TREEHASH_LEN 32u

struct treehash {
	uint8_t digest[TREEHASH_LEN];
	uint64_t files; /* entries of all kinds, without the roots */
	uint64_t bytes; /* of the contents of files, holes included */
};

/*
 * Adds all files of the directory @path to @sum, which begins zeroed: names,
 * modes, owners, times of change, attributes, devices, targets of links and
 * contents; holes are the zeros that they stand for. The order in which trees are added has no effect, @label tells them
 * apart. Names and depth may be hostile, as a sandbox made them; no link is
 * followed. May take long, so it runs in a child that asks
 * treejob_is_canceled(). Returns 0; -ECANCELED; -EXDEV if a part is on another
 * file system; -EAGAIN if it changed meanwhile; another negative errno. @sum
 * has no meaning after a failure.
 *
 * It shows damage, torn copies and files that were changed by mistake. It is no
 * seal against somebody who may write there: the digests of the files are
 * summed up, so that they need no order.
 */
int treehash_add(struct treehash *sum, const char *label, const char *path,
		 struct err *err);

#endif
