/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire_test.c - the shim's question and answer, its cache, and which
 * addresses it looks at
 */
#include "net-preload/wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>

#include "net-preload/cache.h"
#include "net-preload/dest.h"
#include "tests/fake/preload.h"
#include "tests/unit/tap.h"

static const struct wire_ask ask = { .address = 0xc6120a64,
				     .port = 8443,
				     .protocol = DEST_TCP,
				     .id = 0x1234,
				     .pid = 70000,
				     .exe = "/usr/bin/curl",
				     .exe_len = 13 };

static void test_question(void)
{
	/* One field a line, as in net-preload/PROTOCOL. */
	static const char want[] = "\x12\x34\x01\x00\0\1\0\0\0\0\0\1"
				   "\3"
				   "100\2"
				   "10\2"
				   "18\3"
				   "198\7in-addr\4arpa\0"
				   "\0\x0c\0\1"
				   "\0\0\x29\x04\xd0\0\0\0\0\0\x1a"
				   "\xff\x21\0\x16"
				   "\1\6"
				   "\x20\xfb"
				   "\0\1\x11\x70"
				   "\x0d/usr/bin/curl";
	uint8_t out[WIRE_ASK_MAX];
	size_t len = wire_ask(&ask, out);

	is_int(len, sizeof(want) - 1, "a question's length");
	ok(memcmp(out, want, len) == 0, "and its bytes");
}

static void test_when(void)
{
	uint8_t out[WIRE_ASK_MAX], first[WIRE_ASK_MAX];
	size_t n = wire_ask(&ask, first);
	struct wire_ask a = ask;

	for (a.when = WIRE_AGAIN; a.when <= WIRE_AFTER; a.when++) {
		is_int(wire_ask(&a, out), n + 1, "later, a byte more");
		is_int(out[n], a.when, "which says when");
		is_int(out[n - 13 - 9 - 5], first[n - 13 - 9 - 5] + 1,
		       "the record is longer");
		is_int(out[n - 13 - 9 - 1], first[n - 13 - 9 - 1] + 1,
		       "and the option");
		out[n - 13 - 9 - 5]--;
		out[n - 13 - 9 - 1]--;
		ok(memcmp(out, first, n) == 0, "all else is the same");
	}
}

static void test_longest(void)
{
	struct wire_ask a = ask;
	uint8_t out[WIRE_ASK_MAX];
	char path[4096];
	size_t len;

	for (size_t i = 0; i < sizeof(path); i++)
		path[i] = (char)('a' + i % 26);
	a.address = 0xffffffff;
	a.exe = path;
	a.exe_len = sizeof(path);
	len = wire_ask(&a, out);
	is_int(len, 12 + 34 + 11 + 4 + 9 + WIRE_EXE_MAX, "the longest one");
	ok(memcmp(out + len - WIRE_EXE_MAX, path + sizeof(path) - WIRE_EXE_MAX,
		  WIRE_EXE_MAX) == 0,
	   "with the end of the path");
	a.exe_len = 0;
	a.exe = NULL;
	is_int(wire_ask(&a, out), 12 + 34 + 11 + 4 + 9, "one without");
}

static void test_answers(void)
{
	static const struct {
		enum gate_way way;
		int code;
		enum wire_verdict verdict;
		const char *what;
	} rows[] = {
		{ GATE_ALLOW, 0, WIRE_ALLOW, "allow" },
		{ GATE_DENY, 0, WIRE_DENY, "deny" },
		{ GATE_PASS, 0, WIRE_PASS, "pass" },
		{ GATE_CASE, 0, WIRE_DENY, "a name in capitals is the same" },
		{ GATE_SOA, 0, WIRE_DENY, "other records are stepped over" },
		{ GATE_WORDY, 0, WIRE_DENY, "512 bytes of text" },
		{ GATE_MUTE, 0, WIRE_DENY, "no text, no name" },
		{ GATE_SHORT, -EBADMSG, 0, "an option cut off" },
		{ GATE_LONG, -EBADMSG, 0, "something behind the records" },
		{ GATE_BARE, -EBADMSG, 0, "no option" },
		{ GATE_REFUSED, -EBADMSG, 0, "REFUSED" },
		{ GATE_ESCAPE, -EBADMSG, 0, "a text with an escape" },
		{ GATE_TWICE, -EBADMSG, 0, "two options" },
		{ GATE_RASH, 0, WIRE_ALLOW, "allow, with a text" },
		{ GATE_FOREIGN, -EAGAIN, 0, "another id" },
		{ GATE_QUESTION, -EAGAIN, 0, "another question" },
	};
	uint8_t question[WIRE_ASK_MAX], out[2048];
	size_t len = wire_ask(&ask, question);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t n = gate_answer(rows[i].way, question, len, out);
		struct wire_answer a = { .keep = 99 };
		int rc = wire_answer(&ask, out, n, &a);

		is_int(rc, rows[i].code, "%s", rows[i].what);
		if (rc == 0)
			is_int(a.verdict, rows[i].verdict, "its verdict");
		else
			is_int(a.keep, 99, "nothing is filled in");
	}
}

