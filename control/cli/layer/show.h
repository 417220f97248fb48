/* SPDX-License-Identifier: Apache-2.0 */
/*
 * show.h - prints changes: as patches, figures, names, JSON
 */
#ifndef CONTROL_CLI_LAYER_SHOW_H
#define CONTROL_CLI_LAYER_SHOW_H

#include <jansson.h>
#include <stdio.h>

#include "control/cli/core/cli.h"
#include "control/cli/layer/view.h"

/* Print the files of @view, relative to @root, to @out. Return 0 or a negative
 * errno with @err. */
int show_patch(FILE *out, bool colour, int root, const struct view *view,
	       struct err *err);
int show_stat(FILE *out, bool colour, int root, const struct view *view,
	      struct err *err);
int show_names(FILE *out, const struct view *view, struct err *err);
/* Returns {"files": […]} as a new reference, or NULL with @err. */
json_t *show_json(int root, const struct view *view, struct err *err);

/* Adds the member "path" to @obj, and "path_b64" if it is not UTF-8. Returns 0 or
 * -ENOMEM. */
int show_json_path(json_t *obj, const char *path);

/* Prints on stderr which files run code. */
void show_risky(const char *name, const struct plan *plan);
/* Prints on stderr what becomes of the files that both have changed. */
void show_both(const struct cli *cli, const struct plan *plan);
/* Prints what an apply does, or with @dry would do, a line for each change, on
 * stdout. */
void show_plan(const struct plan *plan, bool dry);

#endif
