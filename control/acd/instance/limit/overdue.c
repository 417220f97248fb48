/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overdue.c - ends runs and expires instances whose time is over
 *
 * Theory of operation: one timer for all instances goes off when the first of
 * them could be due, and at least once a minute while any has a ttl or an idle
 * limit. instance/limit/lifetime.c judges; here is what follows:
 *
 *	idle  the run is stopped
 *	hibernate_after  it hibernates (drowse.c)
 *	ttl   the run is stopped, then home and log are removed; workspace
 *	      and record stay, in the state "expired"
 *
 * A sign of life is output, input, or the begin or end of an exec, except of a
 * command of acd's own (as for `ac top`). It only sets a time: the timer finds
 * later that the run is not due.
 */
#include "control/acd/instance/instance_impl.h"

#include "lib/log.h"

#define LOOK_MS 60000u /* longest time between two looks */
#define LOOK_SOON_MS 1000u /* the same for what cannot be judged now */
/* Time between tries to expire an instance: doubled after each, at most
 * RETRY_STEPS times. */
#define RETRY_MS 1000u
#define RETRY_STEPS 10u

static struct life_now life_now(void)
{
	return (struct life_now){ .ms = clock_ms(), .wall = time(NULL) };
}

static bool has_ended(const struct instance *in)
{
	return in->rec.state == INSTANCE_STOPPED ||
	       in->rec.state == INSTANCE_FAILED;
}

/* Returns the milliseconds until it is due, 0 if it is. */
static uint64_t life_left(const struct instance *in, const struct life_now *now,
			  bool *ret_idle)
{
	uint64_t ttl, idle = LIFE_NEVER;

	*ret_idle = false;
	if (!instance_is_live(in) && !has_ended(in))
		return LIFE_NEVER;
	ttl = life_ttl_left(&in->life, in->rec.ttl_ms, now);
	if (in->rec.state == INSTANCE_RUNNING)
		idle = life_idle_left(&in->life, in->rec.idle_ms, now);
	*ret_idle = idle < ttl;
	return idle < ttl ? idle : ttl;
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void look_at(struct instances *is, uint64_t left_ms)
{
	uint64_t now = clock_ms(), at;

	if (left_ms == LIFE_NEVER)
		return;
	at = now + (left_ms < LOOK_MS ? left_ms : LOOK_MS);
	if (is->look_at_ms > 0 && is->look_at_ms <= at)
		return;
	is->look_at_ms = at;
	loop_timer_set(is->life_timer, at - now);
}

void instance_life_arm(struct instance *in)
{
	struct life_now now = life_now();
	bool idle;

	look_at(in->is, sooner(life_left(in, &now, &idle),
			       instance_drowse_left(in, now.ms)));
}

static void stop_idle(struct instance *in)
{
	char span[32];

	str_format_age(span, sizeof(span), in->rec.idle_ms / 1000);
	instance_breach(in, "idle", "nothing moved for %s", span);
	instance_end(in, RUN_IDLE, KILL_GRACE_MS);
}

static void expire(struct instance *in)
{
	unsigned shift = in->ttl_tries < RETRY_STEPS ? in->ttl_tries :
						       RETRY_STEPS;
	char span[32];

	str_format_age(span, sizeof(span), in->rec.ttl_ms / 1000);
	if (in->ttl_tries++ == 0)
		instance_breach(in, "ttl", "it was kept for %s", span);
	in->ttl_next_ms = clock_ms() + ((uint64_t)RETRY_MS << shift);
	in->clean = CLEAN_EXPIRED;
	if (instance_is_live(in) || in->rec.container_id)
		instance_end(in, RUN_TTL, KILL_GRACE_MS);
	else
		instance_clean_now(in);
}

/* Returns false while it starts, stops, is cleaned or is about to end: it is
 * judged afterwards. */
static bool is_settled(const struct instance *in)
{
	if (instance_is_leaving(in) || instance_files_busy(in))
		return false;
	if (instance_is_up(in))
		return in->main && in->main->cause == RUN_SELF;
	return !instance_is_live(in);
}

/* Returns the milliseconds until the next look whether it may hibernate; the
 * runtime's answer leads to one as well. */
static uint64_t drowse(struct instance *in, uint64_t now_ms)
{
	uint64_t left = instance_drowse_left(in, now_ms);

	if (left > 0)
		return left;
	if (!is_settled(in) || in->freeze.busy)
		return LOOK_SOON_MS;
	instance_drowse_look(in);
	return LOOK_MS;
}

static void life_look(void *arg)
{
	struct instances *is = arg;
	struct life_now now = life_now();
	uint64_t next = LIFE_NEVER, left;
	struct instance *in;
	bool idle;

	is->look_at_ms = 0;
	/* Nothing here removes an instance from the set at once. */
	TAILQ_FOREACH (in, &is->all, link) {
		left = life_left(in, &now, &idle);
		if (left > 0)
			in->ttl_tries = 0; /* the time begins again */
		if (left == 0 && is_settled(in) && !idle && in->ttl_tries > 0 &&
		    now.ms < in->ttl_next_ms) {
			left = in->ttl_next_ms - now.ms;
		} else if (left == 0 && is_settled(in)) {
			if (idle)
				stop_idle(in);
			else
				expire(in);
			left = LOOK_MS;
		} else if (left == 0) {
			left = LOOK_SOON_MS;
		}
		next = sooner(next, sooner(left, drowse(in, now.ms)));
	}
	look_at(is, next);
}

int instances_life_begin(struct instances *is)
{
	struct instance *in;

	is->life_timer = loop_timer_new(is->loop, life_look, is);
	if (!is->life_timer)
		return -ENOMEM;
	TAILQ_FOREACH (in, &is->all, link) {
		int64_t since = in->rec.started_at;

		/* It may have failed to start, or been touched later. */
		if (since == 0)
			since = in->rec.finished_at;
		if (since < in->rec.touched_at)
			since = in->rec.touched_at;
		in->life = (struct life){ .since_ms = clock_ms(),
					  .since_wall = since };
		instance_life_arm(in);
	}
	return 0;
}

void instance_life_start(struct instance *in)
{
	uint64_t now = clock_ms();

	in->life = (struct life){ .since_ms = now, .moved_ms = now };
	in->drowse.used_ms = in->drowse.still_ms = 0;
	in->drowse.never = false;
	instance_life_arm(in);
}

int instance_touch(struct instance *in, struct err *err)
{
	int64_t before = in->rec.touched_at;
	int rc;

	if (instance_is_leaving(in))
		return err_set(err, -EBUSY,
			       "the files of '%s' are being removed",
			       in->rec.name);
	in->rec.touched_at = time(NULL);
	rc = instance_save(in, err);
	if (rc < 0)
		in->rec.touched_at = before;
	else
		instance_life_start(in);
	return rc;
}

int64_t instance_expires_at(const struct instance *in)
{
	struct life_now now = life_now();
	uint64_t left;

	if (!instance_is_live(in) && !has_ended(in))
		return 0;
	left = life_ttl_left(&in->life, in->rec.ttl_ms, &now);
	return left == LIFE_NEVER ? 0 : now.wall + (int64_t)(left / 1000);
}
