/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_stream_test.c - answers without an end: slow readers, clients that leave,
 * a server that has nothing to do, and one that goes
 */
#include "control/acd/api/http/server.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/unit/control/acd/api/http/test_server.h"

#define STREAM_BYTES (3u * 1024 * 1024)

static int aborts, streams, parks;
static struct http_req *parked; /* by on_park() */

static void on_park(void *ctx, struct http_req *req)
{
	(void)ctx;
	parked = req;
	parks++;
}

/* Counts up, STREAM_BYTES in all, or for ever silent after the first. */
struct source {
	struct http_stream *stream;
	uint32_t sent;
	bool silent;
};

static void on_source_room(void *arg)
{
	struct source *s = arg;
	uint8_t block[4096];

	while (s->sent < STREAM_BYTES &&
	       http_stream_room(s->stream) >= sizeof(block)) {
		for (size_t i = 0; i < sizeof(block); i++)
			block[i] = (uint8_t)((s->sent + i) / 7);
		if (http_stream_write(s->stream, block, sizeof(block)) < 0)
			return;
		s->sent += sizeof(block);
		if (s->silent)
			return;
	}
	if (s->sent == STREAM_BYTES) {
		http_stream_end(s->stream);
		free(s);
	}
}

static void on_source_abort(void *arg)
{
	struct source *s = arg;

	aborts++;
	http_stream_end(s->stream); /* allowed, and without effect */
	free(s);
}

static void on_stream(void *ctx, struct http_req *req)
{
	struct source *s = calloc(1, sizeof(*s));

	(void)ctx;
	streams++;
	s->silent = http_query_flag(req, "silent");
	s->stream = http_reply_stream(req, "application/octet-stream",
				      s->silent ? NULL : on_source_room,
				      on_source_abort, s);
	on_source_room(s);
}

static const struct http_route routes[] = {
	{ "GET", "/park", on_park, NULL },
	{ "GET", "/stream", on_stream, NULL },
	{ NULL, NULL, NULL, NULL },
};

/* Reads the stream in small pieces and with pauses. */
static void client_slow(void)
{
	int fd = dial();
	uint8_t block[65536];
	size_t got = 0, n = 0;
	FILE *f;

	say(fd, "GET /stream HTTP/1.0\r\nHost: x\r\n\r\n");
	f = fdopen(fd, "r");
	while (fgets((char *)block, sizeof(block), f) && block[0] != '\r')
		;
	while ((n = fread(block, 1, sizeof(block), f)) > 0) {
		for (size_t i = 0; i < n; i++)
			check(block[i] == (uint8_t)((got + i) / 7));
		got += n;
		usleep(2000);
	}
	check(got == STREAM_BYTES);
}

static void client_leaves_stream(void)
{
	int fd = dial();

	say(fd, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
	hear(fd, "\r\n\r\n");
	close(fd); /* the server has more to send */
	fd = dial();
	say(fd, "GET /stream?silent=1 HTTP/1.1\r\nHost: x\r\n\r\n");
	hear(fd, "\r\n\r\n");
	close(fd); /* it has nothing to send */
}

/* Nothing to do: a suspended request with bytes behind it, a silent stream,
 * a connection without a request, one with half a head. */
static void client_idle(void)
{
	int fd[4];

	for (int i = 0; i < 4; i++)
		fd[i] = dial();
	say(fd[0], "GET /park HTTP/1.1\r\nHost: x\r\n\r\nGET /park");
	say(fd[1], "GET /stream?silent=1 HTTP/1.1\r\nHost: x\r\n\r\n");
	say(fd[2], "GET /par");
	usleep(600000);
	for (int i = 0; i < 4; i++)
		close(fd[i]);
	usleep(50000);
}

/* How often this process went to sleep so far. */
static long sleeps(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_nvcsw + u.ru_nivcsw;
}

static void test_idle(void)
{
	long before = sleeps();
	struct err err = { 0 };

	is_int(run_client(client_idle), 0, "idle connections");
	ok(sleeps() - before < 60, "do not wake the server (%ld times)",
	   sleeps() - before);
	/* The parked request's client has left; its answer goes nowhere. */
	err_set(&err, -ENOENT, "too late");
	http_reply_error(parked, &err, NULL);
	parked = NULL;
}

/* Requests and streams are open while the server goes. */
static void client_stays(void)
{
	for (int i = 0; i < 3; i++) {
		int fd = dial();

		say(fd, i ? "GET /stream?silent=1 HTTP/1.1\r\nHost: x\r\n\r\n" :
			    "GET /park HTTP/1.1\r\nHost: x\r\n\r\n");
	}
}

static void test_shutdown(void)
{
	pid_t pid = (fflush(stdout), fork());
	struct err err = { 0 };
	int before = aborts;

	if (pid == 0) {
		client_stays();
		pause(); /* until it is killed */
		_exit(0);
	}
	streams = parks = 0;
	until(&streams, 2);
	until(&parks, 1);
	err_set(&err, -EIO, "shutting down");
	http_free(http);
	is_int(aborts - before, 2, "streams are told of the end");
	if (ok(parked != NULL, "a request is open"))
		http_reply_error(parked, &err, NULL);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	if (!server_start("http_stream_test", routes))
		return done_testing();

	is_int(run_client(client_slow), 0, "a slow reader gets all bytes");
	is_int(run_client(client_leaves_stream), 0, "clients leave streams");
	until(&aborts, 2);
	is_int(aborts, 2, "both producers were told");
	test_idle();

	test_shutdown();
	loop_free(loop);
	unlink(sock_path);
	return done_testing();
}
