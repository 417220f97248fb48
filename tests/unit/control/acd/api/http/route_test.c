/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route_test.c - routes for any rest of a path, any method, and any body
 */
#include "control/acd/api/http/server.h"

#include "tests/unit/control/acd/api/http/test_server.h"

static void on_rest(void *ctx, struct http_req *req)
{
	(void)ctx;
	http_reply_json_with(req, 501, json_pack("{s:s}", "is", "rest"),
			     "X-Next", "more");
}

static void on_one(void *ctx, struct http_req *req)
{
	(void)ctx;
	http_reply_json(req, 200,
			json_pack("{s:s}", "id", http_param(req, "id")));
}

static void on_bytes(void *ctx, struct http_req *req)
{
	struct slice body = http_body_bytes(req);

	(void)ctx;
	http_reply_json(req, 200,
			json_pack("{s:i, s:b}", "bytes", (int)body.len, "none",
				  http_body(req) == NULL));
}

static struct http_req *taken;
static size_t bytes;

static size_t take(void *arg, struct slice data)
{
	(void)arg;
	bytes += data.len;
	return data.len;
}

static void take_end(void *arg)
{
	(void)arg;
	http_reply_json(taken, 200,
			json_pack("{s:I}", "took", (json_int_t)bytes));
}

static void on_raw(void *ctx, struct http_req *req)
{
	(void)ctx;
	taken = req;
	bytes = 0;
	http_body_take(req, take, take_end, NULL);
}

static const struct http_call bytes_call = { .bytes = true };
static const struct http_call raw_call = { .raw = true };

static const struct http_route routes[] = {
	{ "GET", "/a/{id}", on_one, NULL },
	{ "POST", "/a/{id}", on_bytes, &bytes_call },
	{ "POST", "/raw", on_raw, &raw_call },
	{ "*", "/a/*", on_rest, NULL },
	{ NULL, NULL, NULL, NULL },
};

static void client(void)
{
	static const struct {
		const char *request, *answer;
	} rows[] = {
		{ "GET /a/x HTTP/1.1\r\n" CLOSE "\r\n", "{\"id\":\"x\"}" },
		{ "GET /a/x/y HTTP/1.1\r\n" CLOSE "\r\n", "{\"is\":\"rest\"}" },
		{ "GET /a/x/y HTTP/1.1\r\n" CLOSE "\r\n", "X-Next: more" },
		{ "DELETE /a/x HTTP/1.1\r\n" CLOSE "\r\n", " 501 " },
		{ "GET /a HTTP/1.1\r\n" CLOSE "\r\n", " 404 " },
		{ "GET /ab/c HTTP/1.1\r\n" CLOSE "\r\n", " 404 " },
		{ "GET /raw HTTP/1.1\r\n" CLOSE "\r\n", " 405 " },
		{ "POST /a/x HTTP/1.1\r\n" CLOSE "Content-Length: 3\r\n\r\nno{",
		  "{\"bytes\":3,\"none\":true}" },
		{ "POST /a/x HTTP/1.1\r\n" CLOSE "Content-Length: 0\r\n\r\n",
		  "{\"bytes\":0,\"none\":true}" },
		{ "POST /a/x HTTP/1.1\r\n" CLOSE
		  "Content-Length: 99999999\r\n\r\n",
		  " 413 " },
		{ "POST /raw HTTP/1.1\r\n" CLOSE "Content-Length: 3\r\n\r\nno{",
		  "{\"took\":3}" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int fd = dial();

		say(fd, rows[i].request);
		if (!strstr(hear(fd, NULL), rows[i].answer)) {
			printf("# row %zu\n", i);
			check(false);
		}
		close(fd);
	}
}

int main(void)
{
	if (!server_start("http_route_test", routes))
		return done_testing();
	is_int(run_client(client), 0, "routes");
	http_free(http);
	loop_free(loop);
	unlink(sock_path);
	return done_testing();
}
