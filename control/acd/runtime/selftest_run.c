/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selftest_run.c - `acd --self-test`: the verdict on one binary
 */
#include "control/acd/runtime/selftest_run.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "control/acd/runtime/selftest.h"
#include "lib/log.h"

static void on_tested(void *arg)
{
	loop_stop(arg, 0);
}

static void on_test_signal(void *arg, int signo)
{
	(void)signo;
	children_reap(arg);
}

int selftest_run(const char *runsc, const char *guard)
{
	char dir[] = "/tmp/ac-selftest.XXXXXX";
	struct selftest_spec spec = { .runsc = runsc,
				      .guard = guard,
				      .dir = dir };
	struct loop *loop = loop_new();
	struct children *children = children_new();
	struct selftest *t = NULL;
	struct err err = { 0 };
	sigset_t set;
	int rc = 1;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	if (mkdtemp(dir) && loop && children &&
	    loop_signals(loop, &set, on_test_signal, children) == 0)
		t = selftest_new(loop, children, &spec, &err);
	if (t) {
		selftest_start(t, on_tested, loop);
		loop_run(loop);
		rc = selftest_state(t) == SELFTEST_OK ? 0 : 1;
		printf("%s\n%s\n", selftest_version(t), selftest_output(t));
		printf("%s%s\n", rc ? "refused: " : "accepted",
		       selftest_reason(t));
	} else {
		log_error("self-test cannot start");
	}
	selftest_free(t);
	loop_free(loop);
	children_free(children);
	rmdir(dir);
	return rc;
}
