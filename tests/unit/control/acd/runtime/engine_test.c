/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_test.c - the Engine API client against answers of every kind
 */
#include "control/acd/runtime/engine.h"

#include "tests/fake/engine.h"
#include "tests/unit/tap.h"

static struct loop *loop;
static char sock[64];

struct result {
	int calls, status, code;
	char msg[512], text[64];
	int waiting; /* results still to come before the loop stops */
};

static void on_result(void *arg, int status, json_t *body,
		      const struct err *err)
{
	struct result *r = arg;
	const char *id = json_string_value(json_object_get(body, "Id"));

	r->calls++;
	r->status = status;
	r->code = err ? err->code : 0;
	snprintf(r->msg, sizeof(r->msg), "%s", err ? err->msg : "");
	snprintf(r->text, sizeof(r->text), "%s", id ? id : "");
	if (--r->waiting <= 0)
		loop_stop(loop, 0);
}

/* What the engine answers; the last request as it saw it. */
static struct fake_answer script;
static char seen[4096];

static void on_request(void *arg, const struct fake_request *rq,
		       struct fake_answer *ret)
{
	(void)arg;
	snprintf(seen, sizeof(seen), "%s %s %s", rq->method, rq->path,
		 rq->body);
	*ret = script;
}

static const struct {
	const char *name;
	struct fake_answer answer;
	int status, code;
	const char *msg; /* contained in the message */
} cases[] = {
	{ "object", { 0, 200, "{\"Id\":\"x\"}", 0 }, 200, 0, "" },
	{ "no content", { 0, 204, NULL, 0 }, 204, 0, "" },
	{ "not modified", { 0, 304, NULL, 0 }, 304, 0, "" },
	{ "not found",
	  { 0, 404, "{\"message\":\"no such thing\"}", 0 },
	  404,
	  -ENOENT,
	  "no such thing" },
	{ "conflict",
	  { 0, 409, "{\"message\":\"in use\"}", 0 },
	  409,
	  -EEXIST,
	  "in use" },
	{ "server error as text",
	  { 0, 500, "broken\n", 0 },
	  500,
	  -EIO,
	  "broken" },
	{ "error without text",
	  { 0, 503, NULL, 0 },
	  503,
	  -EIO,
	  "POST /things: status 503" },
	{ "terminal escapes",
	  { 0, 400, "{\"message\":\"a\\u001b[1m\"}", 0 },
	  400,
	  -EINVAL,
	  "a\\x1b[1m" },
	{ "not JSON", { 0, 200, "hello", 0 }, 200, -EPROTO, "not JSON" },
	{ "cut short",
	  { FAKE_CUT, 200, "{\"Id\":\"xxxxxxxx\"}", 0 },
	  0,
	  -EPROTO,
	  "POST /things" },
	{ "no HTTP",
	  { FAKE_RAW, 0, "SSH-2.0-x\r\n", 0 },
	  0,
	  -EPROTO,
	  "POST /things" },
	{ "no answer",
	  { FAKE_HANG, 0, NULL, 0 },
	  0,
	  -ETIMEDOUT,
	  "POST /things" },
};

static void test_answers(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fake_engine *f =
			fake_engine_new(loop, sock, on_request, NULL);
		struct engine *e = engine_new(loop, sock, NULL);
		struct result r = { .waiting = 1 };

		script = cases[i].answer;
		engine_call_json(e, "POST", "/things?x=1",
				 json_pack("{s:i}", "a", 1), 300, on_result,
				 &r);
		is_int(r.calls, 0, "%s: not before the call returned",
		       cases[i].name);
		loop_run(loop);
		is_int(r.status, cases[i].status, "%s: status", cases[i].name);
		is_int(r.code, cases[i].code, "%s: code", cases[i].name);
		ok(strstr(r.msg, cases[i].msg) != NULL, "%s: message '%s'",
		   cases[i].name, r.msg);
		is_str(seen, "POST /v1.44/things?x=1 {\"a\":1}", "%s: request",
		       cases[i].name);
		engine_free(e);
		fake_engine_free(f);
	}
}

