/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock_test.c - the wall clock is set while a gateway runs
 *
 * This program's clock_gettime() and time() are what the gateway, OpenSSL and
 * the test's own client and server ask: CLOCK_REALTIME is set an hour back or
 * ahead, CLOCK_MONOTONIC is not. What is measured as a span (limits, grants)
 * must not see it; what is a date (certificates, `expires:` with one) must
 * neither end at once nor last for ever.
 */
#include "tests/unit/ottergate/inspect/inspect_world.h"

#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>

#define HOUR 3600

static _Atomic int64_t jump; /* seconds that the wall clock was set by */
static _Atomic int64_t gone; /* seconds that have passed besides */

#define SHOWN __attribute__((visibility("default"))) /* to OpenSSL, too */

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): libc's names
 * are reserved ones. */

SHOWN int clock_gettime(clockid_t id, struct timespec *ret)
{
	const int code = (int)syscall(SYS_clock_gettime, id, ret);

	if (code == 0 && id == CLOCK_REALTIME)
		ret->tv_sec += jump + gone;
	if (code == 0 && id == CLOCK_MONOTONIC)
		ret->tv_sec += gone;
	return code;
}

SHOWN time_t time(time_t *ret)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	if (ret)
		*ret = ts.tv_sec;
	return ts.tv_sec;
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

static void visit(const char *host, const char *what)
{
	SSL *c = client(host), *u = upstream();
	char text[512];

	(void)snprintf(text, sizeof(text), "GET /x HTTP/1.1\r\nHost: %s\r\n",
		       host);
	say(c, text);
	if (strcmp(host, "api.test") == 0) {
		(void)snprintf(text, sizeof(text),
			       "Authorization: Bearer %s\r\n", peers.token);
		say(c, text);
	}
	say(c, "\r\n");
	hears_with(u, strcmp(host, "api.test") == 0 ? REAL_TOKEN : "GET /x ",
		   what);
	say(u, REPLY);
	hears(c, DOWN, "... and is answered");
	hang_up(c);
	hang_up(u);
}

/* Certificates of before, and such as are made then. */
static void test_certificates(void)
{
	static const struct {
		int64_t to;
		const char *host, *what;
	} rows[] = {
		{ 0, "big.test", "a request comes" },
		{ -HOUR, "big.test", "an hour back: with a certificate kept" },
		{ -HOUR, "api.test", "... with a new one, and a credential" },
		{ +HOUR, "api.test", "an hour ahead: with one of the past" },
		{ +HOUR, "big.test", "... and an older one" },
		{ -HOUR, "big.test", "two hours back" },
		{ 0, "api.test", "set right" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		jump = rows[i].to;
		visit(rows[i].host, rows[i].what);
	}
}

static void over(SSL *c, const char *what)
{
	say(c, GET("/", "few.test"));
	hears_with(c, "HTTP/1.1 429 ", what);
}

/* Two a minute, whatever the wall clock says. */
static void test_rate(void)
{
	SSL *c = client("few.test"), *u = upstream();

	for (unsigned i = 0; i < 2; i++) {
		say(c, GET("/", "few.test"));
		hears_with(u, "GET / ", "a request within the rate");
		say(u, REPLY);
		hears(c, DOWN, "is answered");
	}
	over(c, "one above it is refused");
	jump = HOUR;
	over(c, "set ahead, it is refused yet");
	jump = -HOUR;
	over(c, "set back, too");
	jump = 0;
	gone += 60;
	say(c, GET("/", "few.test"));
	hears_with(u, "GET / ", "after a minute it is not");
	hang_up(c);
	hang_up(u);
}

/* ---- `expires:` ---- */

#define WITH(expires)                                 \
	"version: 1\n"                                \
	"agents:\n"                                   \
	"  - id: coder\n"                             \
	"    match: { address: 172.20.0.2 }\n"        \
	"    expires: " expires "\n"                  \
	"    allow: [{ id: big, names: [big.test],\n" \
	"              use: inspect }]\n"

static void refused(const char *what)
{
	SSL *c = client_new(peers.client, "big.test", NULL);

	ok(SSL_connect(c) != 1 && world_audited(AUDIT_DENY, REASON_EXPIRED),
	   "%s", what);
	ERR_clear_error();
	hang_up(c);
}

static void test_span(void)
{
	world_swap(WITH("90m"));
	visit("big.test", "a grant for 90 minutes");
	gone += HOUR;
	jump = -HOUR;
	visit("big.test", "after an hour it is there");
	gone += HOUR;
	refused("after two it is over, though the clock was set back");
	jump = 0;
	world_swap(WITH("90m"));
	visit("big.test", "a new one");
	jump = 2 * HOUR;
	refused("it ends early where the clock is set ahead, as in a rest");
	jump = 0;
}

static void test_date(void)
{
	time_t at = time(NULL) + HOUR / 2;
	char text[512];
	struct tm tm;

	gmtime_r(&at, &tm);
	strftime(text, sizeof(text), WITH("%Y-%m-%dT%H:%M:%SZ"), &tm);
	world_swap(text);
	visit("big.test", "a grant up to a date");
	jump = HOUR;
	refused("set ahead, that is over");
	jump = -HOUR;
	visit("big.test", "set back, it is to come");
	jump = 0;
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	if (!inspect_up("http/1.1"))
		return done_testing();
	test_certificates();
	test_rate();
	test_span();
	test_date();
	ok(world_empty(), "no connection is left");
	inspect_down();
	return done_testing();
}
