/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logtail_test.c - logs sent to clients while somebody writes and rotates
 */
#include "control/acd/api/logtail.h"

#include <signal.h>
#include <sys/wait.h>

#include "lib/file.h"
#include "tests/unit/control/acd/api/http_client.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/logtail_test.XXXXXX";
static char log_path[64], old_path[80];
static struct loop *loop;

static void on_log(void *ctx, struct http_req *req)
{
	const char *lines = http_query(req, "tail");
	const struct logtail_spec spec = {
		.path = log_path,
		.lines = lines ? (uint64_t)atoi(lines) : LOGTAIL_ALL,
		.follow = http_query_flag(req, "follow"),
		.having = http_query(req, "having"),
	};

	(void)ctx;
	logtail_reply(loop, req, &spec);
}

static const struct http_route routes[] = {
	{ "GET", "/log", on_log, NULL },
	{ NULL, NULL, NULL, NULL },
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

static void append_lines(unsigned n, const char *text)
{
	FILE *f = fopen(log_path, "ae");

	check(f);
	for (unsigned i = 0; i < n; i++)
		fprintf(f, "%s %u\n", text, i);
	check(fclose(f) == 0);
}

/* Lines of one, few among very many of others, over blocks and two files. */
static void client_having(void)
{
	static char wide[40000];
	int fd;

	check(remove(log_path) == 0 && remove(old_path) == 0);
	append_lines(30000, "other a");
	append_lines(1, "mine");
	append_lines(3000, "other b");
	memset(wide, 'w', sizeof(wide) - 1);
	append(wide);
	append("\n");
	append_lines(2, "mine, too");
	check(rename(log_path, old_path) == 0);
	append_lines(2000, "other c");
	append_lines(1, "mine, last");
	append_lines(1000, "other d");
	append("mine, but not whole");
	check(tail_is("3&having=mine", "mine, too 1\nmine, last 0\n"));
	append("\n");
	check(tail_is("2&having=mine", "mine, last 0\nmine, but not whole\n"));
	check(tail_is("9&having=mine",
		      "mine 0\nmine, too 0\nmine, too 1\nmine, last 0\n"
		      "mine, but not whole\n"));
	check(tail_is("0&having=mine", ""));
	check(tail_is("5&having=nobody", ""));
	check(tail_is("1", "mine, but not whole\n"));
	fd = dial();
	say(fd, "GET /log?tail=0&follow=1&having=mine HTTP/1.0\r\n"
		"Host: x\r\n\r\n");
	check(strstr(hear(fd, "\r\n\r\n"), " 200 "));
	append_lines(5000, "other e");
	append("mine, in ");
	usleep(400000);
	append("two parts\n");
	append_lines(5000, "other f");
	check(rename(log_path, old_path) == 0);
	append_lines(1, "mine, new");
	check(strcmp(hear(fd, "new 0\n"),
		     "mine, in two parts\nmine, new 0\n") == 0);
	close(fd);
	usleep(50000);
}

static void on_signal(void *arg, int signo)
{
	int status;

	(void)signo;
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
	is_int(run_client(client_having), 0, "some lines alone");
	http_free(http);
	loop_free(loop);
	file_remove_tree(dir);
	return done_testing();
}
