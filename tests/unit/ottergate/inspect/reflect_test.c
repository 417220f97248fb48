/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reflect_test.c - credentials in WebSockets, and Basic that comes back
 *
 * What is promised of a WebSocket (docs/THREATS.md): the credential goes into
 * the request that opens it and nowhere else, so a surrogate in a frame stays
 * one; down the value is masked wherever it lies whole in a frame, however the
 * bytes come; in pieces over several frames it cannot be seen.
 */
#include "tests/unit/ottergate/inspect/inspect_world.h"

#include <assert.h>

#define VALUE_LEN (sizeof(REAL_TOKEN) - 1)
#define USER "x-access-token:"
#define TEXT_FRAME "\x81" /* its length is the next byte */
#define SWITCHED                                   \
	"HTTP/1.1 101 x\r\nUpgrade: websocket\r\n" \
	"Connection: Upgrade\r\n\r\n"

static const char stars[] = "****************************************";

static_assert(sizeof(stars) == sizeof(REAL_TOKEN), "as long as the value");

/* "Basic" with @password, as a client sends it, and as a server shows it. */
static void basic_of(const char *password, char *out, size_t size)
{
	char plain[256];

	(void)snprintf(plain, sizeof(plain), USER "%s", password);
	base64(out, size, plain, strlen(plain));
}

/* The same with all digits masked that are of the value alone: it is 320 bits
 * behind 20 digits of the user, and the last digit of it has two more. */
static void basic_masked(char *out, size_t size)
{
	basic_of(REAL_TOKEN, out, size);
	memset(out + 4 * (sizeof(USER) - 1) / 3, '*', VALUE_LEN * 8 / 6);
}

struct pair {
	SSL *c, *u;
};

static struct pair ws_open(void)
{
	struct pair p = { client("api.test"), upstream() };
	char head[512];

	(void)snprintf(head, sizeof(head),
		       "GET /ws HTTP/1.1\r\nHost: api.test\r\n"
		       "Upgrade: websocket\r\nConnection: Upgrade\r\n"
		       "Sec-WebSocket-Key: k\r\n"
		       "Sec-WebSocket-Extensions: permessage-deflate\r\n"
		       "Authorization: Bearer %s\r\n\r\n",
		       peers.token);
	say(p.c, head);
	hears(p.u,
	      "GET /ws HTTP/1.1\r\nHost: api.test\r\nsec-websocket-key: k\r\n"
	      "authorization: Bearer " REAL_TOKEN
	      "\r\naccept-encoding: identity\r\nUpgrade: websocket\r\n"
	      "Connection: Upgrade\r\n\r\n",
	      "the request that opens it has the token, and no compression");
	say(p.u, SWITCHED);
	hears_with(p.c, "101 Switching Protocols", "it is open");
	return p;
}

static void ws_close(struct pair p)
{
	hang_up(p.c);
	hang_up(p.u);
}

static void test_down(void)
{
	struct pair p = ws_open();
	char b64[256], text[300], want[300];

	say(p.u, TEXT_FRAME "\x05hello");
	hears(p.c, TEXT_FRAME "\x05hello", "a frame");
	say(p.u, TEXT_FRAME "\x28" REAL_TOKEN);
	(void)snprintf(want, sizeof(want), TEXT_FRAME "\x28%s", stars);
	hears(p.c, want, "the value in a frame is masked");
	say(p.u, TEXT_FRAME "\x2a<ghp_real0token0that");
	say(p.u, "0nobody0may0ever0see1>");
	(void)snprintf(want, sizeof(want), TEXT_FRAME "\x2a<%s>", stars);
	hears(p.c, want, "... in a frame that comes in two parts, too");
	basic_of(REAL_TOKEN, b64, sizeof(b64));
	(void)snprintf(text, sizeof(text), TEXT_FRAME "%c%s", (int)strlen(b64),
		       b64);
	say(p.u, text);
	basic_masked(b64, sizeof(b64));
	(void)snprintf(want, sizeof(want), TEXT_FRAME "%c%s", (int)strlen(b64),
		       b64);
	hears(p.c, want, "... and as Basic has it");
	say(p.u, "\x01\x14ghp_real0token0that0\x80\x14nobody0may0ever0see1");
	hears(p.c, "\x01\x14ghp_real0token0that0\x80\x14nobody0may0ever0see1",
	      "in pieces over two frames it is not seen");
	ws_close(p);
}

/* A client masks its frames with a key of its own (RFC 6455, 5.3). */
static void test_up(void)
{
	static const char key[] = "\xff\xd5\xaa\x91";
	char frame[256];
	struct pair p = ws_open();
	const size_t len = strlen(peers.token);

	(void)snprintf(frame, sizeof(frame), TEXT_FRAME "%c%s%s",
		       (int)(0x80 | len), key, peers.token);
	for (size_t i = 0; i < len; i++)
		frame[6 + i] ^= key[i % 4];
	say(p.c, frame);
	hears(p.u, frame, "a surrogate in a frame goes up as it is");
	say(p.u, frame);
	hears(p.c, frame, "and comes back as it is");
	(void)snprintf(frame, sizeof(frame), TEXT_FRAME "%c<%s>", (int)len + 2,
		       peers.token);
	say(p.c, frame);
	hears(p.u, frame, "so does one in a frame that is not masked");
	say(p.u, frame);
	hears(p.c, frame, "which a server may send back");
	ws_close(p);
}

static void test_alarm(void)
{
	struct pair p = ws_open();

	say(p.u, TEXT_FRAME "\x2d\\u0067hp_real0token0that0nobody0may0ever0"
			    "see1\n");
	ends(p.c, false, "the value behind an escape: it is cut");
	ok(world_audited(AUDIT_ALARM, REASON_REFLECTION), "an alarm");
	ws_close(p);
	secret_clear();
}

/* Asks with Basic; what the server sees of it comes back in head and body. */
static void test_basic(void)
{
	SSL *c = client("api.test"), *u = upstream();
	char b64[256], text[1024];

	basic_of(peers.token, b64, sizeof(b64));
	(void)snprintf(text, sizeof(text),
		       "GET /x HTTP/1.1\r\nHost: api.test\r\n"
		       "Authorization: Basic %s\r\n\r\n",
		       b64);
	say(c, text);
	basic_of(REAL_TOKEN, b64, sizeof(b64));
	hears_with(u, b64, "Basic has the real token");
	(void)snprintf(text, sizeof(text),
		       "HTTP/1.1 200 OK\r\nX-Got: Basic %s\r\n"
		       "Content-Length: %zu\r\n\r\nBasic %s\n",
		       b64, strlen(b64) + 7, b64);
	say(u, text);
	basic_masked(b64, sizeof(b64));
	ok(strstr(b64, stars) && strlen(b64) == 76, "53 digits are masked");
	hears_with(c, b64, "it is masked in the head of the answer");
	(void)snprintf(text, sizeof(text), "Basic %s\n", b64);
	hears(c, text, "and in its body");
	hang_up(c);
	hang_up(u);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	if (!inspect_up("http/1.1"))
		return done_testing();
	test_down();
	test_up();
	test_alarm();
	test_basic();
	inspect_down();
	return done_testing();
}
