/* SPDX-License-Identifier: Apache-2.0 */
/*
 * project.h - the blueprint that a project brings along: read for a run, shown,
 * approved, forgotten
 */
#ifndef CONTROL_CLI_CMD_PROJECT_H
#define CONTROL_CLI_CMD_PROJECT_H

#include "control/cli/host/launch.h"

/* Commands; see struct command in control/cli/commands.h. */
int cmd_blueprint_approve(const struct cli *cli, const struct args *a,
			  struct err *err);
int cmd_blueprint_forget(const struct cli *cli, const struct args *a,
			 struct err *err);

/* Prints the table of those that are approved, a list of acd. Returns 0, or a
 * negative errno with @err. */
int project_print_list(const struct cli *cli, const json_t *list,
		       struct err *err);

/* Reads the file of l->workspace, if there is one, unless --no-project is given,
 * and sets l->project for project_put(). Returns 0, or a negative errno with
 * @err: -EINVAL if no blueprint is named, neither by a word nor by the file. */
int project_read(struct launch *l, const struct args *a, struct err *err);
/* Sets in @body, a request for a run, what project_read() has found. Returns 0
 * or -ENOMEM. */
int project_put(const struct launch *l, const struct args *a, json_t *body);
/* Reads the file of the instance's directory, or asks on the terminal whether it
 * may be used, as acd's refusal @code says. Returns 0 to ask acd again; else a
 * negative errno. As on_project of a launch. */
int project_answer(struct launch *l, const char *code, json_t *body,
		   struct err *err);

#endif
