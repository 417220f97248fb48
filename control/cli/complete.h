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

/* Lists of acd's API, borrowed; each may be NULL. */
struct complete_facts {
	const json_t *instances, *blueprints, *presets, *credentials, *images;
	const json_t *services;
	const json_t *volumes;
};

/* Appends the candidates for the last word, as they are printed, to @out, which
 * the caller releases in any case. Returns 0 or a negative errno. No side
 * effects. */
int complete_words(char *const *words, size_t n,
		   const struct complete_facts *facts, struct strv *out);

/* The commands `ac __complete` and `ac completion`. */
int cmd_complete(const struct cli *cli, const struct args *a, struct err *err);
int cmd_completion(const struct cli *cli, const struct args *a,
		   struct err *err);

#endif
