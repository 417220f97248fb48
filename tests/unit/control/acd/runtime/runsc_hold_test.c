/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc_hold_test.c - the steps in which the memory of a sandbox is written
 *
 * The calls of runsc are played here: a child that waits, whose end the test
 * says.
 */
#include "control/acd/runtime/runsc_impl.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/step.h"
#include "tests/unit/tap.h"

#define CODE(n) ((n) << 8) /* wait(2) */

static struct runsc rs;
static struct {
	char verb[16]; /* of the last call */
	int calls;
	int error; /* of the next one */
	void (*fn)(void *arg, pid_t pid, int status);
	void *arg;
} call;
static unsigned limit = 10000;
static int told, told_code;

unsigned runsc_bytes_ms(uint64_t bytes)
{
	(void)bytes;
	return limit;
}

int runsc_save_check(struct box *b, const char *dir, uint64_t *ret_bytes,
		     struct err *err)
{
	(void)b;
	(void)dir;
	(void)err;
	*ret_bytes = 100;
	return 0;
}

int runsc_save_argv(const struct box *b, const char *dir, struct strv *argv)
{
	(void)b;
	(void)dir;
	return strv_push(argv, "checkpoint");
}

int runsc_call(struct box *b, const struct strv *argv,
	       void (*fn)(void *arg, pid_t pid, int status), struct err *err)
{
	if (call.error)
		return err_set(err, call.error, "no process today");
	/* The id follows the verb, and an option that of a checkpoint. */
	snprintf(call.verb, sizeof(call.verb), "%s",
		 strcmp(argv->v[0], "checkpoint") == 0 ? argv->v[0] :
							 argv->v[argv->n - 2]);
	call.calls++;
	call.fn = fn;
	call.arg = b;
	b->maker = fork();
	if (b->maker == 0) {
		pause();
		_exit(0);
	}
	return 0;
}

/* runsc ends with @status, after it was killed if it was not. */
static void call_ends(struct box *b, int status)
{
	pid_t pid = b->maker;

	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	call.fn(call.arg, pid, status);
}

