/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target_test.c - what people write for a host, as a rule and as a URL
 */
#include "lib/target.h"

#include <errno.h>

#include "tests/unit/tap.h"

#define FAULT(f) "", TARGET_##f
#define A50 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

/* What is read, as text: "scheme pattern host ports path". */
static const char *shown(const struct target *t)
{
	static const char *const schemes[] = { "plain", "tls", "http", "tcp" };
	static const char *const kinds[] = { "name", "v4", "v6" };
	static char out[512];
	const char pattern[] = { t->pattern, 0 };
	char ports[16] = "-";

	if (t->first)
		snprintf(ports, sizeof(ports),
			 t->first < t->last ? "%u-%u" : "%u", t->first,
			 t->last);
	snprintf(out, sizeof(out), "%s %s %s%.*s %s %.*s", schemes[t->scheme],
		 kinds[t->kind], pattern, (int)t->host.len,
		 (const char *)t->host.ptr, ports, (int)t->path.len,
		 (const char *)t->path.ptr);
	return out;
}

static const struct {
	const char *text;
	const char *rule;
	enum target_fault rule_fault;
	const char *url;
	enum target_fault url_fault;
} rows[] = {
	{ "example.org", "plain name example.org - ", 0,
	  "plain name example.org - ", 0 },
	{ "EXAMPLE.org:8443", "plain name EXAMPLE.org 8443 ", 0,
	  "plain name EXAMPLE.org 8443 ", 0 },
	{ "a_b.example.org.", "plain name a_b.example.org. - ", 0,
	  "plain name a_b.example.org. - ", 0 },
	{ "-x.example.org", "plain name -x.example.org - ", 0,
	  "plain name -x.example.org - ", 0 },
	{ "10.example.org", "plain name 10.example.org - ", 0,
	  "plain name 10.example.org - ", 0 },
	{ "example.org:8000-8010", "plain name example.org 8000-8010 ", 0,
	  FAULT(BAD_PORT) },
	{ "example.org:443-443", "plain name example.org 443 ", 0,
	  FAULT(BAD_PORT) },
	{ ".example.org", "plain name .example.org - ", 0, FAULT(BAD_HOST) },
	{ "*.example.org", "plain name .example.org - ", 0, FAULT(BAD_STAR) },
	{ "+example.org:443", "plain name +example.org 443 ", 0,
	  FAULT(BAD_BYTE) },
	{ "b\u00fc"
	  "cher.example",
	  "plain name b\u00fc"
	  "cher.example - ",
	  0,
	  "plain name b\u00fc"
	  "cher.example - ",
	  0 },
	{ "198.51.100.7", "plain v4 198.51.100.7 - ", 0,
	  "plain v4 198.51.100.7 - ", 0 },
	{ "198.51.100.7:22", "plain v4 198.51.100.7 22 ", 0,
	  "plain v4 198.51.100.7 22 ", 0 },
	{ "198.51.100.0/24", "plain v4 198.51.100.0/24 - ", 0,
	  "plain v4 198.51.100.0 - /24", 0 },
	{ "198.51.100.0/24:443", "plain v4 198.51.100.0/24 443 ", 0,
	  "plain v4 198.51.100.0 - /24:443", 0 },
	{ "0.0.0.0/0", "plain v4 0.0.0.0/0 - ", 0, "plain v4 0.0.0.0 - /0", 0 },
	{ "2606:4700::1", "plain v6 2606:4700::1 - ", 0,
	  "plain v6 2606:4700::1 - ", 0 },
	{ "::", "plain v6 :: - ", 0, "plain v6 :: - ", 0 },
	{ "2606:4700::/32", "plain v6 2606:4700::/32 - ", 0,
	  "plain v6 2606:4700:: - /32", 0 },
	{ "[2606:4700::1]", "plain v6 2606:4700::1 - ", 0,
	  "plain v6 2606:4700::1 - ", 0 },
	{ "[2606:4700::1]:853", "plain v6 2606:4700::1 853 ", 0,
	  "plain v6 2606:4700::1 853 ", 0 },
	{ "[2606:4700::/32]:853", "plain v6 2606:4700::/32 853 ", 0,
	  FAULT(BAD_HOST) },
	{ "https://example.org", "tls name example.org - ", 0,
	  "tls name example.org - ", 0 },
	{ "HTTPS://example.org", "tls name example.org - ", 0,
	  "tls name example.org - ", 0 },
	{ "https://example.org/", "tls name example.org - ", 0,
	  "tls name example.org - /", 0 },
	{ "example.org:443/", "plain name example.org 443 ", 0,
	  "plain name example.org 443 /", 0 },
	{ "wss://example.org:8443", "tls name example.org 8443 ", 0,
	  "tls name example.org 8443 ", 0 },
	{ "http://example.org", "http name example.org - ", 0,
	  "http name example.org - ", 0 },
	{ "ws://example.org/", "http name example.org - ", 0,
	  "http name example.org - /", 0 },
	{ "tcp://example.org:22", "tcp name example.org 22 ", 0,
	  "tcp name example.org 22 ", 0 },
	{ "https://[2606:4700::1]:443/x", FAULT(BAD_PATH),
	  "tls v6 2606:4700::1 443 /x", 0 },
	{ "https://example.org/a?b=c#d", FAULT(BAD_PATH),
	  "tls name example.org - /a?b=c", 0 },
	{ "https://example.org?b", FAULT(BAD_BYTE), "tls name example.org - ",
	  0 },
	{ "example.org#x", FAULT(BAD_BYTE), "plain name example.org - ", 0 },
	{ "https://example.org/?to=https://x.org/", FAULT(BAD_PATH),
	  "tls name example.org - /?to=https://x.org/", 0 },
	{ "example.org/a@b", FAULT(BAD_PATH), "plain name example.org - /a@b",
	  0 },
	{ "", FAULT(NO_HOST), FAULT(NO_HOST) },
	{ ":443", FAULT(NO_HOST), FAULT(NO_HOST) },
	{ "https://", FAULT(NO_HOST), FAULT(NO_HOST) },
	{ ".", FAULT(NO_HOST), FAULT(BAD_HOST) },
	{ "+", FAULT(NO_HOST), FAULT(BAD_BYTE) },
	{ "*.", FAULT(NO_HOST), FAULT(BAD_STAR) },
	{ "/", FAULT(BAD_PATH), FAULT(NO_HOST) },
	{ "[]", FAULT(BAD_HOST), FAULT(BAD_HOST) },
	{ "[", FAULT(BAD_HOST), FAULT(BAD_HOST) },
	{ "[]:443", FAULT(BAD_HOST), FAULT(BAD_HOST) },
	{ "ftp://example.org", FAULT(BAD_SCHEME), FAULT(BAD_SCHEME) },
	{ "ssh://git@example.org", FAULT(BAD_SCHEME), FAULT(BAD_SCHEME) },
	{ "ht tp://", FAULT(BAD_SCHEME), FAULT(BAD_SCHEME) },
	{ "://example.org", FAULT(BAD_SCHEME), FAULT(BAD_SCHEME) },
	{ "https:/example.org", FAULT(BAD_PATH), FAULT(BAD_PORT) },
	{ "git@example.org", FAULT(BAD_USER), FAULT(BAD_USER) },
	{ "git@example.org:x/y", FAULT(BAD_USER), FAULT(BAD_USER) },
	{ "https://u:p@example.org/x", FAULT(BAD_USER), FAULT(BAD_USER) },
	{ "example.org/a", FAULT(BAD_PATH), "plain name example.org - /a", 0 },
	{ "example.org//", FAULT(BAD_PATH), "plain name example.org - //", 0 },
	{ "cafe/babe", FAULT(BAD_PATH), "plain name cafe - /babe", 0 },
	{ "example.org:443/a", FAULT(BAD_PATH), "plain name example.org 443 /a",
	  0 },
	{ "198.51.100.0/24/x", FAULT(BAD_PATH), "plain v4 198.51.100.0 - /24/x",
	  0 },
	{ "198.51.100.7/24", FAULT(BAD_RANGE), "plain v4 198.51.100.7 - /24",
	  0 },
	{ "198.51.100.0/33", FAULT(BAD_RANGE), "plain v4 198.51.100.0 - /33",
	  0 },
	{ "198.51.100.0/024", FAULT(BAD_RANGE), "plain v4 198.51.100.0 - /024",
	  0 },
	{ "2606:4700::1/32", FAULT(BAD_RANGE), "plain v6 2606:4700::1 - /32",
	  0 },
	{ "2606:4700::/129", FAULT(BAD_RANGE), "plain v6 2606:4700:: - /129",
	  0 },
	{ "example.org:", FAULT(BAD_PORT), FAULT(BAD_PORT) },
	{ "example.org:0", FAULT(BAD_PORT), FAULT(BAD_PORT) },
	{ "example.org:080", FAULT(BAD_PORT), FAULT(BAD_PORT) },
	{ "example.org:65536", FAULT(BAD_PORT), FAULT(BAD_PORT) },
	{ "example.org:http", FAULT(BAD_PORT), FAULT(BAD_PORT) },
	{ "example.org:-1", FAULT(BAD_PORT), FAULT(BAD_PORT) },
	{ "example.org:4294967739", FAULT(BAD_PORT), FAULT(BAD_PORT) },
	{ "example.org:+443", FAULT(BAD_PORT), FAULT(BAD_PORT) },
	{ "example.org: 443", FAULT(BAD_PORT), FAULT(BAD_PORT) },
	{ "example.org:443 ", FAULT(BAD_PORT), FAULT(BAD_PORT) },
	{ "example.org:443:443", FAULT(BAD_PORT), FAULT(BAD_PORT) },
	{ "example.org:0x1bb", FAULT(BAD_PORT), FAULT(BAD_PORT) },
	{ "example.org:20-10", FAULT(BAD_PORT), FAULT(BAD_PORT) },
	{ "example.org:1-", FAULT(BAD_PORT), FAULT(BAD_PORT) },
	{ "example.org:1-2-3", FAULT(BAD_PORT), FAULT(BAD_PORT) },
	{ "example.org:00000000000001", FAULT(BAD_PORT), FAULT(BAD_PORT) },
	{ "[2606:4700::1]:x", FAULT(BAD_PORT), FAULT(BAD_PORT) },
	{ "[2606:4700::1]:", FAULT(BAD_PORT), FAULT(BAD_PORT) },
	{ "[2606:4700::1]:0", FAULT(BAD_PORT), FAULT(BAD_PORT) },
	{ "2606:4700::1:x", FAULT(BAD_HOST), FAULT(BAD_HOST) },
	{ "tcp://example.org", FAULT(NO_PORT), FAULT(NO_PORT) },
	{ "TCP://[2606:4700::1]", FAULT(NO_PORT), FAULT(NO_PORT) },
	{ "exam ple.org", FAULT(BAD_BYTE), FAULT(BAD_BYTE) },
	{ "exam\tple.org", FAULT(BAD_BYTE), FAULT(BAD_BYTE) },
	{ "example.org\n", FAULT(BAD_BYTE), FAULT(BAD_BYTE) },
	{ "a\"b.org", FAULT(BAD_BYTE), FAULT(BAD_BYTE) },
	{ "a\\b.org", FAULT(BAD_BYTE), FAULT(BAD_BYTE) },
	{ "a]b.org", FAULT(BAD_BYTE), FAULT(BAD_BYTE) },
	{ "a[b.org", FAULT(BAD_BYTE), FAULT(BAD_BYTE) },
	{ "a,b.org", FAULT(BAD_BYTE), FAULT(BAD_BYTE) },
	{ "a%b.org", FAULT(BAD_BYTE), FAULT(BAD_BYTE) },
	{ "ex*mple.org", FAULT(BAD_STAR), FAULT(BAD_STAR) },
	{ "*", FAULT(BAD_STAR), FAULT(BAD_STAR) },
	{ "*x.org", FAULT(BAD_STAR), FAULT(BAD_STAR) },
	{ "*.*.org", FAULT(BAD_STAR), FAULT(BAD_STAR) },
	{ "a..b", FAULT(BAD_HOST), FAULT(BAD_HOST) },
	{ "..a.b", FAULT(BAD_HOST), FAULT(BAD_HOST) },
	{ "a.b..", FAULT(BAD_HOST), FAULT(BAD_HOST) },
	{ "0x7f.1", FAULT(BAD_HOST), FAULT(BAD_HOST) },
	{ "127.1", FAULT(BAD_HOST), FAULT(BAD_HOST) },
	{ "1.2.3.4.5", FAULT(BAD_HOST), FAULT(BAD_HOST) },
	{ "017700000001", FAULT(BAD_HOST), FAULT(BAD_HOST) },
	{ "a.0X7f", FAULT(BAD_HOST), FAULT(BAD_HOST) },
	{ "1.2.3.4.", FAULT(BAD_HOST), FAULT(BAD_HOST) },
	{ "01.2.3.4", FAULT(BAD_HOST), FAULT(BAD_HOST) },
	{ "256.1.1.1", FAULT(BAD_HOST), FAULT(BAD_HOST) },
	{ ".1.2.3.4", FAULT(BAD_HOST), FAULT(BAD_HOST) },
	{ "[example.org]:443", FAULT(BAD_HOST), FAULT(BAD_HOST) },
	{ "[2606:4700::1", FAULT(BAD_HOST), FAULT(BAD_HOST) },
	{ "[2606:4700::1]x", FAULT(BAD_HOST), FAULT(BAD_HOST) },
	{ "[1.2.3.4]", FAULT(BAD_HOST), FAULT(BAD_HOST) },
	{ "a:b:c", FAULT(BAD_HOST), FAULT(BAD_HOST) },
	{ "fe80::1%eth0", FAULT(BAD_PORT), FAULT(BAD_PORT) },
};

