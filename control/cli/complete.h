/* SPDX-License-Identifier: Apache-2.0 */
/*
 * complete.h - completion for shells, out of the table of commands
 *
 * The scripts for the shells know nothing but to call `ac __complete -- WORDS`
 * with what stands behind "ac" up to the cursor. It prints candidates, one a
 * line, "word<TAB>what it is", or one of ":dir", ":file" where the shell
 * knows better.
 */
#ifndef CONTROL_CLI_COMPLETE_H
#define CONTROL_CLI_COMPLETE_H

#include <jansson.h>

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

/* What acd knows; each may be NULL. */
struct complete_facts {
	const json_t *instances, *blueprints, *presets, *credentials;
};

/* Which kind of word the last of @words (n > 0) is; *ret_options: it begins
 * an option of those, NULL when it begins none. WORDS_COMMAND for the first
 * word. Pure. */
enum arg_words complete_kind(char *const *words, size_t n,
			     const struct arg_set **ret_options);

/* Candidates for the last word, pushed on @out as printed. Pure. */
int complete_words(char *const *words, size_t n,
		   const struct complete_facts *facts, struct strv *out);

int cmd_complete(const struct cli *cli, const struct args *a, struct err *err);
int cmd_completion(const struct cli *cli, const struct args *a,
		   struct err *err);

#endif
