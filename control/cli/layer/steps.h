/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps.h - what an apply does, path by path, and the journal of it
 */
#ifndef CONTROL_CLI_LAYER_STEPS_H
#define CONTROL_CLI_LAYER_STEPS_H

#include "control/cli/layer/plan.h"
#include "control/cli/layer/stage.h"
#include "control/cli/layer/state.h"
#include "lib/str.h"

struct steps { /* zeroed: empty */
	struct step *v;
	size_t n, cap;
	struct arena arena; /* has the paths */
	uint64_t random; /* in the names of temporary files */
	struct layer_key key;
	bool foreign; /* of another layer than today's: nothing is noted */
	struct strv beside; /* files that were put beside the user's */
};

void steps_done(struct steps *s); /* accepts zeroed */
#define SCOPED_STEPS ATTR_CLEANUP(steps_done) struct steps

/*
 * Makes the steps for what @plan applies, and for the agent's versions that are
 * put beside, as FILE.ac-@name. Copies all that is replaced or deleted into the
 * directory of @stage. Nothing of the user's directory is changed. Returns 0;
 * -EAGAIN if something there was changed since the plan was made; another
 * negative errno, each with @err. The caller calls steps_done() in any case.
 */
int steps_make(const struct plan_input *in, const struct plan *plan,
	       struct stage *stage, const char *name, struct steps *ret,
	       struct err *err) ATTR_WUR;

/* Writes the temporary name of the step @i. */
void steps_temp(const struct steps *s, size_t i, char out[STATE_TEMP_MAX]);

/* Adds a step; copies path and targets. Returns 0, -ENOMEM or -E2BIG. */
int steps_add(struct steps *s, const struct step *step) ATTR_WUR;

/* Writes the journal into the directory @dir, and all that is in it to the disk.
 * Returns 0 or a negative errno. */
int journal_write(const struct steps *s, int dir) ATTR_WUR;
/* Reads it; the caller calls steps_done() in any case. Returns 0, -ENOENT if
 * there is none, -EBADMSG, or another negative errno. */
int journal_read(int dir, struct steps *ret) ATTR_WUR;

#endif
