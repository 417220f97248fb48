/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preset.h - presets that blueprints name: rules for the prompt of an agent, and
 * packages of an image
 *
 * A preset is a file, NAME.yaml, in the folder of its kind: below
 * AC_STATE_PRESETS, the user's own, which come first, or AC_SHARE_PRESETS. It is
 * read as strictly as a blueprint. Presets of egress are policies instead: see
 * egress/presets.h.
 *
 *	version: 1
 *	about: one line          # for people
 *	text: |                  # of prompts: for the agent, as it is
 *	  ## Rules
 *	apt: [make]              # of tools: packages, as in `image` of a
 *	npm: [semver@7]          # blueprint
 *	pip: [six]
 *	egress: [pypi]           # presets of egress that these work with
 */
#ifndef CONTROL_ACD_PRESET_PRESET_H
#define CONTROL_ACD_PRESET_PRESET_H

#include <stdbool.h>

#include "lib/err.h"
#include "lib/schema.h"
#include "lib/str.h"

#define PRESET_FILE_MAX (16u * 1024) /* bytes */
#define PRESET_TEXT_MAX (8u * 1024) /* bytes of a text for the prompt */
#define PRESET_ABOUT_MAX 200u /* bytes */
#define PRESET_WORDS_MAX 64u /* in a list of packages or presets */
#define PRESET_WORD_MAX 200u /* bytes */
#define PRESET_USE_MAX 16u /* presets of one kind in a blueprint */

enum preset_kind {
	PRESET_PROMPTS,
	PRESET_TOOLS,
	PRESET_KINDS,
};
/* Returns "prompts" or "tools", the name of the folder of @kind: a constant. */
const char *preset_kind_name(enum preset_kind kind);

struct preset {
	char *about; /* one line */
	char *text; /* of prompts, ends with a newline; else NULL */
	struct strv apt, npm, pip, egress; /* of tools; the words are judged
					    * where they are used */
	char *file; /* where it is from */
	bool builtin; /* shipped, not the user's */
};
/* Frees what @p holds and zeroes it. Accepts zeroed. */
void preset_done(struct preset *p);

/* What a file may have: the tables that it is read by. */
#define PRESET_SCHEMA_TITLE "A preset of ac for blueprints, see ac-blueprint(5)"
extern const struct schema preset_schema;

/* Parses @text (borrowed); @file is for messages. Returns 0, and the caller
 * releases @ret; or -EINVAL with a position, or -ENOMEM, with @ret unchanged. */
int preset_parse(enum preset_kind kind, const char *text, size_t len,
		 const char *file, struct preset *ret, struct err *err);
/* Reads the preset @name, the user's first. Returns like preset_parse(); -EINVAL
 * for a name that is none; -ENOENT with the names that there are; or the errno
 * of reading its file. */
int preset_load(enum preset_kind kind, const char *name, struct preset *ret,
		struct err *err);
/* Appends the names of all presets of @kind, sorted, each once. Their files may
 * be invalid. Returns 0 or -ENOMEM; @ret may have some names then. */
int preset_names(enum preset_kind kind, struct strv *ret);
/* Sets other folders, for tests. Keeps both strings by reference. */
void preset_set_dirs(const char *user, const char *shipped);

#endif
