/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_ask.h - what ac-step and acd say to each other about a build's step
 *
 * One connection to AC_STEP_SOCK for each step, lines of JSON:
 *
 *	ac-step	{"image": NAME, "id": ID}
 *	acd	{"netns": PATH, "runsc": [WORD, ...], "time_ms": N, "disk": N}
 *		or {"error": TEXT}
 *	ac-step	{"ended": true}
 *	acd	{"refused": [TEXT, ...]}: what it tried to reach
 *
 * The network is the step's until the connection ends.
 */
#ifndef CONTROL_SHARED_STEP_ASK_H
#define CONTROL_SHARED_STEP_ASK_H

#include <jansson.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/str.h"

#define STEP_LINE_MAX (64u * 1024)
#define STEP_ID_MAX 128u
#define STEP_RUNSC_MAX 32u /* words */
#define STEP_REFUSED_MAX 16u /* places that are named */

/* How a step runs. */
struct step_terms {
	char *netns; /* its network namespace, a file */
	struct strv runsc; /* the command, up to `run` */
	uint64_t time_ms; /* that it may take */
	uint64_t disk; /* bytes that it may write */
};
/* Frees what @t holds. Accepts zeroed. */
void step_terms_done(struct step_terms *t);

/* Asks acd over @sock for the terms of a step of @image with the container @id,
 * and waits. Returns 0, and the caller releases @ret; or a negative errno with
 * @err: acd's own words if it refused. */
int step_ask_begin(int sock, const char *image, const char *id,
		   struct step_terms *ret, struct err *err);
/* Tells acd that all processes of the step have ended. Appends the places that
 * it tried to reach and was refused to @ret. Returns 0 or a negative errno with
 * @err. */
int step_ask_end(int sock, struct strv *ret, struct err *err);

/* The same lines, for acd: read the texts of the first line, which are borrowed
 * from @v. Return 0, or -EINVAL with @err. */
int step_ask_read(const json_t *v, const char **ret_image, const char **ret_id,
		  struct err *err);
/* Returns the answer as a new reference, or NULL without memory. */
json_t *step_terms_json(const struct step_terms *t);

#endif
