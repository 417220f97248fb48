/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drowse.c - lets a sandbox hibernate in which nothing moves
 *
 * Theory of operation: no output for a while does not mean that nothing is
 * done: a compiler may be silent for long. So the runtime is asked twice, at half
 * of the time and at its end, what the sandbox has used. If it was more than an
 * idle process uses, the time begins again. A sign of life begins it again as
 * well, and while a command or a connection to a published port is under way it
 * does not pass. A program that waits for an answer, and does nothing else, cannot
 * be told from one that waits for its user.
 */
#include "control/acd/instance/instance_impl.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/log.h"

/* In use: one twentieth of a processor, or more bytes than keep connections
 * alive. */
#define BUSY_SHARE 20u
#define BUSY_BYTES (16u * 1024)

struct drowse_look {
	struct instance *in; /* NULL: gone */
	char name[AC_NAME_MAX + 1];
};

static uint64_t still_since(const struct instance *in)
{
	return in->drowse.used_ms > in->life.moved_ms ? in->drowse.used_ms :
							in->life.moved_ms;
}

static bool is_first_look(const struct instance *in)
{
	return in->drowse.still_ms == 0 ||
	       in->drowse.still_ms != still_since(in);
}

uint64_t instance_drowse_left(const struct instance *in, uint64_t now_ms)
{
	uint64_t limit = in->rec.hibernate_ms, due;

	if (limit == 0 || in->drowse.never ||
	    in->rec.state != INSTANCE_RUNNING || in->drowse.asked)
		return LIFE_NEVER;
	due = still_since(in) + (is_first_look(in) ? limit / 2 : limit);
	return due > now_ms ? due - now_ms : 0;
}

static void hibernated(void *arg, const struct err *err)
{
	struct drowse_look *d = arg;

	if (err)
		log_warn("%s does not hibernate: %s", d->name, err->msg);
	free(d);
}

/* Its time begins again if it cannot now. */
static void let_sleep(struct instance *in)
{
	struct drowse_look *d = calloc(1, sizeof(*d));
	struct err err = { 0 };

	in->drowse.used_ms = clock_ms();
	if (d)
		snprintf(d->name, sizeof(d->name), "%s", in->rec.name);
	if (d && instance_hibernate(in, hibernated, d, &err) == 0)
		return;
	free(d);
	in->drowse.never = err.code == -ENOTSUP;
	log_warn("%s does not hibernate: %s", in->rec.name, err.msg);
}

static void judge(struct instance *in, const struct runtime_stats *st)
{
	struct instance_drowse *d = &in->drowse;
	uint64_t now = clock_ms(), bytes = st->rx_bytes + st->tx_bytes;
	uint64_t most;

	if (is_first_look(in)) {
		d->still_ms = still_since(in);
		d->look_ms = now;
		d->cpu_ns = st->cpu_ns;
		d->bytes = bytes;
		return;
	}
	most = (now - d->look_ms) * 1000000 / BUSY_SHARE;
	d->still_ms = 0;
	if (st->cpu_ns - d->cpu_ns > most || bytes - d->bytes > BUSY_BYTES ||
	    in->port_conns > 0 || !LIST_EMPTY(&in->execs))
		d->used_ms = now;
	else
		let_sleep(in);
}

static void on_stats(void *arg, const struct runtime_stats *st,
		     const struct err *err)
{
	struct drowse_look *d = arg;
	struct instance *in = d->in;

	free(d);
	if (!in)
		return;
	in->drowse.asked = NULL;
	if (instance_drowse_left(in, clock_ms()) == 0) {
		if (err)
			in->drowse.used_ms = clock_ms();
		else
			judge(in, st);
	}
	instance_life_arm(in);
}

void instance_drowse_look(struct instance *in)
{
	struct drowse_look *d = calloc(1, sizeof(*d));

	if (d) {
		d->in = in;
		in->drowse.asked = d;
		if (instance_stats(in, on_stats, d) == 0)
			return;
	}
	free(d);
	in->drowse.asked = NULL;
	in->drowse.used_ms = clock_ms();
}

void instance_drowse_free(struct instance *in)
{
	if (in->drowse.asked)
		in->drowse.asked->in = NULL;
	in->drowse.asked = NULL;
}
