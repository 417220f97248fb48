/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plain_test.c - requests to a service in plain HTTP, inspected: through a real
 * worker, with a client and a server of the test's own
 */
#include "tests/unit/ottergate/otter_world.h"

#include <time.h>

#include "tests/unit/ottergate/known_secrets.h"

#define REAL "sk-real0token0that0nobody0may0ever0see1"
#define HOST "llm.test:8080"
#define HEAD(path) "GET http://" HOST path " HTTP/1.1\r\nHost: " HOST "\r\n"
#define REPLY "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

static const char policy[] =
	"version: 1\n"
	"credentials: { key: {} }\n"
	"services:\n"
	"  - { id: llm, name: llm.test, ip: 10.1.2.3, port: 8080,\n"
	"      proto: http }\n"
	"agents:\n"
	"  - id: coder\n"
	"    match: { address: 172.20.0.2 }\n"
	"    allow:\n"
	"      - id: cred\n"
	"        names: [llm.test]\n"
	"        ports: [8080]\n"
	"        use: inspect\n"
	"        proto: http\n"
	"        insecure: true\n"
	"        http: { allow: [ { methods: [GET, POST],\n"
	"                           paths: [\"/v1/**\"] } ] }\n"
	"        auth: { use: key, exclusive: true, as: \"header-X-Key\" }\n"
	"      - { id: web, names: [a.test], ports: [80] }\n";

static char token[SURROGATE_MAX];

static void tell(int fd, const char *text)
{
	if (send(fd, text, strlen(text), MSG_NOSIGNAL) != (ssize_t)strlen(text))
		ok(false, "send %.40s", text);
}

/* A whole head. */
static void head_of(int fd, char got[static 4096])
{
	size_t n = 0;

	while (n < 4095 && (n < 4 || memcmp(got + n - 4, "\r\n\r\n", 4) != 0) &&
	       world_read(fd, got + n, 1) == 1)
		n++;
	got[n] = '\0';
}

static void has(const char *got, const char *part, const char *what)
{
	if (!ok(strstr(got, part) != NULL, "%s", what))
		printf("# got %s\n", got);
}

static void test_exchange(void)
{
	SCOPED_FD c = world_client();
	SCOPED_FD u = -1;
	char text[1024], got[4096];

	snprintf(text, sizeof(text), HEAD("/v1/models") "X-Key: %s\r\n\r\n",
		 token);
	tell(c, text);
	u = world_accept();
	head_of(u, got);
	has(got, "GET /v1/models HTTP/1.1\r\nHost: " HOST "\r\n",
	    "the request goes up");
	has(got, "x-key: " REAL "\r\n", "with the real value");
	ok(!strstr(got, token), "and without the surrogate");
	tell(u, REPLY);
	head_of(c, got);
	has(got, "HTTP/1.1 200 ", "and is answered");
	ok(world_read(c, got, 2) == 2 && memcmp(got, "hi", 2) == 0,
	   "with its body");
	ok(world_audited(AUDIT_INJECT, REASON_ALLOWED), "the use is audited");

	/* The same connection, in two pieces, with a body. */
	tell(c, "POST http://" HOST "/v1/x HTTP/1.1\r\nHost: " HOST
		"\r\nContent-Length: 4\r\n\r\nab");
	head_of(u, got);
	has(got, "POST /v1/x ", "a second one");
	tell(c, "cd");
	ok(world_read(u, got, 4) == 4 && memcmp(got, "abcd", 4) == 0,
	   "with its body");
	/* Without a length: up to the end. */
	tell(u, "HTTP/1.1 200 OK\r\n\r\nall of it");
	fd_closep(&u);
	head_of(c, got);
	has(got, "HTTP/1.1 200 ", "an answer that ends with its connection");
	ok(world_read(c, got, sizeof(got) - 1) >= 9, "comes whole");
}

static void refused(const char *request, const char *want, enum reason why,
		    const char *what)
{
	SCOPED_FD c = world_client();
	char got[4096];

	tell(c, request);
	head_of(c, got);
	has(got, want, what);
	ok(world_audited(why == REASON_CANARY ? AUDIT_ALARM : AUDIT_DENY, why),
	   "%s: audited", what);
}

/* On a connection that has been taken for this service. */
static void test_other_host(void)
{
	SCOPED_FD c = world_client();
	SCOPED_FD u = -1;
	char got[4096];

	tell(c, HEAD("/v1/x") "\r\n");
	u = world_accept();
	head_of(u, got);
	tell(u, REPLY);
	head_of(c, got);
	world_read(c, got, 2);
	tell(c, "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n");
	head_of(c, got);
	has(got, "HTTP/1.1 421 ", "H7 another host on its connection");
}

static void test_refusals(void)
{
	char text[1024];
	SCOPED_FD c = -1;
	char got[4096];

	refused(HEAD("/admin") "\r\n", "HTTP/1.1 403 ", REASON_METHOD,
		"another path");
	snprintf(text, sizeof(text), HEAD("/v1/x") "X-Other: %s\r\n\r\n",
		 token);
	refused(text, "HTTP/1.1 403 ", REASON_CANARY,
		"a surrogate where none belongs");
	snprintf(text, sizeof(text),
		 "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n"
		 "X-Key: %s\r\n\r\n",
		 token);
	refused(text, "HTTP/1.1 403 ", REASON_CANARY, "to another host");
	refused(HEAD("/v1/x") "X-Key: sk-own\r\n\r\n", "HTTP/1.1 403 ",
		REASON_CREDENTIAL, "a credential of the sandbox's own");

	atomic_store(&world.dial_why, REASON_CONNECT_REFUSED);
	c = world_client();
	tell(c, HEAD("/v1/x") "\r\n");
	head_of(c, got);
	has(got, "HTTP/1.1 502 ", "a service that is away");
	atomic_store(&world.dial_why, REASON_ALLOWED);
}

int main(void)
{
	static const uint8_t nonce[SURROGATE_NONCE] = { 9, 8, 7 };
	struct surrogate_key k = { { 0 } };
	struct err err = { 0 };
	char json[512];

	if (sodium_init() < 0)
		return 1;
	secret_json(json, sizeof(json), "key", "generic", REAL, "\"llm.test\"",
		    "");
	if (secrets_of(json, &world.secrets, &err) < 0)
		ok(false, "%s", err.msg);
	if (surrogate_mint(&k, "key", SECRET_GENERIC, SURROGATE_RUN,
			   (uint64_t)time(NULL), nonce, token) < 0)
		ok(false, "a surrogate");
	world.kind = LISTEN_PROXY;
	world_up(policy, 1);
	test_exchange();
	test_other_host();
	test_refusals(); /* leaves dials that are not accepted */
	ok(world_empty(), "no connection is left");
	world_down();
	secret_set_unref(world.secrets);
	return done_testing();
}
