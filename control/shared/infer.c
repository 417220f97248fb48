/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer.c - which instance of which blueprint a request means
 */
#include "control/shared/infer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "control/shared/names.h"
#include "lib/guess.h"

/* Returns the longest blueprint name that @word contains, NULL: none. */
static const char *find_contained(const struct strv *blueprints,
				  const char *word)
{
	const char *best = NULL;
	size_t i;

	for (i = 0; i < blueprints->n; i++) {
		const char *name = blueprints->v[i];

		if (*name && strstr(word, name) &&
		    (!best || strlen(name) > strlen(best)))
			best = name;
	}
	return best;
}

#define KNOWN_MAX 256u

/* Returns @known: the names of @blueprints, as many as fit: "a, b", or
 * "none". */
static const char *known_text(const struct strv *blueprints,
			      char known[static KNOWN_MAX])
{
	size_t used = 0, i;

	snprintf(known, KNOWN_MAX, "none");
	for (i = 0; i < blueprints->n; i++) {
		int n = snprintf(known + used, KNOWN_MAX - used, "%s%s",
				 i ? ", " : "", blueprints->v[i]);

		if (n < 0 || (size_t)n >= KNOWN_MAX - used)
			break;
		used += (size_t)n;
	}
	return known;
}

int infer_check_blueprint(const char *name, const struct strv *blueprints,
			  struct err *err)
{
	char known[KNOWN_MAX];

	if (strv_has(blueprints, name))
		return 0;
	err_set(err, -ENOENT, "there is no blueprint '%s'; known are: %s", name,
		known_text(blueprints, known));
	return err_name(err, "unknown_blueprint");
}

static int unknown(const char *word, const struct strv *blueprints,
		   struct err *err)
{
	char known[KNOWN_MAX];
	struct guess g;

	guess_begin(&g, word);
	for (size_t i = 0; i < blueprints->n; i++)
		guess_try(&g, blueprints->v[i]);
	err_set(err, -ENOENT,
		"'%s' is neither a blueprint nor an instance%s%s%s; "
		"blueprints: %s",
		word, g.found ? " (did you mean '" : "", g.found ? g.found : "",
		g.found ? "'?)" : "", known_text(blueprints, known));
	return err_name(err, "unknown_name");
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

/* Takes @blueprint for ret->instance. An instance is bound to one blueprint
 * for life. */
static int bind(const struct infer_known *known, const char *blueprint,
		struct infer *ret, struct err *err)
{
	const char *bound = known->blueprint_of(known->arg, ret->instance);

	if (bound && strcmp(bound, blueprint) != 0) {
		err_set(err, -EEXIST,
			"name collision: '%s' is an instance of '%s', not of "
			"'%s'\nuse it as it is (%s %s), choose another name, "
			"or delete it (ac destroy %s)",
			ret->instance, bound, blueprint, bound, ret->instance,
			ret->instance);
		return err_name(err, "name_collision");
	}
	snprintf(ret->blueprint, sizeof(ret->blueprint), "%s", blueprint);
	ret->exists = bound != NULL;
	return 0;
}

/* The instance that a blueprint's name alone means. */
static int name_session(const char *blueprint, struct infer *ret,
			struct err *err)
{
	int n = snprintf(ret->instance, sizeof(ret->instance), "%s_session",
			 blueprint);

	if (n >= 0 && (size_t)n < sizeof(ret->instance))
		return 0;
	return err_set(err, -EINVAL,
		       "'%s_session' is too long: give the instance a name",
		       blueprint);
}

/* ---- by a directory ---- */

void infer_dir_name(const char *blueprint, const char *dir, unsigned i,
		    char ret[AC_NAME_MAX + 1])
{
	const char *slash = strrchr(dir, '/');
	const char *last = slash ? slash + 1 : dir;
	char number[16] = "";
	size_t n, cut;

	snprintf(ret, AC_NAME_MAX + 1, "%s-", blueprint);
	for (n = strlen(ret); *last && n < AC_NAME_MAX; last++) {
		char c = *last;

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		else if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789._-", c))
			c = '-';
		ret[n++] = c;
	}
	if (i > 1)
		snprintf(number, sizeof(number), "-%u", i);
	cut = AC_NAME_MAX - strlen(number);
	snprintf(ret + (n < cut ? n : cut), sizeof(number), "%s", number);
}

/* Finds the instance of @blueprint that has @dir, or the first free name. */
static int name_by_dir(const char *blueprint, const char *dir,
		       const struct infer_known *known, struct infer *ret,
		       struct err *err)
{
	unsigned i, free_at = 0;

