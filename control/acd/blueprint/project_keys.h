/* SPDX-License-Identifier: Apache-2.0 */
/*
 * project_keys.h - what each key of a project's file may do
 */
#ifndef CONTROL_ACD_BLUEPRINT_PROJECT_KEYS_H
#define CONTROL_ACD_BLUEPRINT_PROJECT_KEYS_H

#include "control/acd/blueprint/keys.h"
#include "control/acd/blueprint/project.h"

/* A file that has been read over its parent. */
struct project_place {
	struct blueprint_place at; /* at.bp: the file over its parent */
	const struct blueprint *parent;
};

/* Refuses each key that has no row, or one that is refused, and appends the
 * others to @keys, without version and extends. Reads nothing. Returns what a
 * reader does (keys.h). */
int project_judge_keys(const struct project_place *p, struct strv *keys);
/* Judges by the rows what was read over the parent. Returns the same. */
int project_judge_values(const struct project_place *p);

#endif
