/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_test.c - children that tell, end and are killed
 */
#include "control/cli/mcp/job.h"

#include <signal.h>
#include <unistd.h>

#include "control/cli/core/cli.h"
#include "control/shared/json.h"
#include "tests/unit/tap.h"

struct seen {
	struct loop *loop;
	int told, ended;
	long long pid;
	char text[64];
	struct job *kill; /* when something is told */
};

static void on_told(void *arg, const json_t *what)
{
	struct seen *s = arg;

	s->told++;
	s->pid = json_count(what, "pid");
	snprintf(s->text, sizeof(s->text), "%s",
		 json_text(json_object_get(what, "error"), "code"));
	if (!s->kill)
		return;
	job_kill(s->kill);
	loop_stop(s->loop, 0);
}

static void on_ended(void *arg)
{
	struct seen *s = arg;

	s->ended++;
	loop_stop(s->loop, 0);
}

static const struct job_ops ops = { .told = on_told, .ended = on_ended };

static void tells_twice(void *arg, int out)
{
	struct err err = { .code = -EIO, .msg = "no", .word = "odd" };

	(void)arg;
	/* What is printed must not get among what is told. */
	puts("{\"pid\": 1}");
	fflush(stdout);
	job_tell(out, json_pack("{s:i}", "pid", (int)getpid()));
	job_tell_error(out, &err);
}

static void dies(void *arg, int out)
{
	(void)arg;
	(void)out;
	raise(SIGSEGV);
}

/* With a child of its own, which has to go too. */
static void hangs(void *arg, int out)
{
	(void)arg;
	if (fork() > 0)
		job_tell(out, json_pack("{s:i}", "pid", (int)getpid()));
	for (;;)
		pause();
}

static void has_only_out(void *arg, int out)
{
	int open = 0;

	(void)arg;
	for (int fd = 3; fd < 256; fd++)
		open += fd != out && write(fd, "", 0) == 0;
	job_tell(out, json_pack("{s:i}", "pid", open));
}

static void test_told(struct loop *l, job_fn fn, int told, const char *text,
		      long long pid)
{
	struct seen s = { .loop = l };

	if (!ok(job_start(l, fn, NULL, &ops, &s), "it starts"))
		return;
	loop_run(l);
	is_int(s.told, told, "what it told");
	is_int(s.ended, 1, "it ended, once");
	is_str(s.text, text, "the word of its failure");
	if (pid >= 0)
		is_int(s.pid, pid, "the number");
}

static void test_killed(struct loop *l)
{
	struct seen s = { .loop = l };

	s.kill = job_start(l, hangs, NULL, &ops, &s);
	if (!ok(s.kill, "one that hangs"))
		return;
	loop_run(l);
	is_int(s.ended, 0, "it was killed and says nothing");
	ok(kill((pid_t)s.pid, 0) < 0 && errno == ESRCH, "it is gone");
	for (int i = 0; i < 3000 && kill(-(pid_t)s.pid, 0) == 0; i++)
		usleep(10000);
	ok(kill(-(pid_t)s.pid, 0) < 0, "and what it started");
}

int main(void)
{
	struct loop *l = loop_new();

	if (!ok(l, "a loop"))
		return done_testing();
	test_told(l, tells_twice, 2, "odd", -1);
	test_told(l, dies, 0, "", -1);
	test_told(l, has_only_out, 1, "", 0);
	test_killed(l);
	job_kill(NULL);
	loop_free(l);
	return done_testing();
}