static bool was_killed(const struct box *b)
{
	return waitid(P_PID, (id_t)b->maker, &(siginfo_t){ 0 },
		      WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       kill(b->maker, 0) == 0 && waitpid(b->maker, NULL, WNOHANG) != 0;
}

static void on_done(void *arg, const struct err *err)
{
	(void)arg;
	told++;
	told_code = err ? err->code : 0;
}

static struct box *box_up(void)
{
	struct box *b = box_new(&rs, "one");

	b->state = BOX_RUNNING;
	b->pid = 1 << 30; /* nobody */
	told = told_code = 0;
	call.calls = call.error = 0;
	limit = 10000;
	return b;
}

static void box_down(struct box *b)
{
	b->pid = 0;
	hold_free(b);
	box_free(b);
}

static void write_begin(struct box *b)
{
	is_int(runsc_op_memory_write(&rs.rt, b->id, "/tmp", on_done, NULL), 0,
	       "a write begins");
}

static void test_good(void)
{
	struct box *b = box_up();

	write_begin(b);
	is_str(call.verb, "pause", "it is paused");
	is_int((long long)hold_bytes(b), 100, "its room is counted");
	call_ends(b, CODE(0));
	is_str(call.verb, "checkpoint", "then written");
	is_int(told, 0, "which takes its time");
	call_ends(b, CODE(0));
	ok(told == 1 && told_code == 0 && hold_is(b), "and stays as it is");
	is_int((long long)hold_bytes(b), 0, "its room is taken");
	runsc_op_memory_resume(&rs.rt, b->id, on_done, NULL);
	is_str(call.verb, "resume", "until it is let go on");
	call_ends(b, CODE(0));
	ok(told == 2 && told_code == 0 && b->state == BOX_RUNNING, "it runs");
	runsc_op_memory_resume(&rs.rt, b->id, on_done, NULL);
	STEP_UNTIL(rs.loop, told == 3);
	ok(told_code == 0 && call.calls == 3, "once more does no harm");
	box_down(b);
}

static void test_write_fails(void)
{
	struct box *b = box_up();

	write_begin(b);
	call_ends(b, CODE(0));
	call_ends(b, CODE(128));
	is_str(call.verb, "resume", "what was not written goes on");
	is_int(told, 0, "before that is told");
	call_ends(b, CODE(0));
	ok(told == 1 && told_code == -EIO && b->state == BOX_RUNNING,
	   "with the reason");
	box_down(b);

	b = box_up();
	write_begin(b);
	call.error = -EAGAIN;
	call_ends(b, CODE(0));
	is_int(told_code, -EAGAIN, "no process for it, nor to resume it");
	box_down(b);
}

static void test_pause_fails(void)
{
	struct box *b = box_up();

	write_begin(b);
	call_ends(b, CODE(1));
	is_str(call.verb, "resume", "what cannot be paused is resumed");
	call_ends(b, CODE(1));
	ok(told == 1 && told_code == -EIO && b->state == BOX_RUNNING,
	   "which may fail, too: it runs");
	box_down(b);

	b = box_up();
	call.error = -EAGAIN;
	write_begin(b);
	is_int(b->state, BOX_RUNNING, "no process: nothing has changed");
	STEP_UNTIL(rs.loop, told == 1);
	is_int(told_code, -EAGAIN, "which is told");
	box_down(b);
}

static void test_resume_fails(void)
{
	struct box *b = box_up();

	write_begin(b);
	call_ends(b, CODE(0));
	call_ends(b, CODE(0));
	runsc_op_memory_resume(&rs.rt, b->id, on_done, NULL);
	for (int i = 1; i < 3; i++) {
		call_ends(b, CODE(1));
		is_int(told, 1, "a resume that fails");
		STEP_UNTIL(rs.loop, call.calls == 3 + i);
		is_str(call.verb, "resume", "is tried again");
	}
	call_ends(b, CODE(0));
	ok(told == 2 && told_code == 0, "until it runs");
	box_down(b);

	b = box_up();
	write_begin(b);
	call_ends(b, CODE(0));
	call_ends(b, CODE(0));
	runsc_op_memory_resume(&rs.rt, b->id, on_done, NULL);
	for (int i = 1; i < 3; i++) {
		call_ends(b, CODE(1));
		STEP_UNTIL(rs.loop, call.calls == 3 + i);
	}
	call_ends(b, CODE(1));
	ok(told == 2 && told_code == -EIO, "or it is given up");
	box_down(b);
}

static void test_late(void)
{
	struct box *b = box_up();

	write_begin(b);
	limit = 10;
	call_ends(b, CODE(0));
	STEP_UNTIL(rs.loop, was_killed(b));
	limit = 10000;
	call.fn(call.arg, b->maker, SIGKILL);
	is_str(call.verb, "resume", "what takes too long is given up");
	call_ends(b, CODE(0));
	ok(told == 1 && told_code == -ETIMEDOUT, "and goes on");
	box_down(b);
}

static void test_broken(void)
{
	struct box *b = box_up();

	write_begin(b);
	hold_break(b);
	ok(!was_killed(b), "a pause is not broken off");
	call_ends(b, CODE(0));
	is_str(call.verb, "resume", "but nothing is written then");
	hold_break(b);
	ok(!was_killed(b), "nor is a resume");
	call_ends(b, CODE(0));
	ok(told == 1 && told_code == -ECANCELED, "that is told");
	box_down(b);

	b = box_up();
	write_begin(b);
	call_ends(b, CODE(0));
	hold_break(b);
	STEP_UNTIL(rs.loop, was_killed(b));
	call.fn(call.arg, b->maker, SIGKILL);
	is_str(call.verb, "resume", "a write is");
	call_ends(b, CODE(0));
	is_int(told_code, -ECANCELED, "and told so");
	box_down(b);
}

static void test_ends(void)
{
	struct box *b = box_up();

	write_begin(b);
	call_ends(b, CODE(0));
	box_ended(b, 137);
	call_ends(b, CODE(1));
	ok(told == 1 && told_code == -ENOENT && b->state == BOX_ENDED,
	   "it ended while it was written");
	box_down(b);

	b = box_up();
	write_begin(b);
	hold_free(b);
	ok(told == 1 && told_code == -ECANCELED && b->state == BOX_ENDED,
	   "it is removed");
	box_down(b);
}

int main(void)
{
	static const struct runtime_ops docker_ops = { 0 };
	struct runtime docker = { .ops = &docker_ops };
	struct err err = { 0 };

	rs.loop = loop_new();
	rs.docker = &docker;
	rs.children = children_new();
	LIST_INIT(&rs.boxes);
	LIST_INIT(&rs.calls);
	rs.links = links_new(rs.loop, NULL, &err);
	test_good();
	test_write_fails();
	test_pause_fails();
	test_resume_fails();
	test_late();
	test_broken();
	test_ends();
	links_free(rs.links);
	children_free(rs.children);
	loop_free(rs.loop);
	return done_testing();
}
