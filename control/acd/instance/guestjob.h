/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guestjob.h - a short command in a sandbox, on behalf of acd
 *
 * It runs as the agent and with the agent's rights, so that nothing it does
 * could not be done anyway; and what it says is what the agent wants it to
 * say: hostile, and bounded here. No sign of life of the instance: who looks
 * at an idle one does not keep it.
 */
#ifndef CONTROL_ACD_INSTANCE_GUESTJOB_H
#define CONTROL_ACD_INSTANCE_GUESTJOB_H

#include "control/acd/instance/instance.h"

#define GUESTJOB_OUT_MAX (1024u * 1024)
#define GUESTJOB_TIME_MS 10000u

struct guestjob;

struct guestjob_result {
	const struct link_exit *exit;
	struct slice out, errors; /* views for the time of the call */
	bool cut; /* there was more than GUESTJOB_OUT_MAX of either */
	bool ended; /* the instance has, and the command with it */
};

/* Exactly once, from the loop; @err when it did not end by itself. */
typedef void (*guestjob_fn)(void *arg, const struct guestjob_result *result,
			    const struct err *err);

/* @argv is borrowed for the call. As instance_exec(). */
int guestjob_start(struct loop *loop, struct instance *in,
		   const char *const *argv, guestjob_fn fn, void *arg,
		   struct err *err);

#endif
