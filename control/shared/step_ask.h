/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_ask.h - what ac-step and acd say to each other about a build's step
 *
 * One connection to AC_STEP_SOCK for each step, lines of JSON:
 *
 *	ac-step	{"image": NAME, "id": ID}
 *	acd	{"netns": PATH, "groups": [PATH, ...], "runsc": [WORD, ...],
 *		"time_ms": N, "disk": N, "memory": N} or {"error": TEXT}
 *	ac-step	{"ended": true}
 *	acd	{"refused": [TEXT, ...], "oom": BOOL}: what it tried to reach,
 *		and whether the kernel has killed a process of it for memory
 *
 * Network and control group are the step's until the connection ends.
 */
#ifndef CONTROL_SHARED_STEP_ASK_H
#define CONTROL_SHARED_STEP_ASK_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/str.h"

#define STEP_LINE_MAX (64u * 1024)
#define STEP_ID_MAX 128u
#define STEP_RUNSC_MAX 32u /* words */
#define STEP_GROUPS_MAX 8u
#define STEP_REFUSED_MAX 16u /* places that are named */

/* How a step runs. */
struct step_terms {
	char *netns; /* its network namespace, a file */
	struct strv
		groups; /* of its control group: a process that writes "0" to
			     * all of these files enters it */
	struct strv runsc; /* the command, up to `run` */
	uint64_t time_ms; /* that it may take */
	uint64_t disk; /* bytes that it may write */
	uint64_t memory; /* bytes that it may use: the group's limit */
};
/* Frees what @t holds. Accepts zeroed. */
void step_terms_done(struct step_terms *t);

/* Asks acd over @sock for the terms of a step of @image with the container @id,
 * and waits. Returns 0, and the caller releases @ret; or a negative errno with
 * @err: acd's own words if it refused. */
int step_ask_begin(int sock, const char *image, const char *id,
		   struct step_terms *ret, struct err *err);
/* What acd has seen of a step. */
struct step_seen {
	struct strv refused; /* places that it tried to reach */
	bool oom; /* the kernel killed a process for lack of memory */
};
/* Frees what @s holds. Accepts zeroed. */
void step_seen_done(struct step_seen *s);
/* Tells acd that all processes of the step have ended. Returns 0, and the caller
 * releases @ret; or a negative errno with @err. */
int step_ask_end(int sock, struct step_seen *ret, struct err *err);

/* The same lines, for acd: read the texts of the first line, which are borrowed
 * from @v. Return 0, or -EINVAL with @err. */
int step_ask_read(const json_t *v, const char **ret_image, const char **ret_id,
		  struct err *err);
/* Returns the answer as a new reference, or NULL without memory. */
json_t *step_terms_json(const struct step_terms *t);

#endif
