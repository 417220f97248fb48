/* SPDX-License-Identifier: Apache-2.0 */
/*
 * greeting.c - the guest link of a run, from HELLO to READY
 *
 * Theory of operation: init-guard of a new sandbox says HELLO and gets PREPARE,
 * ASSIGN and EXEC in one piece. In a sandbox of the pool, HELLO and PREPARE
 * have passed already. That sandbox replaces the one that the run would start:
 * the record gets its address, and the policy is bound to that before the
 * sandbox gets anything. ASSIGN also tests the link. If the link is lost or
 * nothing answers, the run goes on with a new sandbox (STEP_AGAIN), with the
 * same address and policy. A fault of the run itself (an environment too large
 * for ASSIGN) fails it.
 *
 *	claim → policy bound → ASSIGN, EXEC → READY → as with a new one
 *	  └─────────┴────────────────┴─lost→ removed → runtime start
 *
 * A sandbox that goes on from a memory has done all of that: it gets a PING, and
 * its PONG is its READY.
 */
#include "control/acd/instance/instance_impl.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "control/acd/credential/guest_grant.h"
#include "control/acd/daemon/machine.h"
#include "control/acd/guest/prepare.h"
#include "control/acd/guest/session_copy.h"
#include "control/acd/instance/env.h"
#include "lib/log.h"
#include "lib/str.h"

#define READY_LIMIT_MS 15000u /* from the start of the link to READY */
#define WARM_LIMIT_MS 3000u /* from ASSIGN to READY; usually milliseconds */

/* ---- ASSIGN and EXEC ---- */

/* Returns the agent's limit of processes inside the sandbox; 0: none there. */
static uint32_t agent_nproc(const struct instance *in)
{
	const char *isolation = in->rec.isolation;
	bool shared = isolation && strcmp(isolation, "crun") == 0;
	uint64_t n = machine_tasks(in->rec.pids, shared).inside;

	return n < UINT32_MAX ? (uint32_t)n : 0;
}

static int assign(struct instance *in)
{
	const struct instance_grant grant = instance_grant(in);
	struct strv env = { 0 };
	int rc = instance_env(&in->rec, &in->bp.env, grant.env, &env);
	struct link_assign assign = {
		.name = in->rec.name,
		.nproc = agent_nproc(in),
		.vault = grant.vault,
		.vault_len = grant.vault_len,
		.ca = grant.ca,
	};

	if (rc == 0)
		rc = blueprint_model_keys(&in->bp, &env);
	assign.env = (const char *const *)env.v;
	if (rc == 0)
		rc = session_assign(in->session, &assign);
	secret_strv_done(&env);
	return rc;
}

/* EXEC goes with ASSIGN: init-guard need not be woken twice, nor wait for acd
 * between READY and EXEC. */
static int tell(struct instance *in, struct err *err)
{
	int rc = assign(in);

	if (rc < 0)
		return err_set(err, rc, "cannot pass the environment: %s",
			       err_text(rc));
	rc = run_start(in, &in->asked.options, true, &in->main, err);
	if (rc < 0)
		return rc;
	in->main->begun = instance_began;
	session_hold_back(in->session, false);
	return 0;
}

/* EXEC is sent ahead: it waits in the link, and nothing of it begins before all
 * that PREPARE and ASSIGN ask for is done. */
static void guest_hello(void *arg)
{
	struct instance *in = arg;
	struct err err = { 0 };
	int rc;

	session_hold_back(in->session, true);
	rc = prepare_guest(in->session, in->rec.isolation,
			   instance_grant(in).ca ? LINK_PREPARE_OWN_CA : 0,
			   &err);
	if (rc == 0)
		rc = tell(in, &err);
	if (rc < 0)
		step_done(in, &err);
}

/* ---- the link ---- */

static void session_drop(struct instance *in)
{
	session_free(in->session);
	in->session = NULL;
	loop_timer_free(in->ready_timer);
	in->ready_timer = NULL;
}

/* From now on the sandbox is ignored. Execs end as it does. */
int instance_guest_undo(struct instance *in, struct err *err)
{
	const struct link_exit lost = { .kind = LINK_LOST };
	struct link_exit x = { .kind = LINK_SIGNALED, .value = SIGKILL };
	struct run *r;

	(void)err;
	if (in->exit.kind == LINK_OOM || in->exit.kind == LINK_LOST)
		x = in->exit;
	while ((r = LIST_FIRST(&in->execs)))
		run_finish(r, &x);
	if (in->main && !in->main->doomed)
		run_finish(in->main, &lost);
	session_drop(in);
	return 0;
}

static int pool_lost(struct instance *in, struct err *err)
{
	const struct instances *is = in->is;

	log_warn("%s: the sandbox that was kept ready does not answer; "
		 "another is started",
		 in->rec.name);
	is->pool->lost(is->pool_arg, &in->rec);
	return err_set(err, STEP_AGAIN, "its sandbox is lost");
}

static void guest_ready(void *arg)
{
	struct instance *in = arg;

	loop_timer_free(in->ready_timer);
	in->ready_timer = NULL;
	step_done(in, NULL);
	/* Its process may never say anything more. */
	if (!in->asked.options.memory || in->phase != PHASE_UP)
		return;
	instance_began(in, NULL);
	if (in->main && in->main->over)
		instance_main_over(in, &in->main->end);
}

static void lost_known(void *arg, const struct runtime_end *end,
		       const struct err *err)
{
	struct instance *in = arg;

	end = instance_end_known(in, end, err);
	if (end && !in->steps.end_wanted)
		instance_add_last_words(in, end);
	step_done(in, &in->why);
}

