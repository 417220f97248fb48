/* SPDX-License-Identifier: Apache-2.0 */
/*
 * links_test.c - the guest link of a program that acd starts itself
 */
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "control/acd/guest/links.h"
#include "lib/loop.h"
#include "lib/proc.h"
#include "tests/unit/tap.h"

#define ID "rs-0123456789abcdef"

static void on_timer(void *arg)
{
	loop_stop(arg, 0);
}

/* Lets the loop read what a pipe has. */
static void loop_turn(struct loop *loop)
{
	struct loop_timer *t = loop_timer_new(loop, on_timer, loop);

	loop_timer_set(t, 1);
	loop_run(loop);
	loop_timer_free(t);
}

/* Runs @script as a sandbox would be; its exit code. */
static int run(int link, int words, const char *script)
{
	const char *const argv[] = { "/bin/sh", "-c", script, NULL };
	const char *const env[] = { "ONLY=this", NULL };
	const struct proc_opts opts = { .argv = argv,
					.env = env,
					.new_session = 1,
					.fd = { link, -1, words } };
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		proc_exec(&opts);
		_exit(99);
	}
	waitpid(pid, &status, 0);
	return proc_code(status);
}

static void test_link(struct loop *loop, struct links *ls)
{
	SCOPED_FD link = -1;
	SCOPED_FD words = -1;
	SCOPED_FD ours = -1;
	SCOPED_FD other = open("/dev/null", O_RDONLY); /* not CLOEXEC */
	char text[LINKS_WORDS_MAX];
	int again[2] = { -1, -1 };

	is_int(links_open(ls, ID, &link, &words), -ENOENT, "not expected");
	is_int(links_expect(ls, ID), 0, "expected");
	is_int(links_open(ls, ID, &link, &words), 0, "made");
	is_int(links_open(ls, ID, &again[0], &again[1]), -ENOENT, "only once");
	ours = links_take(ls, ID);
	ok(ours >= 0, "our end");
	is_int(run(link, words,
		   "echo hello >&0; echo 'last words' >&2; "
		   "echo lost; test \"$ONLY\" = this && test -z \"$HOME\""),
	       0, "a program with a link, and its environment");
	is_int(recv(ours, text, sizeof(text), 0), 6, "its first word");
	ok(memcmp(text, "hello\n", 6) == 0, "comes through the link");
	loop_turn(loop);
	links_words(ls, ID, text, sizeof(text));
	is_str(text, "last words", "its last words are kept");
	is_int(run(link, words,
		   "i=0; while [ $i -lt 900 ]; do echo 'and more of it' >&2; "
		   "i=$((i+1)); done; echo 'the very last' >&2"),
	       0, "more words than are read at once");
	links_words(ls, ID, text, sizeof(text));
	ok(strstr(text, "the very last"), "the last are the last: %s", text);
	is_int(run(link, words, "set -- /proc/self/fd/*; test $# -le 4"), 0,
	       "no other descriptor goes with it");
	links_forget(ls, ID);
	links_words(ls, ID, text, sizeof(text));
	is_str(text, "", "and forgotten");
	ok(other >= 0, "while there was one");
}

static void test_full(struct loop *loop)
{
	struct links *ls = links_new(loop, NULL, NULL);
	char id[16];
	int failed = 0;

	for (unsigned i = 0; i < LINKS_MAX; i++) {
		snprintf(id, sizeof(id), "id-%u", i);
		failed += links_expect(ls, id) != 0;
	}
	is_int(failed, 0, "as many as there may be");
	is_int(links_expect(ls, "id-more"), -ENOSPC, "not one more");
	is_int(links_expect(ls, "id-7"), 0, "one of them anew");
	is_int(links_expect(ls, "id-more"), -ENOSPC, "and still not one more");
	links_forget(ls, "id-7");
	is_int(links_expect(ls, "id-more"), 0, "one for another");
	links_free(ls);
}

static void test_exec_fails(void)
{
	const char *const argv[] = { "/nonexistent/program", NULL };
	const struct proc_opts opts = { .argv = argv, .fd = { -1, -1, -1 } };
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(proc_exec(&opts) == -ENOENT ? 7 : 8);
	waitpid(pid, &status, 0);
	is_int(proc_code(status), 7, "who cannot become it hears why");
}

int main(void)
{
	struct loop *loop = loop_new();
	struct links *ls = links_new(loop, NULL, NULL);

	test_link(loop, ls);
	test_full(loop);
	test_exec_fails();
	links_free(ls);
	loop_free(loop);
	return done_testing();
}
