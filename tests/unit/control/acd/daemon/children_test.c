/* SPDX-License-Identifier: Apache-2.0 */
/*
 * children_test.c - each watched child's end is told once, orphans silently
 */
#include "control/acd/daemon/children.h"

#include <signal.h>
#include <sys/wait.h>

#include "tests/unit/tap.h"

struct seen {
	struct children *c;
	int calls, status;
	pid_t pid, forget;
};

static void on_end(void *arg, pid_t pid, int status)
{
	struct seen *s = arg;

	s->calls++;
	s->pid = pid;
	s->status = status;
	if (s->forget)
		children_forget(s->c, s->forget);
}

static pid_t child_exit(int code)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(code);
	return pid;
}

/* Until the child has ended, without taking its status. */
static void child_settle(pid_t pid)
{
	siginfo_t info;

	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
}

int main(void)
{
	struct children *c = children_new();
	struct seen a = { .c = c }, b = { .c = c };
	struct seen many[40] = { 0 };
	pid_t pid, other;
	int told = 0;

	pid = child_exit(7);
	is_int(children_watch(c, pid, on_end, &a), 0, "watch");
	is_int(children_watch(c, 0, on_end, &a), -EINVAL, "no such pid");
	child_settle(pid);
	children_reap(c);
	is_int(a.calls, 1, "told once");
	is_int(a.pid, pid, "of this pid");
	is_int(WEXITSTATUS(a.status), 7, "with its status");
	children_reap(c);
	is_int(a.calls, 1, "not again");

	pid = child_exit(1);
	child_settle(pid);
	children_reap(c);
	is_int(waitpid(pid, NULL, WNOHANG), -1, "an orphan is reaped");
	is_int(a.calls, 1, "silently");

	/* The first end forgets the other child, which must not be told. */
	pid = child_exit(0);
	other = child_exit(0);
	a = (struct seen){ .c = c, .forget = other };
	b = (struct seen){ .c = c, .forget = pid };
	children_watch(c, pid, on_end, &a);
	children_watch(c, other, on_end, &b);
	child_settle(pid);
	child_settle(other);
	children_reap(c);
	is_int(a.calls + b.calls, 1, "a forgotten child is not told");
	is_int(waitpid(-1, NULL, WNOHANG), -1, "but reaped");

	for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
		pid = child_exit((int)i);
		children_watch(c, pid, on_end, &many[i]);
		child_settle(pid);
	}
	children_reap(c);
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		told += many[i].calls == 1 &&
			WEXITSTATUS(many[i].status) == (int)i;
	is_int(told, ARRAY_SIZE(many), "many at once");
	children_free(c);
	children_free(NULL);
	return done_testing();
}