/* The link closed before READY. */
static void guest_lost(struct instance *in, const struct err *err)
{
	struct err again = { 0 };

	if (step_is_begun(in, STEP_POOL)) {
		pool_lost(in, &again);
		step_done(in, &again);
		return;
	}
	in->why = *err;
	in->exit = (struct link_exit){ .kind = LINK_LOST };
	if (instance_ask_end(in, true, lost_known) == 0)
		in->phase = PHASE_ASKED;
	else
		step_done(in, err);
}

static void guest_closed(void *arg, const struct err *err)
{
	struct instance *in = arg;
	const struct err why = *err;

	session_drop(in);
	if (in->phase == PHASE_GUEST) {
		guest_lost(in, &why);
	} else if (instance_main_is_awaited(in)) {
		in->exit = (struct link_exit){ .kind = LINK_LOST };
		step_done(in, in->freeze.broken.code < 0 ? &in->freeze.broken :
							   &why);
	}
	/* Else its end is being asked for, or a sandbox of the pool was lost
	 * before its step, which then finds no session. */
}

static void guest_log(void *arg, uint8_t level, const char *text)
{
	const struct instance *in = arg;

	if (level > LOG_LVL_WARN)
		log_info("%s: init-guard: %s", in->rec.name, text);
	else
		log_warn("%s: init-guard: %s", in->rec.name, text);
}

static void guest_unvaulted(void *arg)
{
	instance_egress_vault_over(arg);
}

static void guest_audit(void *arg, const char *json)
{
	instance_log_audit(arg, json);
}

static const struct session_ops guest_ops = {
	.hello = guest_hello,
	.ready = guest_ready,
	.log = guest_log,
	.audit = guest_audit,
	.unvaulted = guest_unvaulted,
	.used = instance_used,
	.closed = guest_closed,
};

/* ---- the steps ---- */

static void ready_too_late(void *arg)
{
	struct instance *in = arg;
	struct err err = { 0 };

	if (step_is_begun(in, STEP_POOL))
		pool_lost(in, &err);
	else
		err_set(&err, -ETIMEDOUT,
			"the sandbox was not ready after %u seconds",
			READY_LIMIT_MS / 1000);
	step_done(in, &err);
}

/* A sandbox of the pool, which waits for ASSIGN. */
static int warm_begin(struct instance *in, struct err *err)
{
	int rc;

	if (!in->session)
		return pool_lost(in, err);
	session_hold_back(in->session, true);
	rc = tell(in, err);
	/* The link is closed, or not read. After another failure a new sandbox
	 * would fail, too. */
	if (rc == -ENOTCONN || rc == -ENOBUFS)
		return pool_lost(in, err);
	return rc;
}

static int cold_begin(struct instance *in, struct err *err)
{
	in->session = session_new(in->is->loop, fd_take(&in->link_fd),
				  &guest_ops, in);
	if (!in->session)
		return err_set(err, -ENOMEM, "cannot open the guest link: %s",
			       err_text(-ENOMEM));
	return 0;
}

/* A sandbox that goes on from a memory, with its main run: a sign of life of it
 * is its READY. */
static int resumed_begin(struct instance *in, struct err *err)
{
	const json_t *state = in->asked.options.state;
	struct run *r = run_resumed(in, json_object_get(state, "run"));
	const struct session_main main = { &run_channel_ops, r,
					   r ? &r->channel : NULL };
	int rc;

	if (!r)
		return err_nomem(err);
	in->session = session_load(in->is->loop, fd_take(&in->link_fd),
				   json_object_get(state, "guest"), &main,
				   &guest_ops, in);
	if (!in->session) {
		rc = errno ? -errno : -ENOMEM;
		run_drop(r);
		return err_set(err, rc, "its guest link: %s", err_text(rc));
	}
	in->main = r;
	in->resumed = true;
	/* Its client is not here: a pipe gets nothing more. */
	if (!r->tty && r->use_stdin)
		run_stdin_eof(r);
	return STEP_WAITS;
}

int instance_guest_begin(struct instance *in, struct err *err)
{
	bool warm = step_is_begun(in, STEP_POOL);
	int rc;

	if (in->asked.options.memory)
		return resumed_begin(in, err);
	in->ready_timer = loop_timer_new(in->is->loop, ready_too_late, in);
	if (!in->ready_timer)
		rc = err_nomem(err);
	else
		rc = warm ? warm_begin(in, err) : cold_begin(in, err);
	if (rc < 0) {
		instance_guest_undo(in, NULL);
		return rc;
	}
	loop_timer_set(in->ready_timer, warm ? WARM_LIMIT_MS : READY_LIMIT_MS);
	return STEP_WAITS;
}

int instance_pool_begin(struct instance *in, struct err *err)
{
	const struct instances *is = in->is;
	struct instance_gift gift;
	SCOPED_STR dir = instance_path(in, "");

	(void)err;
	/* Not if the disk limit needs a child first. */
	if (!is->pool || !dir || in->asked.options.memory ||
	    !step_is_begun(in, STEP_DISK))
		return STEP_NOTHING;
	if (!is->pool->claim(is->pool_arg, &in->rec, &in->bp, dir, &gift))
		return STEP_NOTHING;
	free(in->rec.address);
	in->rec.address = gift.address;
	in->rec.container_id = gift.id;
	in->session = gift.session;
	session_set_owner(in->session, &guest_ops, in);
	return 0;
}
