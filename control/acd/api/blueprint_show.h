/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blueprint_show.h - a blueprint as it is written and as it is resolved
 */
#ifndef CONTROL_ACD_API_BLUEPRINT_SHOW_H
#define CONTROL_ACD_API_BLUEPRINT_SHOW_H

#include <jansson.h>

#include "control/acd/blueprint/blueprint.h"

/* Adds "file" and "text", the file of @bp and what is in it, "resolved", the
 * text of a blueprint without parents that is the same, "lines", with what each
 * line of that is from, and "extends", its parent. Returns 0 or a negative errno with @err. */
int blueprint_show_put(json_t *to, const struct blueprint *bp, struct err *err);

#endif
