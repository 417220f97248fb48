/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc_still.c - the memory of a sandbox is written while nothing in it moves
 *
 *	running ─▶ pausing ─▶ writing ─▶ still ─▶ resuming ─▶ running
 *	   ▲          │          └──────────────────▲   │
 *	   └──────────┘           (it failed)           └─▶ (any end: ended)
 *
 * Theory of operation: each step is a call of runsc. gVisor pauses the sandbox,
 * writes it while it is paused, and keeps it so: that is a second pause inside
 * of the first. A sandbox that could not be written goes on, since it is told to
 * in any case.
 */
#include "control/acd/runtime/runsc_impl.h"

#include <signal.h>
#include <string.h>

#include "lib/log.h"
#include "lib/proc.h"
#include "lib/str.h"

enum still_step {
	STILL_PAUSING,
	STILL_WRITING,
	STILL, /* nothing is under way */
	STILL_RESUMING,
};

struct box_still {
	struct box *box;
	enum still_step step;
	struct loop_timer *limit;
	char *dir;
	uint64_t bytes;
	bool late;
	struct err err; /* why it could not be written */
	runtime_done_fn fn; /* or NULL: nothing is under way */
	void *arg;
};

bool still_is(const struct box *b)
{
	return b->state == BOX_STILL && b->still->step == STILL;
}

uint64_t still_bytes(const struct box *b)
{
	return b->still->step == STILL_WRITING ? b->still->bytes : 0;
}

static void still_answer(struct box_still *s, const struct err *err)
{
	runtime_done_fn fn = s->fn;

	s->fn = NULL;
	loop_timer_clear(s->limit);
	if (fn)
		fn(s->arg, err);
}

/* What was called is killed; its end is judged. */
static void on_late(void *arg)
{
	struct box_still *s = arg;

	s->late = true;
	if (s->box->maker)
		kill(s->box->maker, SIGKILL);
}

static struct box_still *still_of(struct box *b)
{
	struct box_still *s = b->still;

	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->limit = loop_timer_new(b->rs->loop, on_late, s);
	if (!s->limit) {
		free(s);
		return NULL;
	}
	s->box = b;
	b->still = s;
	return s;
}

void still_free(struct box *b)
{
	const struct err err = { .code = -ECANCELED,
				 .msg = "the sandbox is removed" };
	struct box_still *s = b->still;

	if (!s)
		return;
	/* The answer may lead here again. */
	b->still = NULL;
	if (s->fn && b->maker)
		runsc_maker_end(b);
	still_answer(s, &err);
	loop_timer_free(s->limit);
	free(s->dir);
	free(s);
}

static int step_argv(const struct box *b, struct strv *argv)
{
	const struct box_still *s = b->still;
	int rc;

	if (s->step == STILL_WRITING) {
		rc = runsc_save_argv(b, s->dir, argv);
		if (rc == 0)
			rc = strv_push(argv, "--leave-running");
	} else {
		rc = runsc_argv(b, argv);
		if (rc == 0)
			rc = strv_push(argv, s->step == STILL_PAUSING ?
						     "pause" :
						     "resume");
	}
	return rc == 0 ? strv_push(argv, b->id) : rc;
}

static void on_step_end(void *arg, pid_t pid, int status);

static int step_begin(struct box *b, enum still_step step, struct err *err)
{
	struct strv argv = { 0 };
	int rc;

	b->still->step = step;
	rc = step_argv(b, &argv) == 0 ? runsc_call(b, &argv, on_step_end, err) :
					err_nomem(err);
	strv_done(&argv);
	return rc;
}

/* It runs, or has ended. */
static void still_over(struct box *b, const struct err *err)
{
	if (b->state == BOX_STILL)
		b->state = BOX_RUNNING;
	still_answer(b->still, err);
}

