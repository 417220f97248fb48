/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idle_test.c - who says nothing is sent away, who waits is not
 */
#include "control/acd/api/http/server.h"

#include <signal.h>
#include <sys/wait.h>

#include "lib/buf.h"
#include "tests/unit/control/acd/api/http_client.h"
#include "tests/unit/tap.h"

#define STREAM_BYTES (3u * 1024 * 1024)

static struct loop *loop;
static struct http_req *parked;
static struct http_stream *stream, *quiet_stream;
static size_t sent;

static void on_park(void *ctx, struct http_req *req)
{
	(void)ctx;
	parked = req;
}

static void on_room(void *arg)
{
	static const char block[4096];

	(void)arg;
	for (; sent < STREAM_BYTES && http_stream_room(stream) >= sizeof(block);
	     sent += sizeof(block))
		if (http_stream_write(stream, block, sizeof(block)) < 0)
			return;
	if (sent == STREAM_BYTES) {
		sent++; /* once */
		http_stream_end(stream);
	}
}

static void on_stream(void *ctx, struct http_req *req)
{
	bool silent = http_query_flag(req, "silent");
	struct http_stream *s = http_reply_stream(
		req, "text/plain", silent ? NULL : on_room, NULL, NULL);

	(void)ctx;
	if (silent) {
		quiet_stream = s;
		http_stream_write(s, "x", 1);
		return;
	}
	stream = s;
	on_room(NULL);
}

static const struct http_route routes[] = {
	{ "GET", "/park", on_park, NULL },
	{ "GET", "/stream", on_stream, NULL },
	{ 0 },
};

static void on_signal(void *arg, int signo)
{
	int status;

	(void)arg;
	(void)signo;
	while (waitpid(-1, &status, WNOHANG) > 0)
		loop_stop(loop, WIFEXITED(status) ? WEXITSTATUS(status) : 99);
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

static void client_patience(void)
{
	int quiet = dial(), parks = dial(), streams = dial();
	int stalls = dial();
	char byte, data[65536];
	ssize_t n;

	say(parks, "GET /park HTTP/1.1\r\nHost: x\r\n\r\n");
	say(streams, "GET /stream?silent=1 HTTP/1.1\r\nHost: x\r\n\r\n");
	say(stalls, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
	hear(streams, "\r\n\r\n");
	if (recv(quiet, &byte, 1, 0) != 0)
		_exit(1);
	usleep(2500000);
	if (recv(parks, &byte, 1, MSG_DONTWAIT) != -1)
		_exit(2);
	while ((n = recv(streams, data, sizeof(data), MSG_DONTWAIT)) > 0)
		;
	if (n == 0)
		_exit(3);
	for (size_t all = 0; all < STREAM_BYTES;) {
		n = recv(stalls, data, sizeof(data), 0);
		if (n <= 0)
			_exit(4);
		all += (size_t)n;
	}
}

/* A server of its own, with little patience. */
static void test_patience(void)
{
	struct err err = { 0 };
	struct http *http = http_new(loop, routes, NULL, &err);

	http_set_idle(http, 1);
	is_int(http_listen(http, sock_path, getuid(), getgid(), &err), 0,
	       "listen %s", err.msg);
	is_int(run_client(client_patience), 0,
	       "a silent connection is closed; parked, silent and stalled ones "
	       "are not");
	err_set(&err, -EIO, "over");
	if (ok(parked != NULL, "a request was parked"))
		http_reply_error(parked, &err, NULL);
	if (ok(quiet_stream != NULL, "a stream was silent"))
		http_stream_end(quiet_stream);
	http_free(http);
}

int main(void)
{
	sigset_t set;

	snprintf(sock_path, sizeof(sock_path), "/tmp/http_idle.%d", getpid());
	loop = loop_new();
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	loop_signals(loop, &set, on_signal, NULL);
	test_patience();
	loop_free(loop);
	unlink(sock_path);
	return done_testing();
}