static void try_row(size_t i, enum target_form form, const char *want,
		    enum target_fault want_fault)
{
	const char *what = form == TARGET_RULE ? "a rule" : "a URL";
	struct target t = { .first = 7 };
	enum target_fault fault = TARGET_LONG;
	int rc = target_parse(slice_str(rows[i].text), form, &t, &fault);

	if (*want) {
		is_int(rc, 0, "%s: '%s'", what, rows[i].text);
		is_str(rc == 0 ? shown(&t) : "", want, "%s as it is read",
		       rows[i].text);
	} else {
		is_int(rc, -EBADMSG, "no %s: '%s'", what + 2, rows[i].text);
		is_int(fault, want_fault, "%s: why", rows[i].text);
		is_int(t.first, 7, "untouched");
	}
}

static void test_rows(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		try_row(i, TARGET_RULE, rows[i].rule, rows[i].rule_fault);
		try_row(i, TARGET_URL, rows[i].url, rows[i].url_fault);
	}
}

static void test_long(void)
{
	static const struct {
		const char *text;
		enum target_fault fault; /* TARGET_BAD_PATH: it is fine */
	} names[] = {
		{ A50 "aaaaaaaaaaaaa.org", TARGET_BAD_PATH },
		{ A50 "aaaaaaaaaaaaaa.org", TARGET_BAD_HOST },
		{ A50 "." A50 "." A50 "." A50 ".org:443", TARGET_BAD_PATH },
		{ A50 "." A50 "." A50 "." A50 "." A50 ".org", TARGET_BAD_HOST },
		{ "\u00fc" A50 A50 A50 A50 A50 A50 ".org", TARGET_LONG },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		enum target_fault fault = TARGET_BAD_PATH;
		struct target t;
		int rc = target_parse(slice_str(names[i].text), TARGET_RULE, &t,
				      &fault);

		is_int(fault, names[i].fault, "a name of %zu bytes: %d",
		       strlen(names[i].text), rc);
	}
}

static void test_port(void)
{
	static const struct {
		const char *text;
		uint16_t port;
	} ports[] = {
		{ "a.test", 443 },
		{ "https://a.test", 443 },
		{ "http://a.test", 80 },
		{ "wss://a.test", 443 },
		{ "ws://a.test", 80 },
		{ "tcp://a.test:22", 22 },
		{ "a.test:8000-8010", 8000 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ports); i++) {
		enum target_fault fault;
		struct target t = { 0 };

		is_int(target_parse(slice_str(ports[i].text), TARGET_RULE, &t,
				    &fault),
		       0, "%s", ports[i].text);
		is_int(target_port(&t), ports[i].port, "its port");
	}
}

int main(void)
{
	test_rows();
	test_long();
	test_port();
	return done_testing();
}
