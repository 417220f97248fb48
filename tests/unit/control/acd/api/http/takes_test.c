/* SPDX-License-Identifier: Apache-2.0 */
/*
 * takes_test.c - requests that do not fit the tables of their call never
 * reach its handler
 */
#include "control/acd/api/http/server.h"

#include "tests/unit/control/acd/api/http/test_server.h"

static unsigned handled; /* in this process, the server's */

static void on_echo(void *ctx, struct http_req *req)
{
	(void)ctx;
	handled++;
	http_reply_json(req, 200,
			json_pack("{s:O, s:I}", "body", http_body(req), "n",
				  (json_int_t)http_query_u64(req, "n", 42)));
}

static size_t take(void *arg, struct slice data)
{
	(void)arg;
	return data.len;
}

static void end(void *arg)
{
	http_reply_empty(arg);
}

static void on_put(void *ctx, struct http_req *req)
{
	(void)ctx;
	handled++;
	http_body_take(req, take, end, req);
}

static const struct schema number = { .kind = SCHEMA_NUMBER, .max = 9 };
static const struct schema_key query_keys[] = { { "n", &number },
						{ "text", &schema_text } };
static const struct schema query = { SCHEMA_ROWS(query_keys) };
static const struct schema_key body_keys[] = { { "n", &number } };
static const struct schema body = { SCHEMA_ROWS(body_keys) };
static const struct http_call both = { .query = &query, .body = &body };
static const struct http_call bytes = { .query = &query, .raw = true };
static const struct http_call nothing = { .body = NULL };

static const struct http_route routes[] = {
	{ "POST", "/both", on_echo, &both },
	{ "POST", "/nothing", on_echo, &nothing },
	{ "GET", "/nothing", on_echo, &nothing },
	{ "POST", "/any", on_echo, NULL },
	{ "PUT", "/put", on_put, &bytes },
	{ NULL, NULL, NULL, NULL },
};

static void client_good(void)
{
	check(strstr(ask_post("/both", "{\"n\":9}"), "{\"n\":9}"));
	check(strstr(ask_post("/both", "{\"n\":null}"), " 200 "));
	check(strstr(ask_post("/both", ""), "\"n\":42"));
	check(strstr(ask_post("/both?n=7&other=x&text=1", ""), "\"n\":7"));
	check(strstr(ask_post("/nothing", "{}"), " 200 "));
	check(strstr(ask("GET /nothing HTTP/1.1\r\n" CLOSE "\r\n"), " 200 "));
	check(strstr(ask_post("/any?n=x", "{\"x\":1}"), " 200 "));
	check(strstr(ask("PUT /put?n=1 HTTP/1.1\r\n" CLOSE
			 "Content-Length: 3\r\n\r\nabc"),
		     " 204 "));
}

static void client_bad(void)
{
	const char *r = ask_post("/both", "{\"other\":1}");

	check(strstr(r, " 400 ") && strstr(r, "\"invalid\""));
	check(strstr(r, "\"key\":\"other\"") &&
	      strstr(r, "'other' is an unknown key"));
	r = ask_post("/both", "{\"n\":10}");
	check(strstr(r, " 400 ") && strstr(r, "\"key\":\"n\""));
	check(strstr(r, "'n' must be between 0 and 9"));
	check(strstr(ask_post("/both", "{\"n\":\"1\"}"), " 400 "));
	r = ask_post("/both?n=10", "");
	check(strstr(r, " 400 ") && strstr(r, "\"key\":\"n\""));
	check(strstr(r, "must be a whole number up to 9"));
	check(strstr(ask_post("/both?n=", ""), " 400 "));
	check(strstr(ask_post("/both?n=-1", ""), " 400 "));
	check(strstr(ask_post("/nothing", "{\"n\":1}"), "unknown key"));
	check(strstr(ask("GET /nothing HTTP/1.1\r\n" CLOSE
			 "Content-Length: 7\r\n\r\n{\"n\":1}"),
		     " 400 "));
	check(strstr(ask("PUT /put?n=x HTTP/1.1\r\n" CLOSE
			 "Content-Length: 3\r\n\r\nabc"),
		     " 400 "));
}

int main(void)
{
	if (!server_start("http_takes_test", routes))
		return done_testing();
	is_int(run_client(client_good), 0, "what fits");
	is_int((int)handled, 8, "was handled");
	is_int(run_client(client_bad), 0, "what does not");
	is_int((int)handled, 8, "was not");
	http_free(http);
	loop_free(loop);
	return done_testing();
}
