/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge.h - merges what the user and the agent have both changed
 */
#ifndef CONTROL_CLI_LAYER_MERGE_H
#define CONTROL_CLI_LAYER_MERGE_H

#include "control/cli/layer/plan.h"
#include "control/cli/layer/stage.h"

#define MERGE_FILE_MAX (4u * 1024 * 1024) /* bytes of each version */
#define MERGE_FILES_MAX 500u /* conflicts that are looked at */
#define MERGE_ALL_MS 60000u /* for all of them; the rest are conflicts */

/*
 * Decides those conflicts of @plan whose base is known: what apply has brought
 * before, or the file as git had it when the layer was begun. The results are files
 * of @stage; @name is the instance. A file that cannot be merged, for whatever
 * reason, stays a conflict. Returns 0; -EINTR; another negative errno with @err.
 */
int merge_plan(const struct plan_input *in, struct plan *plan,
	       struct stage *stage, const char *name, struct err *err) ATTR_WUR;

#endif
