/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warm.c - a run in a sandbox that was started ahead
 *
 * Theory of operation: the sandbox takes the place of the one that the run
 * would start. The record takes its address, and the policy is bound to that
 * before the guest is told anything, as ever. ASSIGN asks at the same time
 * whether anybody is there: until READY has come in->warm is set, and a guest
 * that is gone or does not answer costs its sandbox, not the run. That goes
 * on with one of its own, at the same address and with the same policy. What
 * is wrong with the run itself (an environment too large for ASSIGN) fails it.
 *
 *	claim → policy bound → ASSIGN, EXEC → READY → as in instance/start.c
 *	  └─────────┴────────────────┴─lost→ removed → runtime start
 */
#include <stdlib.h>
#include <string.h>

#include "control/acd/instance/instance_impl.h"
#include "lib/log.h"

#define WARM_LIMIT_MS 3000u /* from ASSIGN to READY; milliseconds as a rule */

bool instance_warm_claim(struct instance *in)
{
	const struct instances *is = in->is;
	struct instance_gift gift;
	SCOPED_STR dir = instance_path(in, "");

	if (!is->pool || !dir)
		return false;
	if (!is->pool->claim(is->pool_arg, &in->rec, &in->bp, dir, &gift))
		return false;
	free(in->rec.address);
	in->rec.address = gift.address;
	in->rec.container_id = gift.id;
	in->session = gift.session;
	session_set_owner(in->session, &instance_session_ops, in);
	in->warm = true;
	return true;
}

/* Nothing is left of it: the run gets one of its own. */
static void warm_removed(void *arg, const struct err *err)
{
	struct instance *in = arg;
	struct mounts_paths paths;

	in->waits = WAIT_NONE;
	if (err && !in->end_wanted)
		in->why = *err;
	if (!err) {
		free(in->rec.container_id);
		in->rec.container_id = NULL;
	}
	if (err || in->end_wanted || instance_files(in, &paths, &in->why) < 0 ||
	    instance_start_bound(in, &paths, &in->why) < 0)
		instance_start_failed(in);
}

static void warm_remove(struct instance *in)
{
	struct runtime *rt = in->is->rt;
	int r;

	in->warm = false;
	in->waits = WAIT_REPLACED;
	r = rt->ops->remove(rt, in->rec.container_id, warm_removed, in);
	if (r == 0)
		return;
	in->waits = WAIT_NONE;
	err_set(&in->why, r, "remove a sandbox: %s", err_text(r));
	instance_start_failed(in);
}

static void warm_replace(struct instance *in)
{
	log_warn("%s: the sandbox that was kept ready does not answer; "
		 "another is started",
		 in->rec.name);
	in->is->pool->lost(in->is->pool_arg, &in->rec);
	warm_remove(in);
}

static void warm_close(struct instance *in)
{
	const struct link_exit lost = { .kind = LINK_LOST };

	session_free(in->session);
	in->session = NULL;
	if (in->main) {
		in->main->channel = NULL; /* it went with the session */
		run_finish(in->main, &lost);
	}
	loop_timer_free(in->ready_timer);
	in->ready_timer = NULL;
}

void instance_warm_lost(struct instance *in)
{
	warm_close(in);
	/* Else its policy is being bound; the answer finds it lost. */
	if (!in->waits)
		warm_replace(in);
}

static void warm_late(void *arg)
{
	instance_warm_lost(arg);
}

/* Who it is and what runs there, in one piece: the guest need not wait for us
 * again between READY and EXEC, nor be woken twice. */
static int warm_tell(struct instance *in, struct err *err)
{
	int r;

	session_hold_back(in->session, true);
	r = instance_assign(in);
	if (r < 0)
		return err_set(err, r, "cannot pass the environment: %s",
			       err_text(r));
	r = run_start(in, &in->wish, true, &in->main, err);
	if (r == 0)
		session_hold_back(in->session, false);
	return r;
}

void instance_warm_go(struct instance *in)
{
	struct err err = { 0 };
	int r;

	if (!in->session) {
		warm_replace(in);
		return;
	}
	in->ready_timer = loop_timer_new(in->is->loop, warm_late, in);
	r = in->ready_timer ? warm_tell(in, &err) : err_nomem(&err);
	if (r == 0) {
		loop_timer_set(in->ready_timer, WARM_LIMIT_MS);
	} else if (r == -ENOTCONN || r == -ENOBUFS) {
		/* Over, or it does not read. */
		instance_warm_lost(in);
	} else {
		/* Another sandbox would not change it. */
		in->why = err;
		instance_start_failed(in);
	}
}
