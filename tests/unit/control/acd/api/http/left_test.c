/* SPDX-License-Identifier: Apache-2.0 */
/*
 * left_test.c - clients that leave in the middle of a body
 *
 * No handler has seen such a request: what it holds must go with its client,
 * which the leak check of a build with sanitizers tells.
 */
#include "control/acd/api/http/server.h"

#include "tests/unit/control/acd/api/http/test_server.h"

static unsigned served;

static void on_echo(void *ctx, struct http_req *req)
{
	(void)ctx;
	served++;
	http_reply_json(req, 200, json_pack("{s:O}", "body", http_body(req)));
}

static const struct http_route routes[] = {
	{ "POST", "/echo", on_echo, NULL },
	{ NULL, NULL, NULL, NULL },
};

static void client_leaves(void)
{
	int fds[20];

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = dial();
		say(fds[i],
		    "POST /echo HTTP/1.1\r\nContent-Length: 10\r\n\r\n{");
	}
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	check(strstr(ask("POST /echo HTTP/1.1\r\n" CLOSE
			 "Content-Length: 2\r\n\r\n{}"),
		     "{\"body\":{}}"));
}

int main(void)
{
	if (!server_start("http_left_test", routes))
		return done_testing();
	is_int(run_client(client_leaves), 0, "twenty leave, one is answered");
	is_int(served, 1, "and no other was served");
	http_free(http);
	loop_free(loop);
	unlink(sock_path);
	return done_testing();
}
