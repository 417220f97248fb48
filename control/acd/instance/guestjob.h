/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guestjob.h - a short command in a sandbox, on behalf of acd
 *
 * It runs as the agent, with the agent's rights. Its output is hostile, and
 * bounded here. It is no sign of life: to look at an idle instance does not
 * keep it.
 */
#ifndef CONTROL_ACD_INSTANCE_GUESTJOB_H
#define CONTROL_ACD_INSTANCE_GUESTJOB_H

#include "control/acd/instance/instance.h"

#define GUESTJOB_OUT_MAX (1024u * 1024)
#define GUESTJOB_TIME_MS 10000u

struct guestjob;

struct guestjob_result {
	const struct link_exit *exit;
	struct slice out, errors; /* views, valid during the call */
	bool cut; /* more than GUESTJOB_OUT_MAX came on either */
	bool ended; /* the instance ended, and with it the command */
};

/* Called once, from the loop. @err is NULL if the command exited, or was killed
 * for too much output (@result->cut). Else: -ETIMEDOUT; -ENOTSUP if the image
 * lacks the command; -EBUSY if it cannot be started; -EIO if it ended
 * otherwise. */
typedef void (*guestjob_fn)(void *arg, const struct guestjob_result *result,
			    const struct err *err);

/* Starts @argv (NULL-terminated, borrowed for the call) in /, with LC_ALL=C and
 * GUESTJOB_TIME_MS to run. Returns 0, -ENOMEM, or a failure of instance_exec();
 * then @fn is not called. */
int guestjob_start(struct loop *loop, struct instance *in,
		   const char *const *argv, guestjob_fn fn, void *arg,
		   struct err *err);

#endif
