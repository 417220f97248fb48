/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lint_items.h - what the gateway's linter found, as data and for people
 *
 * An item is {"level", "code", "text", "file", "line", "column", "message",
 * "about", "by"} (ottergate(8)). Of a file that acd has written itself the user
 * knows no lines: there a finding names the word that he gave.
 */
#ifndef CONTROL_ACD_EGRESS_LINT_ITEMS_H
#define CONTROL_ACD_EGRESS_LINT_ITEMS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define LINT_NO_PRESET "no-preset" /* a code: "about" is the preset's name */

/* The items of an answer of the gateway's, or of its program with --json; an
 * error that is none of them comes last. An answer that is none has no items.
 * Returns a new reference, NULL without memory. */
json_t *lint_items(const char *text, size_t len);

/* The first item that refuses a policy, borrowed; NULL: there is none. */
const json_t *lint_error(const json_t *items);

/* Whether @item is about the file that messages call @file. */
bool lint_is_of(const json_t *item, const char *file);

/* Writes @item in words to @out, cut to @size. One about the file @shown, which
 * acd wrote for @instance, names what the user gave: "'.com': below com …", and
 * one about a preset that is not there the way out. Another one has its place. */
void lint_explain(const json_t *item, const char *shown, const char *instance,
		  char *out, size_t size);

/* Of @items those about the file @shown of @instance and a target in one of the
 * lists "allow" and "deny" of @body: [{"level", "text"}]; that a denial wins over
 * an allowance is a warning here. Returns a new reference, NULL without memory. */
json_t *lint_items_about(const json_t *items, const char *shown,
			 const char *instance, const json_t *body);

#endif
