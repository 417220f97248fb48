/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mistakes.h - all that is wrong with a blueprint, for people and programs
 */
#ifndef CONTROL_ACD_BLUEPRINT_MISTAKES_H
#define CONTROL_ACD_BLUEPRINT_MISTAKES_H

#include "control/acd/blueprint/blueprint.h"

#define BLUEPRINT_MISTAKES_MAX 20u

/* The codes, which do not change. */
#define MISTAKE_YAML "not_yaml" /* the only one of its file */
#define MISTAKE_KEY "unknown_key"
#define MISTAKE_VERSION "other_version" /* a key of another version */
#define MISTAKE_MISSING "missing" /* what must be there */
#define MISTAKE_TWICE "twice" /* what can be there once */
#define MISTAKE_LIMIT "too_much" /* more of something than is read */
#define MISTAKE_PARENT "extends" /* no such parent, or a wrong one */
#define MISTAKE_PROJECT "not_a_projects" /* more than a project may */
#define MISTAKE_VALUE "wrong_value" /* all others */

struct blueprint_mistake {
	char *file;
	char *message; /* begins with file:line:column */
	unsigned line, column; /* from 1; 0: of the whole file */
	char code[32];
	char hint[64]; /* what was probably meant, or "" */
};

struct blueprint_mistakes {
	struct blueprint_mistake v[BLUEPRINT_MISTAKES_MAX];
	size_t n;
	bool more; /* reading ended at one for which there was no room */
};

/* Frees what @m holds and zeroes it. */
void mistakes_done(struct blueprint_mistakes *m);
/* Adds a copy of @err, of a mistake in @file. Returns 0; -ENOSPC if @m is full,
 * which is noted in it; or -ENOMEM. */
int mistakes_add(struct blueprint_mistakes *m, const char *file,
		 const struct err *err);
/* Sets -EINVAL in @err, with the first mistake of @m and the number of the
 * others. Returns -EINVAL. */
int mistakes_fail(const struct blueprint_mistakes *m, struct err *err);

/* Like blueprint_parse(), and adds every mistake to @m, which is zeroed or
 * empty; those of parents first. A file that is no YAML has one. If it fails
 * with another code than -EINVAL, @m may lack some. */
int blueprint_judge(const char *text, size_t len, const char *file,
		    const char *name, struct blueprint *ret,
		    struct blueprint_mistakes *m, struct err *err);

/* Adds a mistake for each skill of @bp, a stored blueprint, whose folder has no
 * SKILL.md. Returns 0; -EINVAL if there is one, or -ENOMEM, with @err. */
int blueprint_find_skills(const struct blueprint *bp,
			  struct blueprint_mistakes *m, struct err *err);

#endif