static void test_parallel(void)
{
	struct fake_engine *f = fake_engine_new(loop, sock, on_request, NULL);
	struct engine *e = engine_new(loop, sock, NULL);
	struct result r = { .waiting = 64 };
	unsigned made;
	int rc = 0;

	script = (struct fake_answer){ .body = "{\"Id\":\"x\"}" };
	for (int i = 0; i < 64; i++)
		rc |= engine_call(e, "GET", "/x", 5000, on_result, &r);
	is_int(rc, 0, "64 calls at once");
	loop_run(loop);
	is_int(r.calls, 64, "each ends once");
	made = fake_engine_connections(f);
	for (int i = 0; i < 20; i++) {
		r.waiting = 1;
		engine_call(e, "GET", "/x", 5000, on_result, &r);
		loop_run(loop);
	}
	is_int(r.calls, 84, "one after the other");
	is_int(fake_engine_connections(f), made, "on kept connections");
	engine_free(e);
	fake_engine_free(f);
}

static void test_restart(void)
{
	struct fake_engine *f = fake_engine_new(loop, sock, on_request, NULL);
	struct engine *e = engine_new(loop, sock, NULL);
	struct result r = { .waiting = 1 };

	script = (struct fake_answer){ .body = "{\"Id\":\"x\"}" };
	engine_call(e, "GET", "/x", 5000, on_result, &r);
	loop_run(loop);
	fake_engine_free(f);
	unlink(sock);
	r.waiting = 1;
	engine_call(e, "GET", "/x", 5000, on_result, &r);
	loop_run(loop);
	is_int(r.code, -ECONNREFUSED, "engine gone: %s", r.msg);
	f = fake_engine_new(loop, sock, on_request, NULL);
	r.waiting = 1;
	engine_call(e, "GET", "/x", 5000, on_result, &r);
	loop_run(loop);
	is_int(r.code, 0, "engine back");
	engine_free(e);
	fake_engine_free(f);
}

static void test_limits(void)
{
	static char big[4097];
	struct fake_engine *f = fake_engine_new(loop, sock, on_request, NULL);
	struct engine *e = engine_new(loop, sock, NULL);
	struct result r = { .waiting = 1 };
	int rc = 0, n = 0;

	memset(big, 'x', sizeof(big) - 1);
	script = (struct fake_answer){ .body = big,
				       .repeat = ENGINE_ANSWER_MAX / 4096 };
	engine_call(e, "GET", "/x", 20000, on_result, &r);
	loop_run(loop);
	is_int(r.code, -EMSGSIZE, "answer over the limit: %s", r.msg);
	is_int(engine_call_json(e, "POST", "/x", NULL, 100, on_result, &r),
	       -ENOMEM, "no body where one is wanted");
	while (rc == 0 && n <= (int)ENGINE_CALLS_MAX) {
		rc = engine_call(e, "GET", "/x", 60000, on_result, &r);
		n += rc == 0;
	}
	is_int(rc, -EBUSY, "too many calls");
	is_int(n, ENGINE_CALLS_MAX, "as many as promised");
	r.calls = 0;
	engine_free(e);
	is_int(r.calls, ENGINE_CALLS_MAX, "free ends what is under way");
	is_int(r.code, -ECANCELED, "as canceled: %s", r.msg);
	fake_engine_free(f);
}

static void test_escape(void)
{
	char out[16];

	is_int(engine_escape(out, sizeof(out), "a/b?c%d"), 0, "escape");
	is_str(out, "a%2Fb%3Fc%25d", "what could end a path segment");
	is_int(engine_escape(out, sizeof(out), "aaaaaaaaaaaaaaa"), 0,
	       "just fits");
	is_int(engine_escape(out, sizeof(out), "aaaaaaaaaaaaaaaa"), -ENOBUFS,
	       "one too long");
	is_int(engine_escape(out, sizeof(out), "\x80\xff/ &?"), -ENOBUFS,
	       "too long when encoded");
}

int main(void)
{
	char dir[] = "/tmp/engine_test.XXXXXX";

	if (!mkdtemp(dir))
		return 1;
	snprintf(sock, sizeof(sock), "%s/engine.sock", dir);
	loop = loop_new();
	test_answers();
	test_parallel();
	test_restart();
	test_limits();
	test_escape();
	loop_free(loop);
	unlink(sock);
	rmdir(dir);
	return done_testing();
}
