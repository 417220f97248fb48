/* SPDX-License-Identifier: Apache-2.0 */
/*
 * project.h - the blueprint that a project brings along: .ac/blueprint.yaml in
 * the workspace
 *
 * Its author is the author of a repository, so it does not choose the rules: it
 * may narrow the blueprint that it extends, and add a few harmless things. One
 * table says what each key of the schema may do; a key without a row is
 * refused. control/acd/instance/project_use.h says when such a file is used.
 */
#ifndef CONTROL_ACD_BLUEPRINT_PROJECT_H
#define CONTROL_ACD_BLUEPRINT_PROJECT_H

#include "control/acd/blueprint/mistakes.h"

#define PROJECT_FILE ".ac/blueprint.yaml" /* in the workspace; for messages */
#define PROJECT_HASH_MAX 65u /* hexadecimal digits of SHA-256, and a NUL */

/* What a key of a project's file may do. */
enum project_may {
	PROJECT_REFUSED,
	PROJECT_FREE, /* say anything that the schema allows */
	PROJECT_NARROWER, /* make it smaller than that of the parent */
	PROJECT_ADDED, /* add to what the parent has */
};

struct project_place;
struct yaml_node;

struct project_row {
	const char *key; /* "resources.memory"; also for all that is below it */
	enum project_may may;
	const char *about; /* refused: why; else what it may be. For people */
	/* Judges what was read, unless it is refused; may be NULL. */
	int (*check)(const struct project_place *p, const struct yaml_node *n,
		     size_t at);
	size_t at; /* offset in struct blueprint, for @check */
};

/* Ends with a NULL key. */
extern const struct project_row project_rows[];
/* Returns "refused", "free", "narrower" or "added". */
const char *project_may_name(enum project_may may);
/* Returns true if a project's file may set the variable @name. */
bool project_env_may(const char *name);

struct project {
	struct blueprint bp; /* the parent with the file over it; it has the
			      * name of the parent */
	struct blueprint parent; /* what it extends, by itself */
	struct strv keys; /* that the file sets: "resources.memory" */
	char hash[PROJECT_HASH_MAX]; /* of the resolved blueprint */
};

/* Frees what @p holds and zeroes it. Accepts zeroed. */
void project_done(struct project *p);
/*
 * Reads the text of a project's file (borrowed) over the blueprint that it
 * extends; @file is for messages. Returns 0, and the caller releases @ret with
 * project_done(). Fails with -EINVAL and a position for what is no such file,
 * or does what it may not; with -ENOMEM, or as blueprint_load() if the parent
 * cannot be read. @ret is unchanged then.
 */
int project_parse(const char *text, size_t len, const char *file,
		  struct project *ret, struct err *err);
/* The same, and adds every mistake to @m, which is zeroed or empty. */
int project_judge(const char *text, size_t len, const char *file,
		  struct project *ret, struct blueprint_mistakes *m,
		  struct err *err);

#endif