/* It was not written, and goes on. */
static void still_undo(struct box *b, const struct err *why)
{
	struct err err = { 0 };

	b->still->err = *why;
	if (step_begin(b, STILL_RESUMING, &err) < 0)
		still_over(b, &err);
}

static void step_failed(struct box *b, const struct err *err)
{
	if (b->state != BOX_STILL) {
		const struct err gone = { .code = -ENOENT,
					  .msg = "it has ended" };

		still_over(b, &gone);
	} else if (b->still->step == STILL_WRITING) {
		still_undo(b, err);
	} else {
		still_over(b, err);
	}
}

static void step_next(struct box *b)
{
	struct box_still *s = b->still;
	struct err err = { 0 };

	switch (s->step) {
	case STILL_PAUSING:
		if (step_begin(b, STILL_WRITING, &err) < 0)
			still_undo(b, &err);
		break;
	case STILL_WRITING:
		s->step = STILL;
		still_answer(s, NULL);
		break;
	default:
		still_over(b, s->err.code < 0 ? &s->err : NULL);
		break;
	}
}

static void on_step_end(void *arg, pid_t pid, int status)
{
	struct box *b = arg;
	struct box_still *s = b->still;
	char words[LINKS_WORDS_MAX];
	struct err err = { 0 };
	int code = proc_code(status);

	(void)pid;
	b->maker = 0;
	if (code == 0 && b->state == BOX_STILL) {
		step_next(b);
		return;
	}
	links_words(b->rs->links, b->id, words, sizeof(words));
	if (words[0] && b->state == BOX_STILL)
		log_warn("runsc, of the sandbox of '%s': %s", b->name, words);
	err_set(&err, s->late ? -ETIMEDOUT : -EIO,
		s->late ? "writing its memory took too long" :
			  "its memory could not be written: runsc failed with "
			  "code %d; `ac logs host` has its words",
		code);
	step_failed(b, &err);
}

int runsc_op_memory_write(struct runtime *rt, const char *id, const char *dir,
			  runtime_done_fn fn, void *arg)
{
	struct runsc *rs = runsc_of(rt);
	struct box *b = runsc_is_ours(id) ? box_find(rs, id) : NULL;
	struct box_still *s = b ? still_of(b) : NULL;
	struct err err = { 0 };

	if (!runsc_is_ours(id))
		return -ENOTSUP;
	if (!b || b->state != BOX_RUNNING || !b->pid)
		err_set(&err, -ENOENT, "it has ended");
	else if (b->maker)
		err_set(&err, -EBUSY,
			"its start is not quite over: try again in a moment");
	else if (!s)
		err_nomem(&err);
	else
		runsc_save_check(b, dir, &s->bytes, &err);
	if (err.code == 0) {
		s->late = false;
		s->err = (struct err){ 0 };
		free(s->dir);
		s->dir = strdup(dir);
		if (!s->dir)
			err_nomem(&err);
		else
			step_begin(b, STILL_PAUSING, &err);
	}
	if (err.code < 0)
		return runsc_answer_later(rs, id, &err, fn, arg);
	b->state = BOX_STILL;
	s->fn = fn;
	s->arg = arg;
	loop_timer_set(s->limit, runsc_bytes_ms(s->bytes));
	return 0;
}

int runsc_op_memory_let(struct runtime *rt, const char *id, runtime_done_fn fn,
			void *arg)
{
	struct runsc *rs = runsc_of(rt);
	struct box *b = runsc_is_ours(id) ? box_find(rs, id) : NULL;
	struct err err = { 0 };

	/* After a failure it runs already. */
	if (!b || !still_is(b))
		return runsc_answer_later(rs, id, NULL, fn, arg);
	if (step_begin(b, STILL_RESUMING, &err) < 0)
		return runsc_answer_later(rs, id, &err, fn, arg);
	b->still->late = false;
	b->still->fn = fn;
	b->still->arg = arg;
	loop_timer_set(b->still->limit, runsc_bytes_ms(0));
	return 0;
}
