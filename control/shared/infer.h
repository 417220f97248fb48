/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer.h - which instance of which blueprint a request means
 *
 *	BLUEPRINT NAME  as written
 *	NAME            an instance that exists: of its own blueprint
 *	BLUEPRINT       the instance <blueprint>_session
 *	NAME            that contains a blueprint's name: of that blueprint,
 *	                the longest when there are several
 *	BLUEPRINT DIR   the blueprint's instance that has the directory, else
 *	                <blueprint>-<last part of DIR>, or with -2, -3 … when
 *	                that name is taken
 *	NAME DIR        as NAME
 *
 * An instance's name of one character gets a "_" appended. acd infers for a
 * run; `ac` does while acd does not run, before it starts anything.
 */
#ifndef CONTROL_SHARED_INFER_H
#define CONTROL_SHARED_INFER_H

#include <stdbool.h>

#include "control/shared/paths.h"
#include "lib/err.h"
#include "lib/str.h"

/* What the user said, borrowed. Either @word alone, which is a blueprint or an
 * instance, or @blueprint, @name (an instance) or both. NULL: not given. */
struct infer_words {
	const char *word, *blueprint, *name;
	const char *dir; /* the user's directory, absolute */
};

/* What there is. */
struct infer_known {
	/* Returns the blueprint of the instance @name, borrowed for the call,
	 * or NULL if there is no such instance. */
	const char *(*blueprint_of)(void *arg, const char *name);
	/* The same for its directory of the user's, or NULL if it has none. */
	const char *(*workspace_of)(void *arg, const char *name);
	void *arg;
	const struct strv *blueprints; /* their names */
};

struct infer {
	char instance[AC_NAME_MAX + 1];
	char blueprint[AC_NAME_MAX + 1];
	bool exists; /* the instance is there already */
};

/*
 * Fills @ret. Returns 0. Fails, with @ret unchanged, with -EINVAL for a bad
 * name or for words that do not go together; with -ENOENT and the word of @err
 * (err.h) "unknown_name" if @words name nothing that is there, the message then
 * lists the blueprints; with -EEXIST and "name_collision" if the instance is
 * bound to another blueprint, or if all INFER_DIRS_MAX names for a directory are
 * taken. words->blueprint only has to be a possible name: whether there is such
 * a blueprint is not checked. Has no side effects.
 */
int infer_names(const struct infer_words *words,
		const struct infer_known *known, struct infer *ret,
		struct err *err);

#define INFER_DIRS_MAX 99u /* instances of one name and different directories */

/* Writes the name of the @i-th instance of @blueprint for a directory whose
 * last part is that of @dir: "claude-src", "claude-src-2". A byte that a name
 * cannot have becomes "-". The result is cut to AC_NAME_MAX bytes. */
void infer_dir_name(const char *blueprint, const char *dir, unsigned i,
		    char ret[AC_NAME_MAX + 1]);

/* Returns 0 if @name is one of @blueprints; else -ENOENT with the word
 * "unknown_blueprint" and a message that lists those. */
int infer_check_blueprint(const char *name, const struct strv *blueprints,
			  struct err *err);

/* Checks @word as the name of an instance and copies it to @ret; a name of one
 * character gets a "_". Returns 0, or -EINVAL with @err. */
int infer_instance(const char *word, char ret[AC_NAME_MAX + 1],
		   struct err *err);

#endif
