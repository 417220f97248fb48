/* SPDX-License-Identifier: Apache-2.0 */
/*
 * left_out.h - names what an apply leaves out, and says why
 */
#ifndef CONTROL_CLI_LAYER_LEFT_OUT_H
#define CONTROL_CLI_LAYER_LEFT_OUT_H

#include <jansson.h>

#include "control/cli/core/cli.h"
#include "control/cli/layer/plan.h"
#include "control/cli/layer/stage.h"

/* Prints on stderr which changes of the instance @name are never applied, and which
 * files are applied without a bit of their mode. Of many, the first are named. */
void left_out_show(const struct cli *cli, const char *name,
		   const struct stage *stage, const struct plan *plan);
/* Returns [{"path", "reason"}] of all of them as a new reference, or NULL without
 * memory. */
json_t *left_out_json(const struct stage *stage, const struct plan *plan);

#endif
