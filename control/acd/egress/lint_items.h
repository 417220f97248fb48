/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lint_items.h - the findings of the gateway's linter, as data and as text
 *
 * An item is {"level", "code", "text", "file", "line", "column", "message",
 * "about", "by"} (ottergate(8)). The user does not know the lines of files that
 * acd writes: there a finding names the word that the user gave.
 */
#ifndef CONTROL_ACD_EGRESS_LINT_ITEMS_H
#define CONTROL_ACD_EGRESS_LINT_ITEMS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define LINT_NO_PRESET "no-preset" /* a code: "about" is the preset's name */

/* Returns the items of an answer by the gateway, or by its program with --json.
 * An error that is no item comes last; an answer without items gives none. A
 * new reference, NULL without memory. */
json_t *lint_items(const char *text, size_t len);

/* Returns the first item that refuses a policy, borrowed, or NULL. */
const json_t *lint_error(const json_t *items);

/* Returns true if @item is about the file that messages call @file. */
bool lint_is_of(const json_t *item, const char *file);

/* Writes @item as text to @out, cut to @size. An item about the file @shown,
 * which acd wrote for @instance, names what the user gave: "'.com': below com
 * …"; for a missing preset it tells what to do. Other items have their
 * position. */
void lint_explain(const json_t *item, const char *shown, const char *instance,
		  char *out, size_t size);

/* Returns [{"level", "text"}] for those of @items that are about the file
 * @shown of @instance and a target in @body's lists "allow" and "deny". That a
 * denial wins over an allowance is a warning here. A new reference, NULL
 * without memory. */
json_t *lint_items_about(const json_t *items, const char *shown,
			 const char *instance, const json_t *body);

#endif
