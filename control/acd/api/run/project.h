/* SPDX-License-Identifier: Apache-2.0 */
/*
 * project.h - what a request for a run says of the project's own blueprint
 *
 *	"project": {"text"}	this one, over the blueprint that is run
 *	"project": {}		the directory has no such file
 *	"no_project"		without it, whatever the directory has
 *	none of these		the one that the instance has already; with
 *				"ask_project" it is refused with
 *				project_needed instead, if the instance has a
 *				directory of the user's
 */
#ifndef CONTROL_ACD_API_RUN_PROJECT_H
#define CONTROL_ACD_API_RUN_PROJECT_H

#include <jansson.h>

#include "control/acd/instance/project_use.h"

struct acd;

struct run_project {
	enum {
		RUN_PROJECT_RECORDED,
		RUN_PROJECT_GIVEN,
		RUN_PROJECT_ABSENT,
		RUN_PROJECT_IGNORED,
	} kind;
	bool ask;
	const char *text; /* GIVEN; of the body */
	struct project p; /* what is read from it, unless @bad says why not */
	struct err bad;
};

/* Reads the members of @body, which outlives @ret. A text that is no project's
 * file is no failure yet. The caller calls run_project_done(). */
void run_project_read(const json_t *body, struct run_project *ret);
void run_project_done(struct run_project *p); /* accepts zeroed */

/* Sets *ret to the blueprint that the file extends, borrowed; NULL: there is no
 * file. Fails with -EINVAL if the file cannot be read. */
int run_project_extends(const struct run_project *p, const char **ret,
			struct err *err);
/* Fails with -EINVAL if the file cannot be read, or, with the word
 * "project_mismatch", if it extends another blueprint than @blueprint; and with
 * -EBUSY and the word "project_needed" if the client has to read it first. @old
 * is the record of the instance, NULL if it is new. */
int run_project_fits(const struct run_project *p,
		     const struct instance_record *old, const char *blueprint,
		     struct err *err);

/*
 * Fills @ret, which the caller releases, with the record that the run has
 * without options: @plain, with what the project's own blueprint changes. @old
 * is that of the instance, NULL if it is new. Fails as project_use_load().
 */
int run_project_default(const struct run_project *p, const struct acd *acd,
			const struct instance_record *old,
			const struct instance_record *plain,
			struct instance_record *ret, struct err *err);
/* Gives @r, the record of an old instance, the limits of @def where it had those
 * of its blueprint before. */
void run_project_follow(const struct run_project *p, const struct acd *acd,
			const struct instance_record *plain,
			const struct instance_record *def,
			struct instance_record *r);
/* Gives @r, which has its options, the project's own blueprint of @def, or none.
 * Returns 0 or -ENOMEM. */
int run_project_set(const struct run_project *p,
		    const struct instance_record *def,
		    struct instance_record *r);

/* Returns 0 if a run of @r may begin with it. Else fails as
 * project_use_may(). */
int run_project_may(const struct run_project *p, struct store *s,
		    const struct instance_record *r, struct err *err);

#endif
