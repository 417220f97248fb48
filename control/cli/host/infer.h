/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer.h - which instance of which blueprint the words of a command mean
 *
 *	BLUEPRINT NAME  as written
 *	NAME            an instance that exists: of its own blueprint
 *	BLUEPRINT       the instance <blueprint>_session
 *	NAME            that contains a blueprint's name: of that blueprint,
 *	                the longest when there are several
 *
 * An instance's name of one character gets a "_" appended.
 */
#ifndef CONTROL_CLI_HOST_INFER_H
#define CONTROL_CLI_HOST_INFER_H

#include <jansson.h>
#include <stdbool.h>

#include "control/shared/paths.h"
#include "lib/err.h"

struct infer {
	char instance[AC_NAME_MAX + 1];
	char blueprint[AC_NAME_MAX + 1];
	bool exists; /* the instance is there already */
};

/*
 * @words: one or two. @instances and @blueprints: arrays of acd's objects
 * with "name" (and "blueprint"). -EINVAL a bad name; -ENOENT no blueprint
 * fits the one word, the message lists the known; -EEXIST the instance is
 * bound to another blueprint. A blueprint that was named is not looked up;
 * it must be a possible name. Pure.
 */
int infer_names(const char *const *words, size_t n_words,
		const json_t *instances, const json_t *blueprints,
		struct infer *ret, struct err *err);

/* -ENOENT, with those that are known, unless @name is one of @blueprints. */
int infer_check_blueprint(const char *name, const json_t *blueprints,
			  struct err *err);

/* The name of an instance as the user wrote it, padded and checked. */
int infer_instance(const char *word, char ret[AC_NAME_MAX + 1],
		   struct err *err);

#endif
