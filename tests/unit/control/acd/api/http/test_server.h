/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_server.h - the server of HTTP tests, and the clients it waits for
 *
 * The server runs in this process; each client is a forked child, and the
 * loop runs until it ends.
 */
#ifndef TESTS_UNIT_CONTROL_ACD_API_HTTP_TEST_SERVER_H
#define TESTS_UNIT_CONTROL_ACD_API_HTTP_TEST_SERVER_H

#include <sys/wait.h>

#include "control/acd/api/http/server.h"
#include "tests/unit/control/acd/api/http_client.h"
#include "tests/unit/tap.h"

static struct loop *loop;
static struct http *http;

static inline void on_signal(void *arg, int signo)
{
	int status;

	(void)arg;
	(void)signo;
	while (waitpid(-1, &status, WNOHANG) > 0)
		loop_stop(loop, WIFEXITED(status) ? WEXITSTATUS(status) : 99);
}

static inline int run_client(void (*fn)(void))
{
	pid_t pid = (fflush(stdout), fork());

	if (pid == 0) {
		fn();
		_exit(0);
	}
	return loop_run(loop);
}

/* Listens at a socket that bears @name and the pid. */
static inline bool server_start(const char *name,
				const struct http_route *routes)
{
	struct err err = { 0 };
	sigset_t set;

	snprintf(sock_path, sizeof(sock_path), "/tmp/%s.%d", name, getpid());
	loop = loop_new();
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	loop_signals(loop, &set, on_signal, NULL);
	http = http_new(loop, routes, NULL, &err);
	return ok(http && http_listen(http, sock_path, getuid(), getgid(),
				      &err) == 0,
		  "listen: %s", err.msg);
}

static inline void on_tick(void *arg)
{
	loop_stop(arg, 7);
}

/* Runs the loop until *@n is @want: the client has gone, and the server is told
 * of that when it looks. 30 s at most. */
static inline void until(const int *n, int want)
{
	struct loop_timer *tick = loop_timer_new(loop, on_tick, loop);

	for (int i = 0; *n < want && i < 3000; i++) {
		loop_timer_set(tick, 10);
		loop_run(loop);
	}
	loop_timer_free(tick);
}

#endif
