/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy.h - what instances may reach: `ac policy …`, `ac usage`, `ac metrics`
 */
#ifndef CONTROL_CLI_CMD_POLICY_POLICY_H
#define CONTROL_CLI_CMD_POLICY_POLICY_H

#include <jansson.h>

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

#define CLI_EXIT_DENIED 3 /* `ac policy check`: blocked */

/* Commands (struct command in control/cli/commands.h) of show.c. */
int cmd_policy_show(const struct cli *cli, const struct args *a,
		    struct err *err);
/* Command of log.c. */
int cmd_policy_log(const struct cli *cli, const struct args *a,
		   struct err *err);
/* Command of check.c. */
int cmd_policy_check(const struct cli *cli, const struct args *a,
		     struct err *err);
/*
 * Makes the question of `check` from the @n words (1 or 2) after the instance's
 * name: "https://…" or "POST https://…"; the caller frees *ret. Returns 0.
 * Fails with -EINVAL and @err if a word is missing or the first is no method:
 * at most 16 upper-case letters and '-', as in a rule (RFC 9110, 9.1: case
 * counts).
 */
int policy_check_words(const char *const *words, size_t n, char **ret,
		       struct err *err);
/* Prints text from a sandbox or a file as one line, escaped. */
void policy_print_clean(const char *text);
/* Commands of policy.c. */
int cmd_policy_allow(const struct cli *cli, const struct args *a,
		     struct err *err);
int cmd_policy_deny(const struct cli *cli, const struct args *a,
		    struct err *err);
int cmd_policy_mode(const struct cli *cli, const struct args *a,
		    struct err *err);
int cmd_policy_push(const struct cli *cli, const struct args *a,
		    struct err *err);
int cmd_policy_reset(const struct cli *cli, const struct args *a,
		     struct err *err);
int cmd_policy_lint(const struct cli *cli, const struct args *a,
		    struct err *err);
int cmd_policy_learn(const struct cli *cli, const struct args *a,
		     struct err *err);
int cmd_policy_reload(const struct cli *cli, const struct args *a,
		      struct err *err);
/* Returns which methods and paths a rule of GET …/policy allows, such as "GET,
 * HEAD; not on all paths" or "any"; "" if it does not inspect. The caller frees
 * it. NULL: out of memory. */
char *policy_methods(const json_t *rule);
/* Commands of usage.c and policy.c. */
int cmd_usage(const struct cli *cli, const struct args *a, struct err *err);
int cmd_metrics(const struct cli *cli, const struct args *a, struct err *err);

#endif
