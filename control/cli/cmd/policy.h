/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy.h - what instances may reach: `ac policy …`, `ac metrics`
 */
#ifndef CONTROL_CLI_CMD_POLICY_H
#define CONTROL_CLI_CMD_POLICY_H

#include <jansson.h>

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

#define CLI_EXIT_DENIED 3 /* `ac policy check`: it would be blocked */

/* policy_show.c */
int cmd_policy_show(const struct cli *cli, const struct args *a,
		    struct err *err);
int cmd_policy_presets(const struct cli *cli, const struct args *a,
		       struct err *err);
/* policy_log.c */
int cmd_policy_log(const struct cli *cli, const struct args *a,
		   struct err *err);
/* policy_check.c */
int cmd_policy_check(const struct cli *cli, const struct args *a,
		     struct err *err);
/* The question of `check` in the @n words behind the instance's name, one or
 * two: "https://…" or "POST https://…"; caller frees. -EINVAL: a word is missing,
 * or the first has not the form of a method: upper-case letters and '-', at
 * most 16, as in a rule (RFC 9110, 9.1: case counts). */
int policy_check_words(const char *const *words, size_t n, char **ret,
		       struct err *err);
/* Prints text that may come from a sandbox or a file, as a line. */
void policy_print_clean(const char *text);
/* cmd/policy.c */
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
/* What of methods and paths a rule of GET …/policy lets through, in words: "GET,
 * HEAD; not on all paths", "any"; "" where it does not inspect. Caller frees;
 * NULL without memory. */
char *policy_methods(const json_t *rule);
/* cmd/usage.c */
int cmd_usage(const struct cli *cli, const struct args *a, struct err *err);
int cmd_metrics(const struct cli *cli, const struct args *a, struct err *err);

#endif
