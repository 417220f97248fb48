/* SPDX-License-Identifier: Apache-2.0 */
/*
 * presets.h - which presets there are, for people: names and hosts
 */
#ifndef CONTROL_ACD_EGRESS_PRESETS_H
#define CONTROL_ACD_EGRESS_PRESETS_H

#include <jansson.h>

#include "lib/err.h"

#define PRESETS_FILE_MAX (1u * 1024 * 1024) /* longer ones are left out */

/*
 * Appends {"name", "description", "source", "names": [...]} for each preset of
 * the policy files *.yaml in the folder @dir; @source says whose they are. What cannot be read is
 * left out: the linter tells why. -ENOMEM.
 */
int presets_list(const char *dir, const char *source, json_t *list);
/* Is there the preset @name in the folder @dir? 1 yes, 0 no; -EIO: a file, or
 * the folder, cannot be read, so that nobody can tell. */
int presets_find(const char *dir, const char *name);

#endif
