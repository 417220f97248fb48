/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc_hold.c - the memory of a sandbox is written while nothing in it moves
 *
 *	running ─▶ pausing ─▶ writing ─▶ done ─▶ resuming ─▶ running
 *	                │        └──────────────────▲  │
 *	                └───(it failed)─────────────┘  └─▶ (any end: ended)
 *
 * Theory of operation: each step is a call of runsc. gVisor pauses the sandbox,
 * writes it while it is paused, and keeps it so: that is a second pause inside
 * of the first. A sandbox that could not be written goes on, since it is told to
 * in any case.
 *
 * A call that has failed may have had its effect. So pausing and resuming are not
 * broken off, a pause that has failed is followed by a resume, and a resume is
 * tried again. A sandbox that stands still for good is ended.
 */
#include "control/acd/runtime/runsc_impl.h"

#include <signal.h>
#include <string.h>

#include "control/acd/runtime/cgroup.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "lib/str.h"

#define RESUMES 3u /* tries */
#define RESUME_AGAIN_MS 100u

enum hold_step {
	HOLD_PAUSING,
	HOLD_WRITING,
	HOLD_DONE, /* nothing is under way */
	HOLD_RESUMING,
};

struct box_hold {
	struct box *box;
	enum hold_step step;
	struct loop_timer *limit; /* of this step */
	char *dir;
	uint64_t bytes;
	bool late, broken; /* this step; what was asked for */
	bool paused; /* gVisor said so */
	unsigned resumes; /* that were begun */
	struct loop_timer *again; /* the next one */
	struct err err; /* why it could not be written */
	runtime_done_fn fn; /* of the caller; NULL: none waits */
	void *arg;
};

bool hold_is(const struct box *b)
{
	return b->state == BOX_HELD && b->hold->step == HOLD_DONE;
}

/* Counted from its begin: others ask for room meanwhile. */
uint64_t hold_bytes(const struct box *b)
{
	return b->hold->step <= HOLD_WRITING ? b->hold->bytes : 0;
}

static void hold_answer(struct box_hold *s, const struct err *err)
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
	struct box_hold *s = arg;

	s->late = true;
	if (s->box->maker)
		kill(s->box->maker, SIGKILL);
}

static void on_again(void *arg);

static struct box_hold *hold_of(struct box *b)
{
	struct box_hold *s = b->hold;

	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->limit = loop_timer_new(b->rs->loop, on_late, s);
	s->again = loop_timer_new(b->rs->loop, on_again, s);
	if (!s->limit || !s->again) {
		loop_timer_free(s->limit);
		loop_timer_free(s->again);
		free(s);
		return NULL;
	}
	s->box = b;
	b->hold = s;
	return s;
}

void hold_free(struct box *b)
{
	const struct err err = { .code = -ECANCELED,
				 .msg = "the sandbox is removed" };
	struct box_hold *s = b->hold;

	if (!s)
		return;
	/* The answer may lead here again. */
	b->hold = NULL;
	if (b->state == BOX_HELD) {
		b->state = BOX_ENDED;
		if (b->maker)
			runsc_maker_end(b);
	}
	hold_answer(s, &err);
	loop_timer_free(s->limit);
	loop_timer_free(s->again);
	free(s->dir);
	free(s);
}

static int step_argv(const struct box *b, enum hold_step step,
		     struct strv *argv)
{
	int rc;

	if (step == HOLD_WRITING) {
		rc = runsc_save_argv(b, b->hold->dir, argv);
		if (rc == 0)
			rc = strv_push(argv, "--leave-running");
	} else {
		rc = runsc_argv(b, argv);
		if (rc == 0)
			rc = strv_push(argv, step == HOLD_PAUSING ? "pause" :
								    "resume");
	}
	return rc == 0 ? strv_push(argv, b->id) : rc;
}

static void on_step_end(void *arg, pid_t pid, int status);

static int step_begin(struct box *b, enum hold_step step, struct err *err)
{
	struct box_hold *s = b->hold;
	struct strv argv = { 0 };
	int rc = step_argv(b, step, &argv) == 0 ?
			 runsc_call(b, &argv, on_step_end, err) :
			 err_nomem(err);

	strv_done(&argv);
	if (rc < 0)
		return rc;
	s->step = step;
	s->late = false;
	loop_timer_set(s->limit,
		       runsc_bytes_ms(step == HOLD_WRITING ? s->bytes : 0));
	return 0;
}

/* It runs, or has ended. */
static void hold_over(struct box *b, const struct err *err)
{
	if (b->state == BOX_HELD)
		b->state = BOX_RUNNING;
	hold_answer(b->hold, err);
}

/* It can be told no more. If it was never paused, it runs. */
static void hold_lost(struct box *b, const struct err *err)
{
	if (b->hold->paused)
		cgroup_kill(b->id);
	hold_over(b, err);
}

static void resume_begin(struct box *b)
{
	struct box_hold *s = b->hold;
	struct err err = { 0 };

	s->resumes++;
	if (step_begin(b, HOLD_RESUMING, &err) < 0)
		hold_lost(b, s->err.code < 0 ? &s->err : &err);
}