static void test_fields(void)
{
	uint8_t question[WIRE_ASK_MAX], out[2048];
	size_t len = wire_ask(&ask, question);
	struct wire_answer a;
	size_t n = gate_answer(GATE_DENY, question, len, out);

	is_int(wire_answer(&ask, out, n, &a), 0, "a denial");
	is_int(a.keep, GATE_KEEP, "is kept so long");
	ok(a.name_len == 14 && memcmp(a.name, "denied.example", 14) == 0,
	   "its name");
	ok(a.text_len > 12 && memcmp(a.text, "ac: blocked ", 12) == 0 &&
		   a.text + a.text_len == out + n,
	   "its text");
	n = gate_answer(GATE_WORDY, question, len, out);
	is_int(wire_answer(&ask, out, n, &a), 0, "a long one");
	is_int(a.text_len, WIRE_TEXT_MAX, "all of it");
	is_int(wire_answer(&ask, question, len, &a), -EAGAIN,
	       "our own question is no answer");
}

/* Each prefix, and each answer with one bit turned, is read without a fault;
 * what still holds keeps the bounds. */
static void test_bent(void)
{
	uint8_t question[WIRE_ASK_MAX], out[2048];
	size_t len = wire_ask(&ask, question);
	size_t n = gate_answer(GATE_SOA, question, len, out);
	struct wire_answer a;
	bool good = true;

	for (size_t i = 0; i < n; i++) {
		uint8_t *exact = malloc(i + 1);

		memcpy(exact, out, i);
		good = good && wire_answer(&ask, exact, i, &a) < 0;
		free(exact);
	}
	ok(good, "no part of an answer is one");
	for (size_t i = 0; i < 8 * n; i++) {
		out[i / 8] ^= (uint8_t)(1u << i % 8);
		if (wire_answer(&ask, out, n, &a) == 0)
			good = good && a.keep <= WIRE_KEEP_MAX &&
			       a.name_len <= WIRE_NAME_MAX &&
			       a.text_len <= WIRE_TEXT_MAX;
		out[i / 8] ^= (uint8_t)(1u << i % 8);
	}
	ok(good, "bounds hold whichever bit is wrong");
}

/* keep, name_len, text_len at and beyond their bounds. */
static void test_bounds(void)
{
	static const struct {
		uint8_t option[24];
		size_t len;
		int code;
		const char *what;
	} rows[] = {
		{ { 1, 1, 0, 60, 0, 0, 0 }, 7, 0, "keep 60" },
		{ { 1, 1, 0, 61, 0, 0, 0 }, 7, -EBADMSG, "keep 61" },
		{ { 2, 1, 0, 5, 0, 0, 0 }, 7, -EBADMSG, "version 2" },
		{ { 1, 3, 0, 5, 0, 0, 0 }, 7, -EBADMSG, "verdict 3" },
		{ { 1, 1, 0, 5, 0 }, 5, 0, "an allow may have no text_len" },
		{ { 1, 2, 0, 5, 0 }, 5, -EBADMSG, "a deny may not" },
		{ { 1, 1, 0, 5, 0, 0, 2, 'a', '\n' },
		  9,
		  0,
		  "an allow with a text" },
		{ { 1, 0, 0, 5, 0, 0, 2, 'a', '\n' }, 9, 0, "a pass with one" },
		{ { 1, 1, 0, 5, 0, 0, 2, 'a', 'b' },
		  9,
		  -EBADMSG,
		  "which is a line, too" },
		{ { 1, 1, 0, 5, 0, 0, 2, 0x1b, '\n' },
		  9,
		  -EBADMSG,
		  "of printable bytes" },
		{ { 1, 1, 0, 5, 0, 0, 3, '\n', '\n', '\n' },
		  10,
		  -EBADMSG,
		  "and no three of them" },
		{ { 1, 1, 0, 5, 0, 2, 1, '\n' }, 8, -EBADMSG, "513 bytes" },
		{ { 1, 2, 0, 5, 0, 0, 2, 'a', '\n' }, 9, 0, "a deny with one" },
		{ { 1, 2, 0, 5, 0, 0, 2, 'a', 'b' },
		  9,
		  -EBADMSG,
		  "a line without its end" },
		{ { 1, 2, 0, 5, 0, 0, 3, '\n', '\n', '\n' },
		  10,
		  -EBADMSG,
		  "three lines" },
		{ { 1, 2, 0, 5, 0, 0, 2, 0x7f, '\n' }, 9, -EBADMSG, "DEL" },
		{ { 1, 2, 0, 5, 0, 0, 2, 0xe4, '\n' }, 9, -EBADMSG, "8 bits" },
		{ { 1, 2, 0, 5, 0, 0, 1, '\n', 0 }, 9, -EBADMSG, "more bytes" },
		{ { 1, 2, 0, 5, 254, 0, 0 }, 7, -EBADMSG, "name_len 254" },
	};
	uint8_t question[WIRE_ASK_MAX], out[2048];
	size_t len = wire_ask(&ask, question);
	size_t at = gate_answer(GATE_BARE, question, len, out);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const uint8_t head[4] = { 0xff, 0x21, 0, (uint8_t)rows[i].len };
		struct wire_answer a;

		out[at - 1] = (uint8_t)(4 + rows[i].len);
		memcpy(out + at, head, 4);
		memcpy(out + at + 4, rows[i].option, rows[i].len);
		is_int(wire_answer(&ask, out, at + 4 + rows[i].len, &a),
		       rows[i].code, "%s", rows[i].what);
	}
}