	for (i = 1; i <= INFER_DIRS_MAX; i++) {
		const char *bound, *has;

		infer_dir_name(blueprint, dir, i, ret->instance);
		bound = known->blueprint_of(known->arg, ret->instance);
		if (!bound && !free_at)
			free_at = i;
		if (!bound || strcmp(bound, blueprint) != 0)
			continue;
		has = known->workspace_of(known->arg, ret->instance);
		if (has && strcmp(has, dir) == 0)
			return 0;
	}
	if (free_at) {
		infer_dir_name(blueprint, dir, free_at, ret->instance);
		return 0;
	}
	infer_dir_name(blueprint, dir, 1, ret->instance);
	err_set(err, -EEXIST,
		"'%s' to '%s-%u' exist already, each for another directory: "
		"give the instance a name (ac run %s NAME DIR)",
		ret->instance, ret->instance, INFER_DIRS_MAX, blueprint);
	return err_name(err, "name_collision");
}

static int name_default(const char *blueprint, const char *dir,
			const struct infer_known *known, struct infer *ret,
			struct err *err)
{
	return dir ? name_by_dir(blueprint, dir, known, ret, err) :
		     name_session(blueprint, ret, err);
}

static int infer_word(const struct infer_words *words,
		      const struct infer_known *known, struct infer *ret,
		      struct err *err)
{
	const char *word = words->word, *blueprint;
	int rc = infer_instance(word, ret->instance, err);

	if (rc < 0)
		return rc;
	blueprint = known->blueprint_of(known->arg, ret->instance);
	if (!blueprint && strv_has(known->blueprints, word)) {
		blueprint = word;
		rc = name_default(word, words->dir, known, ret, err);
	} else if (!blueprint) {
		blueprint = find_contained(known->blueprints, word);
		if (!blueprint)
			rc = unknown(word, known->blueprints, err);
	}
	return rc == 0 ? bind(known, blueprint, ret, err) : rc;
}

static int infer_pair(const struct infer_words *words,
		      const struct infer_known *known, struct infer *ret,
		      struct err *err)
{
	const char *blueprint = words->blueprint;
	int rc = words->name ? infer_instance(words->name, ret->instance, err) :
			       0;

	/* Whether there is such a blueprint, and whether it is a good one, acd
	 * tells better: it has read the file. */
	if (rc == 0 && blueprint)
		rc = name_check_blueprint(blueprint, err);
	if (rc == 0 && !words->name)
		rc = name_default(blueprint, words->dir, known, ret, err);
	if (rc == 0 && !blueprint) {
		blueprint = known->blueprint_of(known->arg, ret->instance);
		if (!blueprint)
			rc = unknown(words->name, known->blueprints, err);
	}
	return rc == 0 ? bind(known, blueprint, ret, err) : rc;
}

int infer_names(const struct infer_words *words,
		const struct infer_known *known, struct infer *ret,
		struct err *err)
{
	struct infer found = { .exists = false };
	bool pair = words->blueprint || words->name;
	int rc;

	if (words->word ? pair : !pair)
		return err_set(err, -EINVAL,
			       "either 'word' is needed, or 'blueprint' or "
			       "'name'");
	rc = words->word ? infer_word(words, known, &found, err) :
			   infer_pair(words, known, &found, err);
	if (rc == 0)
		*ret = found;
	return rc;
}