static void on_again(void *arg)
{
	struct box_hold *s = arg;

	if (s->box->state == BOX_HELD)
		resume_begin(s->box);
}

/* It was not written, and goes on. */
static void hold_undo(struct box *b, const struct err *why)
{
	b->hold->err = *why;
	resume_begin(b);
}

static void resume_failed(struct box *b, const struct err *err)
{
	struct box_hold *s = b->hold;

	if (s->paused && s->resumes < RESUMES) {
		loop_timer_clear(s->limit);
		loop_timer_set(s->again, RESUME_AGAIN_MS);
	} else {
		hold_lost(b, s->err.code < 0 ? &s->err : err);
	}
}

static void step_failed(struct box *b, int code)
{
	static const char *const what[] = {
		[HOLD_PAUSING] = "pause it",
		[HOLD_WRITING] = "write its memory",
		[HOLD_RESUMING] = "resume it",
	};
	struct box_hold *s = b->hold;
	struct err err = { 0 };

	if (s->broken)
		err_set(&err, -ECANCELED, "it is ending");
	else if (s->late)
		err_set(&err, -ETIMEDOUT, "gVisor takes too long to %s",
			what[s->step]);
	else
		err_set(&err, -EIO,
			"gVisor cannot %s (code %d; `ac logs host` has its "
			"output)%s",
			what[s->step], code,
			s->step == HOLD_WRITING ?
				", perhaps for something that it has open, "
				"such as a FIFO that was removed" :
				"");
	if (s->step == HOLD_RESUMING)
		resume_failed(b, &err);
	else
		hold_undo(b, &err);
}

static void step_next(struct box *b)
{
	const struct err broken = { .code = -ECANCELED, .msg = "it is ending" };
	struct box_hold *s = b->hold;
	struct err err = { 0 };

	switch (s->step) {
	case HOLD_PAUSING:
		s->paused = true;
		if (s->broken)
			hold_undo(b, &broken);
		else if (step_begin(b, HOLD_WRITING, &err) < 0)
			hold_undo(b, &err);
		break;
	case HOLD_WRITING:
		s->step = HOLD_DONE;
		hold_answer(s, NULL);
		break;
	default:
		hold_over(b, s->err.code < 0 ? &s->err : NULL);
		break;
	}
}

static void on_step_end(void *arg, pid_t pid, int status)
{
	const struct err gone = { .code = -ENOENT, .msg = "it has ended" };
	struct box *b = arg;
	char words[LINKS_WORDS_MAX];
	int code = proc_code(status);

	(void)pid;
	b->maker = 0;
	if (b->state != BOX_HELD) {
		hold_over(b, &gone);
		return;
	}
	if (code == 0) {
		step_next(b);
		return;
	}
	links_words(b->rs->links, b->id, words, sizeof(words));
	if (words[0])
		log_warn("runsc, of the sandbox of '%s': %s", b->name, words);
	links_words_clear(b->rs->links, b->id);
	step_failed(b, code);
}

/* Nothing has been asked of the sandbox yet. */
static int hold_begin(struct box *b, const char *dir, struct err *err)
{
	struct box_hold *s = hold_of(b);
	int rc = s ? runsc_save_check(b, dir, &s->bytes, err) : err_nomem(err);

	if (rc < 0)
		return rc;
	s->broken = s->paused = false;
	s->resumes = 0;
	s->err = (struct err){ 0 };
	free(s->dir);
	s->dir = strdup(dir);
	return s->dir ? step_begin(b, HOLD_PAUSING, err) : err_nomem(err);
}

int runsc_op_memory_write(struct runtime *rt, const char *id, const char *dir,
			  runtime_done_fn fn, void *arg)
{
	struct runsc *rs = runsc_of(rt);
	struct err err = { 0 };
	struct box *b;

	if (!runsc_is_ours(id))
		return -ENOTSUP;
	b = box_to_save(rs, id, &err);
	if (!b || hold_begin(b, dir, &err) < 0)
		return runsc_answer_later(rs, id, &err, fn, arg);
	b->state = BOX_HELD;
	b->hold->fn = fn;
	b->hold->arg = arg;
	return 0;
}

int runsc_op_memory_resume(struct runtime *rt, const char *id,
			   runtime_done_fn fn, void *arg)
{
	struct runsc *rs = runsc_of(rt);
	struct box *b = runsc_is_ours(id) ? box_find(rs, id) : NULL;
	struct err err = { 0 };

	/* If it was not written, or has ended, there is nothing to do. */
	if (!b || !hold_is(b))
		return runsc_answer_later(rs, id, NULL, fn, arg);
	if (step_begin(b, HOLD_RESUMING, &err) < 0)
		return runsc_answer_later(rs, id, &err, fn, arg);
	b->hold->resumes = 1;
	b->hold->fn = fn;
	b->hold->arg = arg;
	return 0;
}

void hold_break(struct box *b)
{
	struct box_hold *s = b->hold;

	if (b->state != BOX_HELD || s->step > HOLD_WRITING)
		return;
	s->broken = true;
	if (s->step == HOLD_WRITING && b->maker)
		kill(b->maker, SIGKILL);
}