static void test_cache(void)
{
	uint64_t k = cache_key(0xc6120001, 443, false);
	uint64_t udp = cache_key(0xc6120001, 443, true);

	is_int(cache_get(k, 1000), CACHE_NONE, "empty");
	cache_put(k, CACHE_DENY, 1000, 5);
	is_int(cache_get(k, 1000), CACHE_DENY, "there");
	is_int(cache_get(k, 1004), CACHE_DENY, "still");
	is_int(cache_get(k, 1005), CACHE_NONE, "and no longer");
	is_int(cache_get(k, 999999), CACHE_NONE, "nor much later");
	is_int(cache_get(udp, 1000), CACHE_NONE, "UDP is another");
	cache_put(k, CACHE_GO, 1000, 0);
	is_int(cache_get(k, 1001), CACHE_DENY, "0 seconds: not noted");
	cache_put(k, CACHE_GO, 1000, 4000000);
	is_int(cache_get(k, 1059), CACHE_GO, "a minute at the most");
	is_int(cache_get(k, 1060), CACHE_NONE, "then it ends");
	cache_put(k, CACHE_GO, 0xffffffff, 60);
	is_int(cache_get(k, 0xffffffff), CACHE_GO, "over the end of 32 bits");
}

/* One asks; what came of it, and when another may. */
static void test_cache_claim(void)
{
	uint64_t k = cache_key(0xc6120002, 443, false), other = k;

	is_int(cache_claim(k, 1000), CACHE_NONE, "the first may ask");
	is_int(cache_claim(k, 1000), CACHE_GO, "the second goes on");
	is_int(cache_get(k, 1001), CACHE_GO, "and who only looks");
	/* The upper seven bits are the place. */
	for (uint32_t i = 1; other >> 42 != k >> 42 || other == k; i++)
		other = cache_key(i, 443, false);
	is_int(cache_claim(other, 1001), CACHE_GO, "the place is taken");
	cache_drop(other);
	is_int(cache_claim(k, 1001), CACHE_GO, "only who asked drops it");
	is_int(cache_claim(k, 1002), CACHE_NONE, "who died is not waited for");
	cache_drop(k);
	is_int(cache_get(k, 1002), CACHE_NONE, "no verdict");
	is_int(cache_claim(k, 1002), CACHE_NONE, "the next may ask");
	cache_put(k, CACHE_DENY, 1002, 5);
	cache_drop(k);
	is_int(cache_claim(k, 1003), CACHE_DENY, "a verdict stays");
	is_int(cache_claim(other, 1003), CACHE_NONE, "and makes room");
}

/* No destination has the verdict of another: one denied, then a million
 * others, many in its place. */
