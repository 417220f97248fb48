/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_body.h - what a command line says of a run, as a request for acd
 */
#ifndef CONTROL_CLI_CMD_RUN_BODY_H
#define CONTROL_CLI_CMD_RUN_BODY_H

#include <jansson.h>

#include "control/cli/core/args.h"
#include "control/cli/host/launch.h"
#include "lib/str.h"

/* Returns the options of the instance that @a sets, with the variables of
 * @identity before those of @a: a new reference, NULL without memory. */
json_t *run_body_options(const struct launch *l, const struct args *a,
			 const struct strv *identity);

/* Set a member of @body. Return 0 or a negative number without memory. */

/* Unless @value is NULL. */
int run_body_text(json_t *body, const char *key, const char *value);
/* "env": TERM and COLORTERM, which go with a terminal, and @more, unless NULL. */
int run_body_terminal(json_t *body, const struct strv *more);
/* What holds for this process only, not for the instance. @shell: it is the
 * blueprint's shell, unless there is a command. */
int run_body_process(json_t *body, const struct args *a, bool shell);

#endif
