/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_impl.h - inside of snapshot*.c; nothing else includes it
 */
#ifndef CONTROL_ACD_STORAGE_SNAPSHOT_IMPL_H
#define CONTROL_ACD_STORAGE_SNAPSHOT_IMPL_H

#include "control/acd/storage/snapshot.h"

/* Writes the meta.json of a snapshot. Returns 0 or a negative errno. */
int snapshot_store(const char *dir, const struct snapshot_meta *m,
		   struct err *err);
/* Adds the trees in @dir to @h. Returns as treehash_add(). */
int snapshot_hash(const char *dir, struct treehash *h, struct err *err);

#endif
