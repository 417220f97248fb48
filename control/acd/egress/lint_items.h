/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lint_items.h - what the gateway's linter printed, as data and for people
 *
 * Of a file that acd has written itself the user knows no lines: there a
 * finding names the word that he gave.
 */
#ifndef CONTROL_ACD_EGRESS_LINT_ITEMS_H
#define CONTROL_ACD_EGRESS_LINT_ITEMS_H

#include <jansson.h>

#include "lib/str.h"

/* The items of `ottergate --check`: [{"level", "code", "text"}]; a fault of
 * form that it complained of in @err_out comes last. NULL without memory. */
json_t *lint_items(const char *out, const char *err_out);

/*
 * The message @msg about the file @yaml that messages call @shown, in words:
 * "SHOWN:12:32: below com …" becomes "'.com': below com …". One about another
 * file stays as it is. True: it was about @yaml.
 */
bool lint_explain(const char *msg, const char *shown, const char *yaml,
		  char *out, size_t size);

/* Puts the way out behind a message about a preset that is not there. */
void lint_hint(char *text, size_t size, const char *instance);

/* Of @items those about @yaml and a target in one of the lists "allow" and
 * "deny" of @body: [{"level", "text"}]; that a
 * denial wins over an allowance is a warning here. NULL without memory. */
json_t *lint_items_about(const json_t *items, const char *shown,
			 const char *yaml, const json_t *body);

#endif
