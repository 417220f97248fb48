/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_test.c - the HTTP server of acd against clients that behave and that
 * do not
 *
 * The server runs in this process. Each client is a forked child with a
 * blocking socket; its exit code is the number of its check that failed, and
 * the loop runs until it ends.
 */
#include "control/acd/api/http/server.h"

#include <stdlib.h>

#include "tests/unit/control/acd/api/http/later.h"

/* ---- server side ---- */

static void reply_name(struct http_req *req)
{
	http_reply_json(req, 200,
			json_pack("{s:s}", "name", http_param(req, "name")));
}

static void on_now(void *ctx, struct http_req *req)
{
	(void)ctx;
	reply_name(req);
}

static void on_later(void *ctx, struct http_req *req)
{
	(void)ctx;
	http_on_abort(req, on_later_abort, later(req, 30, reply_name));
}

/* Whose client goes first, however slow it is. */
static void on_never(void *ctx, struct http_req *req)
{
	(void)ctx;
	arrive();
	http_on_abort(req, on_later_abort, later(req, 600000, reply_name));
}

/* No on_abort: it answers whoever is there. */
static void on_stubborn(void *ctx, struct http_req *req)
{
	(void)ctx;
	arrive();
	later(req, 60, reply_name);
}

static void on_echo(void *ctx, struct http_req *req)
{
	(void)ctx;
	http_reply_json(req, 200,
			json_pack("{s:O, s:b}", "body", http_body(req), "flag",
				  http_query_flag(req, "flag")));
}

static void on_fail(void *ctx, struct http_req *req)
{
	struct err err = { 0 };

	(void)ctx;
	err_set(&err, -EALREADY, "bad text: \xff");
	http_reply_error(req, &err, "already_running");
}

static const struct http_route routes[] = {
	{ "GET", "/now/{name}", on_now, NULL },
	{ "GET", "/later/{name}", on_later, NULL },
	{ "GET", "/never/{name}", on_never, NULL },
	{ "GET", "/stubborn/{name}", on_stubborn, NULL },
	{ "POST", "/echo", on_echo, NULL },
	{ "DELETE", "/echo", on_echo, NULL },
	{ "GET", "/fail", on_fail, NULL },
	{ NULL, NULL, NULL, NULL },
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

int main(void)
{
	if (pipe(arrived) < 0 || !server_start("http_test", routes))
		return done_testing();

	is_int(run_client(client_routes), 0, "routes");
	is_int(run_client(client_bodies), 0, "bodies");
	is_int(run_client(client_large), 0, "bodies that are too large");
	is_int(run_client(client_parallel), 0, "100 at once");
	is_int(run_client(client_leaves_request), 0, "clients leave requests");
	until(&aborts, 1);
	is_int(aborts, 1, "the handler was told");
	is_int(run_client(client_half_closed), 0, "a half-closed client");
	is_int(run_client(client_pipeline), 0, "pipelined garbage");
	http_free(http);
	loop_free(loop);
	unlink(sock_path);
	return done_testing();
}
