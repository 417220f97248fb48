/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_test.c - the HTTP server of acd against clients that behave and that
 * do not
 *
 * The server runs in this process. Each client is a forked child with a
 * blocking socket; its exit code is the number of its check that failed, and
 * the loop runs until it ends.
 */
#include "control/acd/api/http.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "lib/buf.h"
#include "tests/unit/control/acd/api/http_client.h"
#include "tests/unit/control/acd/api/http_server.h"
#include "tests/unit/tap.h"

#define STREAM_BYTES (3u * 1024 * 1024)

static int aborts, upgrades_lost, streams, parks;
static int arrived[2]; /* a pipe: a byte for each request that has come */
static struct http_req *parked; /* by on_park() */

/* ---- server side ---- */

static void reply_name(struct http_req *req)
{
	http_reply_json(req, 200,
			json_pack("{s:s}", "name", http_param(req, "name")));
}

static void on_now(void *ctx ATTR_UNUSED, struct http_req *req)
{
	reply_name(req);
}

struct later {
	struct http_req *req;
	struct loop_timer *timer;
	void (*fn)(struct http_req *req);
};

static void on_later_abort(void *arg)
{
	struct later *l = arg;

	aborts++;
	loop_timer_free(l->timer);
	free(l);
}

static void on_later_timer(void *arg)
{
	struct later *l = arg;

	loop_timer_free(l->timer);
	l->fn(l->req);
	free(l);
}

static struct later *later(struct http_req *req, uint64_t ms,
			   void (*fn)(struct http_req *req))
{
	struct later *l = calloc(1, sizeof(*l));

	l->req = req;
	l->fn = fn;
	l->timer = loop_timer_new(loop, on_later_timer, l);
	loop_timer_set(l->timer, ms);
	return l;
}

static void on_later(void *ctx ATTR_UNUSED, struct http_req *req)
{
	http_on_abort(req, on_later_abort, later(req, 30, reply_name));
}

static void arrive(void)
{
	check(write(arrived[1], "", 1) == 1);
}

/* In the client: waits until the server has one more of these requests. */
static void await(void)
{
	char byte;

	check(read(arrived[0], &byte, 1) == 1);
}

/* Whose client goes first, however slow it is. */
static void on_never(void *ctx ATTR_UNUSED, struct http_req *req)
{
	arrive();
	http_on_abort(req, on_later_abort, later(req, 600000, reply_name));
}

/* No on_abort: it answers whoever is there. */
static void on_stubborn(void *ctx ATTR_UNUSED, struct http_req *req)
{
	arrive();
	later(req, 60, reply_name);
}

static void on_park(void *ctx ATTR_UNUSED, struct http_req *req)
{
	parked = req;
	parks++;
}

static void on_echo(void *ctx ATTR_UNUSED, struct http_req *req)
{
	http_reply_json(req, 200,
			json_pack("{s:O, s:b}", "body", http_body(req), "flag",
				  http_query_flag(req, "flag")));
}