static void test_cache_keys(void)
{
	uint64_t k = cache_key(0xc6120001, 443, false);
	unsigned wrong = 0, same = 0;

	cache_put(k, CACHE_DENY, 1000, 60);
	for (uint32_t i = 0; i < 1000000; i++) {
		uint32_t address = i * 2654435761u;
		uint16_t port = (uint16_t)(i % 7 == 0 ? 443 : i);
		uint64_t other = cache_key(address, port, i % 2);

		if (other == k)
			same++;
		else if (cache_get(other, 1001) != CACHE_NONE)
			wrong++;
	}
	is_int(wrong, 0, "nobody else is denied");
	is_int(same, 0, "no two keys are the same");
	is_int(cache_get(k, 1001), CACHE_DENY, "reading changes nothing");
}

static void test_tell(void)
{
	unsigned told = 0;

	ok(cache_tell(2), "the first time");
	ok(!cache_tell(2), "the second");
	for (uint64_t i = 2; i < 1000; i++)
		told += cache_tell(i * 2);
	is_int(told, CACHE_TOLD - 1, "no more than so many");
}

static socklen_t make(struct sockaddr_storage *ss, const char *text,
		      uint16_t port)
{
	struct sockaddr_in6 *in6 = (void *)ss;
	struct sockaddr_in *in = (void *)ss;

	memset(ss, 0, sizeof(*ss));
	if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
		return sizeof(*in6);
	}
	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	inet_pton(AF_INET, text, &in->sin_addr);
	return sizeof(*in);
}

static void test_dest(void)
{
	static const struct {
		const char *text;
		uint16_t port;
		bool asked, ipv6;
	} rows[] = {
		{ "198.18.0.1", 443, true, false },
		{ "198.19.255.255", 443, true, false },
		{ "198.17.255.255", 443, true, false },
		{ "198.20.0.0", 443, true, false },
		{ "::ffff:198.19.0.1", 1, true, false },
		{ "8.8.8.8", 443, true, false },
		{ "169.254.169.254", 80, true, false },
		{ "8.8.8.8", 0, false, false },
		{ "8.8.8.8", 53, false, false },
		{ "::ffff:8.8.8.8", 53, false, false },
		{ "127.0.0.1", 443, false, false },
		{ "127.255.255.255", 443, false, false },
		{ "::ffff:127.0.0.1", 443, false, false },
		{ "0.0.0.0", 443, false, false },
		{ "0.1.2.3", 443, false, false },
		{ "223.255.255.255", 443, true, false },
		{ "224.0.0.251", 5353, false, false },
		{ "255.255.255.255", 67, false, false },
		{ "::1", 443, false, false },
		{ "::", 443, false, false },
		{ "::2", 443, false, true },
		{ "2001:db8::1", 443, false, true },
		{ "2001:db8::1", 0, false, false },
		{ "ff02::fb", 5353, false, false },
	};
	struct sockaddr_storage ss;
	struct dest d;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		socklen_t len = make(&ss, rows[i].text, rows[i].port);
		bool got = dest_read((void *)&ss, len, &d);

		ok(got == rows[i].asked &&
			   dest_is_ipv6((void *)&ss, len) == rows[i].ipv6,
		   "%s:%u", rows[i].text, rows[i].port);
	}
}

static void test_dest_odd(void)
{
	struct sockaddr_storage ss;
	uint8_t bytes[sizeof(ss) + 1];
	socklen_t len = make(&ss, "198.18.0.7", 443);
	struct dest d = { .port = 1 };

	ok(!dest_read(NULL, len, &d) && !dest_is_ipv6(NULL, len), "NULL");
	ok(!dest_read((void *)&ss, len - 1, &d) && d.port == 1, "too short");
	memcpy(bytes + 1, &ss, len);
	ok(dest_read((void *)(bytes + 1), len, &d) && d.address == 0xc6120007 &&
		   d.port == 443 && d.family == AF_INET,
	   "an address that is not aligned");
	ss.ss_family = AF_UNSPEC;
	ok(!dest_read((void *)&ss, len, &d), "AF_UNSPEC");
	len = make(&ss, "::ffff:198.18.0.7", 443);
	ok(dest_read((void *)&ss, 24, &d) && d.family == AF_INET6,
	   "IPv6 without a scope (RFC 2133)");
	ok(!dest_read((void *)&ss, 23, &d), "and shorter");
	ok(dest_read((void *)&ss, len, &d) && d.address == 0xc6120007,
	   "IPv4 in IPv6");
}

int main(void)
{
	test_question();
	test_when();
	test_longest();
	test_answers();
	test_fields();
	test_bent();
	test_bounds();
	test_cache();
	test_cache_claim();
	test_cache_keys();
	test_tell();
	test_dest();
	test_dest_odd();
	return done_testing();
}
