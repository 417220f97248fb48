/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer.c - which instance of which blueprint the words of a command mean
 */
#include "control/cli/host/infer.h"

#include <string.h>

#include "control/cli/core/cli.h"
#include "control/shared/names.h"

static const json_t *find_named(const json_t *list, const char *name)
{
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);

		if (strcmp(json_text(item, "name"), name) == 0)
			return item;
	}
	return NULL;
}

/* The longest blueprint name that @word contains, NULL: none. */
static const char *find_contained(const json_t *blueprints, const char *word)
{
	const char *best = NULL;
	size_t i;

	for (i = 0; i < json_array_size(blueprints); i++) {
		const char *name =
			json_text(json_array_get(blueprints, i), "name");

		if (*name && strstr(word, name) &&
		    (!best || strlen(name) > strlen(best)))
			best = name;
	}
	return best;
}

#define KNOWN_MAX 256u

/* The names of @blueprints, as many as fit: "a, b", or "none". */
static const char *known_text(const json_t *blueprints,
			      char known[static KNOWN_MAX])
{
	size_t used = 0, i;

	snprintf(known, KNOWN_MAX, "none");
	for (i = 0; i < json_array_size(blueprints); i++) {
		const char *name =
			json_text(json_array_get(blueprints, i), "name");
		int n = snprintf(known + used, KNOWN_MAX - used, "%s%s",
				 i ? ", " : "", name);

		if (n < 0 || (size_t)n >= KNOWN_MAX - used)
			break;
		used += (size_t)n;
	}
	return known;
}

int infer_check_blueprint(const char *name, const json_t *blueprints,
			  struct err *err)
{
	char known[KNOWN_MAX];

	if (find_named(blueprints, name))
		return 0;
	return err_set(err, -ENOENT,
		       "there is no blueprint '%s'; known are: %s", name,
		       known_text(blueprints, known));
}

static int unknown(const char *word, const json_t *blueprints, struct err *err)
{
	char known[KNOWN_MAX];

	return err_set(err, -ENOENT,
		       "'%s' is neither a blueprint nor an instance, and no "
		       "blueprint's name is part of it; blueprints: %s",
		       word, known_text(blueprints, known));
}

int infer_instance(const char *word, char ret[AC_NAME_MAX + 1], struct err *err)
{
	char padded[3] = "";
	int rc;

	if (word[0] && !word[1]) {
		padded[0] = word[0];
		padded[1] = '_';
		word = padded;
	}
	rc = name_check_instance(word, err);
	if (rc < 0)
		return rc;
	snprintf(ret, AC_NAME_MAX + 1, "%s", word);
	return 0;
}

/* An instance is bound to one blueprint for life. */
static int bind(const json_t *instances, const char *blueprint,
		struct infer *ret, struct err *err)
{
	const json_t *old = find_named(instances, ret->instance);
	const char *bound = json_text(old, "blueprint");

	if (old && strcmp(bound, blueprint) != 0)
		return err_set(err, -EEXIST,
			       "name collision: '%s' is an instance of '%s', "
			       "not of '%s'\nuse it as it is (%s %s), choose "
			       "another name, or delete it (ac destroy %s)",
			       ret->instance, bound, blueprint, bound,
			       ret->instance, ret->instance);
	snprintf(ret->blueprint, sizeof(ret->blueprint), "%s", blueprint);
	ret->exists = old != NULL;
	return 0;
}

static int infer_one(const char *word, const json_t *instances,
		     const json_t *blueprints, struct infer *ret,
		     struct err *err)
{
	const json_t *old = find_named(instances, ret->instance);
	const char *blueprint = word;
	int n;

	if (old) {
		blueprint = json_text(old, "blueprint");
	} else if (find_named(blueprints, word)) {
		n = snprintf(ret->instance, sizeof(ret->instance), "%s_session",
			     word);
		if (n < 0 || (size_t)n >= sizeof(ret->instance))
			return err_set(err, -EINVAL,
				       "'%s_session' is too long"
				       ": give the instance a name",
				       word);
	} else {
		blueprint = find_contained(blueprints, word);
		if (!blueprint)
			return unknown(word, blueprints, err);
	}
	return bind(instances, blueprint, ret, err);
}

int infer_names(const char *const *words, size_t n_words,
		const json_t *instances, const json_t *blueprints,
		struct infer *ret, struct err *err)
{
	struct infer found = { .exists = false };
	int rc = infer_instance(words[n_words - 1], found.instance, err);

	if (rc < 0)
		return rc;
	/* Whether there is such a blueprint, and whether it is a good one, acd
	 * tells better: it has read the file. */
	if (n_words > 1)
		rc = name_check_blueprint(words[0], err);
	if (rc < 0)
		return rc;
	if (n_words > 1)
		rc = bind(instances, words[0], &found, err);
	else
		rc = infer_one(words[0], instances, blueprints, &found, err);
	if (rc == 0)
		*ret = found;
	return rc;
}