static void on_fail(void *ctx ATTR_UNUSED, struct http_req *req)
{
	struct err err = { 0 };

	err_set(&err, -EALREADY, "bad text: \xff");
	http_reply_error(req, &err, "already_running");
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

static void on_stream(void *ctx ATTR_UNUSED, struct http_req *req)
{
	struct source *s = calloc(1, sizeof(*s));

	streams++;
	s->silent = http_query_flag(req, "silent");
	s->stream = http_reply_stream(req, "application/octet-stream",
				      s->silent ? NULL : on_source_room,
				      on_source_abort, s);
	on_source_room(s);
}

/* Sends back what came early, then what comes within the call. */
static void on_raw(void *arg, int fd, struct slice early)
{
	struct buf *b = arg;
	char data[64];
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n;

	if (fd < 0) {
		upgrades_lost++;
		free(b);
		return;
	}
	ok((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0, "upgrade: non-blocking");
	ok((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0, "upgrade: close-on-exec");
	ok(write(fd, early.ptr, early.len) == (ssize_t)early.len,
	   "upgrade: early bytes");
	poll(&p, 1, 2000);
	n = read(fd, data, sizeof(data));
	ok(n > 0 && write(fd, data, (size_t)n) == n, "upgrade: later bytes");
	close(fd);
	free(b);
}

static void upgrade(struct http_req *req)
{
	http_upgrade(req, on_raw, calloc(1, sizeof(struct buf)));
}

static void on_upgrade(void *ctx ATTR_UNUSED, struct http_req *req)
{
	struct err err = { 0 };

	if (http_wants_upgrade(req) && http_query_flag(req, "later")) {
		arrive();
		later(req, 1000, upgrade);
	} else if (http_wants_upgrade(req)) {
		upgrade(req);
	} else {
		err_set(&err, -EINVAL, "no upgrade wanted");
		http_reply_error(req, &err, NULL);
	}
}

static const struct http_route routes[] = {
	{ "GET", "/now/{name}", on_now },
	{ "GET", "/later/{name}", on_later },
	{ "GET", "/never/{name}", on_never },
	{ "GET", "/stubborn/{name}", on_stubborn },
	{ "GET", "/park", on_park },
	{ "POST", "/echo", on_echo },
	{ "DELETE", "/echo", on_echo },
	{ "GET", "/fail", on_fail },
	{ "GET", "/stream", on_stream },
	{ "POST", "/up/{name}", on_upgrade },
	{ NULL, NULL, NULL },
};

/* ---- client side ---- */

static void client_routes(void)
{
	const char *r = ask("GET /now/a.b HTTP/1.1\r\n" CLOSE "\r\n");

	check(strstr(r, " 200 ") && strstr(r, "{\"name\":\"a.b\"}"));
	check(strstr(r, "application/json"));
	r = ask("GET /later/x HTTP/1.1\r\n" CLOSE "\r\n");
	check(strstr(r, " 200 ") && strstr(r, "{\"name\":\"x\"}"));
	/* Decoded, they are another name, or the one before them. */
	check(strstr(ask("GET /now/a%00 HTTP/1.1\r\n" CLOSE "\r\n"), " 400 "));
	check(strstr(ask("GET /now/a%00b HTTP/1.1\r\n" CLOSE "\r\n"), " 400 "));
	check(strstr(ask("GET /now/a%0a HTTP/1.1\r\n" CLOSE "\r\n"), " 400 "));
	check(strstr(ask("GET /now/%7F HTTP/1.1\r\n" CLOSE "\r\n"), " 400 "));
	check(strstr(ask("PUT /now/a%1F HTTP/1.1\r\n" CLOSE "\r\n"), " 400 "));
	check(strstr(ask("GET /now/a%2Eb HTTP/1.1\r\n" CLOSE "\r\n"), "a.b\""));
	r = ask("GET /nowhere HTTP/1.1\r\n" CLOSE "\r\n");
	check(strstr(r, " 404 ") && strstr(r, "\"not_found\""));
	r = ask("GET /now/ HTTP/1.1\r\n" CLOSE "\r\n");
	check(strstr(r, " 404 "));
	r = ask("GET /now/a/b HTTP/1.1\r\n" CLOSE "\r\n");
	check(strstr(r, " 404 "));
	r = ask("PUT /echo HTTP/1.1\r\n" CLOSE "Content-Length: 0\r\n\r\n");
	check(strstr(r, " 405 ") && strstr(r, "Allow: POST, DELETE"));
	r = ask("GET /fail HTTP/1.1\r\n" CLOSE "\r\n");
	check(strstr(r, " 409 ") && strstr(r, "\"already_running\"") &&
	      strstr(r, "bad text: "));
	r = ask("DELETE /echo?flag=1 HTTP/1.1\r\n" CLOSE "\r\n");
	check(strstr(r, "{\"body\":{},\"flag\":true}"));
	r = ask("DELETE /echo?flag=1%00x HTTP/1.1\r\n" CLOSE "\r\n");
	check(strstr(r, " 400 ") && strstr(r, "\"invalid\""));
	r = ask("DELETE /echo?a&flag%00x=1 HTTP/1.1\r\n" CLOSE "\r\n");
	check(strstr(r, " 400 "));
	r = ask("DELETE /echo?a&flag=1 HTTP/1.1\r\n" CLOSE "\r\n");
	check(strstr(r, "\"flag\":true"));
}

static void client_bodies(void)
{
	char deep[256];
	const char *r = ask_post("/echo", "{\"a\":[1,\"\xc3\xa9\"]}");

	check(strstr(r, " 200 ") && strstr(r, "\xc3\xa9"));
	check(strstr(ask_post("/echo", "{\"a\":"), " 400 "));
	check(strstr(ask_post("/echo", "[1]"), " 400 "));
	check(strstr(ask_post("/echo", "{\"a\":1,\"a\":2}"), " 400 "));
	check(strstr(ask_post("/echo", "{} {}"), " 400 "));
	check(strstr(ask_post("/echo", "{\"a\":\"\\u0000\"}"), " 400 "));
	check(strstr(ask_post("/echo", "{\"a\":\"\xff\"}"), " 400 "));
	memset(deep, '[', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	check(strstr(ask_post("/echo", deep), "nested deeper"));
}

/* {"a":"xxx…"} of exactly @len bytes. */
static char *big_body(size_t len)
{
	char *body = malloc(len);

	memset(body, 'x', len);
	body[snprintf(body, len, "{\"a\":\"")] = 'x';
	body[len - 2] = '"';
	body[len - 1] = '}';
	return body;
}

static void client_large(void)
{
	char *body = big_body(HTTP_BODY_MAX + 1);
	int fd = dial();

	post(fd, "/echo", body, HTTP_BODY_MAX + 1);
	check(strstr(hear(fd, NULL), " 413 "));
	close(fd);

	body = big_body(HTTP_BODY_MAX);
	fd = dial();
	post(fd, "/echo", body, HTTP_BODY_MAX);
	check(strstr(hear(fd, "\r\n"), " 200 "));
	close(fd);

	/* Not sent at all: a head that announces it is enough. */
	check(strstr(ask("POST /echo HTTP/1.1\r\n" CLOSE
			 "Content-Length: 99999999999\r\n\r\n"),
		     " 413 "));

	/* Of unknown length: thrown away up to a limit, then told. */
	fd = dial();
	say(fd, "POST /echo HTTP/1.1\r\n" CLOSE
		"Transfer-Encoding: chunked\r\n\r\n");
	for (int i = 0; i < 3; i++) {
		say(fd, "80000\r\n");
		put(fd, body, 0x80000);
		say(fd, "\r\n");
	}
	say(fd, "0\r\n\r\n");
	check(strstr(hear(fd, NULL), " 413 "));
	close(fd);
}

static void client_parallel(void)
{
	int fd[100];
	char text[128];

	for (int i = 0; i < 100; i++) {
		fd[i] = dial();
		snprintf(text, sizeof(text),
			 "GET /later/n%d HTTP/1.1\r\n" CLOSE "\r\n", i);
		say(fd[i], text);
	}
	for (int i = 99; i >= 0; i--) {
		snprintf(text, sizeof(text), "{\"name\":\"n%d\"}", i);
		check(strstr(hear(fd[i], NULL), text));
		close(fd[i]);
	}
}

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

static void client_leaves_request(void)
{
	int fd = dial();

	say(fd, "GET /never/x HTTP/1.1\r\nHost: x\r\n\r\n");
	await();
	close(fd);
	fd = dial();
	say(fd, "GET /stubborn/x HTTP/1.1\r\nHost: x\r\n\r\n");
	await();
	close(fd);
	fd = dial();
	say(fd, "GET /later/x HTTP/1.1\r\nHost");
	close(fd); /* in the middle of the head */
	fd = dial();
	say(fd, "POST /echo HTTP/1.1\r\nContent-Length: 10\r\n\r\n{");
	close(fd); /* and of the body */
}

static void client_half_closed(void)
{
	int fd = dial();

	say(fd, "GET /later/x HTTP/1.1\r\n" CLOSE "\r\n");
	shutdown(fd, SHUT_WR);
	check(strstr(hear(fd, NULL), "{\"name\":\"x\"}"));
	close(fd);
}

static void upgrade_once(const char *query)
{
	char request[256];
	int fd = dial();
	const char *r;

	snprintf(request, sizeof(request),
		 "POST /up/x%s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
		 "Upgrade: ac-link/1\r\nContent-Length: 2\r\n\r\n{}early",
		 query);
	say(fd, request);
	r = hear(fd, "early");
	check(strstr(r, " 101 ") && strstr(r, "Upgrade: ac-link/1"));
	say(fd, "later");
	check(strcmp(hear(fd, NULL), "later") == 0);
	close(fd);
}

static void client_upgrade(void)
{
	const char *r;

	upgrade_once("");
	upgrade_once("?later=1");
	await(); /* it has come, of course: no byte stays behind */
	r = ask("POST /up/x HTTP/1.1\r\n" CLOSE "Content-Length: 0\r\n\r\n");
	check(strstr(r, " 400 "));
}

static void client_leaves_upgrade(void)
{
	int fd = dial();

	say(fd, "POST /up/x?later=1 HTTP/1.1\r\nHost: x\r\n"
		"Connection: Upgrade\r\nUpgrade: ac-link/1\r\n"
		"Content-Length: 0\r\n\r\n");
	await();
	close(fd);
}

static void client_pipeline(void)
{
	int fd = dial();
	const char *r;

	say(fd, "GET /later/one HTTP/1.1\r\nHost: x\r\n\r\n"
		"GET /now/two HTTP/1.1\r\nHost: x\r\n\r\n"
		"\x01\x02 garbage\r\nno: colon\r\n\r\n\xff\xff");
	r = hear(fd, NULL);
	check(strstr(r, "\"one\"") && strstr(r, "\"two\""));
	check(strstr(r, "\"one\"") < strstr(r, "\"two\""));
	close(fd);
	check(strstr(ask("GET /now/alive HTTP/1.1\r\n" CLOSE "\r\n"),
		     "\"alive\""));
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

/* ---- the two together ---- */

static void on_tick(void *arg)
{
	loop_stop(arg, 7);
}

/* Runs the loop until *@n is @want: the client has gone, and the server is told
 * of that when it looks. 30 s at most. */
static void until(const int *n, int want)
{
	struct loop_timer *tick = loop_timer_new(loop, on_tick, loop);

	for (int i = 0; *n < want && i < 3000; i++) {
		loop_timer_set(tick, 10);
		loop_run(loop);
	}
	loop_timer_free(tick);
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
	if (pipe(arrived) < 0 || !server_start("http_test", routes))
		return done_testing();

	is_int(run_client(client_routes), 0, "routes");
	is_int(run_client(client_bodies), 0, "bodies");
	is_int(run_client(client_large), 0, "bodies that are too large");
	is_int(run_client(client_parallel), 0, "100 at once");
	is_int(run_client(client_slow), 0, "a slow reader gets all bytes");
	is_int(run_client(client_leaves_stream), 0, "clients leave streams");
	until(&aborts, 2);
	is_int(aborts, 2, "both producers were told");
	is_int(run_client(client_leaves_request), 0, "clients leave requests");
	until(&aborts, 3);
	is_int(aborts, 3, "the handler was told");
	is_int(run_client(client_half_closed), 0, "a half-closed client");
	is_int(run_client(client_upgrade), 0, "upgrade");
	is_int(run_client(client_leaves_upgrade), 0, "a client leaves");
	until(&upgrades_lost, 1);
	is_int(upgrades_lost, 1, "the receiver of its socket was told");
	is_int(run_client(client_pipeline), 0, "pipelined garbage");
	test_idle();

	test_shutdown();
	loop_free(loop);
	unlink(sock_path);
	return done_testing();
}
