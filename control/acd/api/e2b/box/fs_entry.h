/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fs_entry.h - a name in a sandbox, as E2B's SDKs read it
 */
#ifndef CONTROL_ACD_API_E2B_BOX_FS_ENTRY_H
#define CONTROL_ACD_API_E2B_BOX_FS_ENTRY_H

#include <jansson.h>

#include "init-guard/filewire.h"

/* Returns the entry @e, whose path is @path, as a message of Connect; a new
 * reference. Owner and group are left out: acd does not know them. */
json_t *fs_entry(const char *path, const struct filewire_entry *e);
/* Returns what an upload answers of a file; a new reference. */
json_t *fs_written(const char *path);
/* Writes a mode such as "drwxr-xr-x". */
void fs_mode(const struct filewire_entry *e, char ret[11]);

#endif
