/* SPDX-License-Identifier: Apache-2.0 */
/*
 * put_test.c - bodies of any size, taken as they come
 */
#include "control/acd/api/http/server.h"

#include "tests/unit/control/acd/api/http/test_server.h"

/* Takes a body in small pieces, with pauses; says how much it was. */
static struct {
	struct http_req *req;
	struct loop_timer *timer;
	size_t bytes;
	bool sound;
} taker;

#define TAKE_MAX 70000u

static void taker_go_on(void *arg)
{
	(void)arg;
	http_body_resume(taker.req);
}

static size_t taker_take(void *arg, struct slice data)
{
	size_t i, n = data.len < TAKE_MAX / 4 ? data.len : TAKE_MAX / 4;

	(void)arg;
	for (i = 0; i < n; i++)
		taker.sound &= data.ptr[i] == (uint8_t)(taker.bytes + i);
	taker.bytes += n;
	if (n < data.len)
		loop_timer_set(taker.timer, 1);
	return n;
}

static void taker_end(void *arg)
{
	(void)arg;
	http_reply_json(taker.req, 200,
			json_pack("{s:I, s:b}", "bytes",
				  (json_int_t)taker.bytes, "sound",
				  taker.sound));
}

static void on_take(void *ctx, struct http_req *req)
{
	(void)ctx;
	loop_timer_free(taker.timer);
	taker.timer = loop_timer_new(loop, taker_go_on, NULL);
	taker.req = req;
	taker.bytes = 0;
	taker.sound = true;
	http_body_take(req, taker_take, taker_end, NULL);
}

static void on_fail(void *ctx, struct http_req *req)
{
	struct err err = { 0 };

	(void)ctx;
	err_set(&err, -EALREADY, "it runs");
	http_reply_error(req, &err, "already_running");
}

static const struct http_route routes[] = {
	{ "PUT", "/take", on_take, NULL },
	{ "PUT", "/fail", on_fail, NULL },
	{ NULL, NULL, NULL, NULL },
};

static void client_put(void)
{
	static uint8_t body[2 * 1024 * 1024];
	const char *answer;
	char head[96];
	size_t i;
	int fd = dial();

	for (i = 0; i < sizeof(body); i++)
		body[i] = (uint8_t)i;
	snprintf(head, sizeof(head),
		 "PUT /take HTTP/1.1\r\n" CLOSE "Content-Length: %zu\r\n\r\n",
		 sizeof(body));
	say(fd, head);
	put(fd, body, sizeof(body));
	answer = hear(fd, NULL);
	check(strstr(answer, "{\"bytes\":2097152,\"sound\":true}"));
	close(fd);
	answer =
		ask("PUT /take HTTP/1.1\r\n" CLOSE "Content-Length: 0\r\n\r\n");
	check(strstr(answer, "{\"bytes\":0,\"sound\":true}"));

	/* Refused at once, and heard by one who writes all of it first. */
	fd = dial();
	snprintf(head, sizeof(head),
		 "PUT /fail HTTP/1.1\r\n" CLOSE "Content-Length: %zu\r\n\r\n",
		 sizeof(body));
	say(fd, head);
	put(fd, body, sizeof(body));
	check(strstr(hear(fd, NULL), "already_running"));
	close(fd);
	check(strstr(ask("PUT /none HTTP/1.1\r\n" CLOSE
			 "Content-Length: 2\r\n\r\nab"),
		     " 404 "));
}

int main(void)
{
	if (!server_start("http_put_test", routes))
		return done_testing();
	is_int(run_client(client_put), 0, "bodies of any size");
	loop_timer_free(taker.timer);
	http_free(http);
	loop_free(loop);
	unlink(sock_path);
	return done_testing();
}
