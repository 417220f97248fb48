/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logtail_test.c - logs sent to clients while somebody writes and rotates
 */
#include "control/acd/logtail.h"

#include <signal.h>
#include <sys/wait.h>

#include "lib/file.h"
#include "tests/unit/http_client.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/logtail_test.XXXXXX";
static char log_path[64], old_path[80];
static struct loop *loop;

static void on_log(void *ctx ATTR_UNUSED, struct http_req *req)
{
	const char *lines = http_query(req, "tail");

	logtail_reply(loop, req, log_path,
		      lines ? (uint64_t)atoi(lines) : LOGTAIL_ALL,
		      http_query_flag(req, "follow"));
}

static const struct http_route routes[] = {
	{ "GET", "/log", on_log },
	{ NULL, NULL, NULL },
};

static void append(const char *text)
{
	FILE *f = fopen(log_path, "ae");

	check(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

/* The whole log from @lines before its end; HTTP/1.0: no chunks. */
static bool tail_is(const char *lines, const char *want)
{
	char request[128];
	const char *body;

	snprintf(request, sizeof(request),
		 "GET /log?tail=%s HTTP/1.0\r\nHost: x\r\n\r\n", lines);
	body = strstr(ask(request), "\r\n\r\n");
	if (!body || strcmp(body + 4, want) != 0)
		printf("# tail %s: %s\n", lines, body ? body + 4 : "nothing");
	return body && strcmp(body + 4, want) == 0;
}

static void client_tail(void)
{
	check(strstr(ask("GET /log HTTP/1.0\r\nHost: x\r\n\r\n"), " 404 "));
	append("");
	check(tail_is("5", ""));
	append("one\ntwo\nthree\n");
	check(tail_is("1", "three\n"));
	check(tail_is("3", "one\ntwo\nthree\n"));
	check(tail_is("0", ""));
	check(rename(log_path, old_path) == 0);
	append("four\nfive");
	check(tail_is("1", "five"));
	check(tail_is("2", "four\nfive"));
	check(tail_is("3", "three\nfour\nfive"));
	check(tail_is("99", "one\ntwo\nthree\nfour\nfive"));
}

/* Appends and rotations are followed, and nothing is sent twice. */
static void client_follow(void)
{
	int fd = dial();
	const char *text;

	say(fd, "GET /log?tail=1&follow=1 HTTP/1.0\r\nHost: x\r\n\r\n");
	check(strstr(hear(fd, "five"), "\r\n\r\nfive"));
	append(" and a half\n");
	check(strcmp(hear(fd, "half\n"), " and a half\n") == 0);
	append("six\n");
	check(rename(log_path, old_path) == 0);
	append("seven\n");
	text = hear(fd, "seven\n");
	check(strcmp(text, "six\nseven\n") == 0);
	check(truncate(log_path, 0) == 0);
	usleep(400000);
	append("eight\n");
	check(strcmp(hear(fd, "eight\n"), "eight\n") == 0);
	close(fd);
	usleep(50000);
}

static void on_signal(void *arg, int signo ATTR_UNUSED)
{
	int status;

	while (waitpid(-1, &status, WNOHANG) > 0)
		loop_stop(arg, WIFEXITED(status) ? WEXITSTATUS(status) : 99);
}

static int run_client(void (*fn)(void))
{
	pid_t pid = (fflush(stdout), fork());

	if (pid == 0) {
		fn();
		_exit(0);
	}
	return loop_run(loop);
}

int main(void)
{
	struct err err = { 0 };
	struct http *http;
	sigset_t set;

	if (!mkdtemp(dir))
		return 1;
	snprintf(log_path, sizeof(log_path), "%s/x.log", dir);
	snprintf(old_path, sizeof(old_path), "%s.1", log_path);
	snprintf(sock_path, sizeof(sock_path), "%s/sock", dir);
	loop = loop_new();
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	loop_signals(loop, &set, on_signal, loop);
	http = http_new(loop, routes, NULL, &err);
	if (!ok(http && http_listen(http, sock_path, getuid(), getgid(),
				    &err) == 0,
		"listen: %s", err.msg))
		return done_testing();
	is_int(run_client(client_tail), 0, "tail");
	is_int(run_client(client_follow), 0, "follow");
	http_free(http);
	loop_free(loop);
	file_remove_tree(dir);
	return done_testing();
}
