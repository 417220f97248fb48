/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask_test.c - an address for each name, and the answer to programs
 * that ask (net-preload/PROTOCOL), as they come over the wire
 */
#include "tests/unit/ottergate/dns/dns_world.h"

static uint32_t address_of(struct world *x, int fd, const char *q, size_t len)
{
	uint8_t m[1024] = { 0 };
	uint32_t a = 0;
	ssize_t n;

	send(fd, q, len, 0);
	round_run(&x->w, 100);
	n = recv(fd, m, sizeof(m), MSG_DONTWAIT);
	if (n > 4)
		memcpy(&a, m + n - 4, 4);
	return ntohl(a);
}

static void test_addresses(void)
{
	struct world x;
	uint32_t first;

	world_init(&x);
	SCOPED_FD fd = client(&x, SOCK_DGRAM, 1);
	SCOPED_FD other = client(&x, SOCK_DGRAM, 2);
	first = address_of(&x, fd, BYTES(HEAD "\2ok\4test" IN_A));
	ok(first != address_of(&x, fd, BYTES(HEAD "\2no\4test" IN_A)),
	   "each name has its own");
	is_int(address_of(&x, fd, BYTES(HEAD "\2oK\4TEST" IN_A)), first,
	       "and keeps it, whatever its case");
	is_int(address_of(&x, other, BYTES(HEAD "\2ok\4test" IN_A)), first,
	       "another sandbox has one of its own table, in the same place");
	world_done(&x);
}

/* PTR of 192.0.2.1 with an ask about @port, by TCP. */
#define ASK_HEAD "\x12\x34\1\0\0\1\0\0\0\0\0\1"
#define ASK_NAME \
	"\1"     \
	"1\1"    \
	"2\1"    \
	"0\003192" ASK_ARPA
#define ASK_ARPA "\7in-addr\4arpa\0\0\14\0\1"
#define ASK_OPT(port)                                \
	"\0\0\x29\4\xd0\0\0\0\0\0\x0f\xff\x21\0\x0b" \
	"\1\6\0" port "\0\0\0\7\2/\1"
#define ASK(port) ASK_HEAD ASK_NAME ASK_OPT(port)

#define ASK_OPT_LEN 26u /* of which the record is */

/* The option of an answer: what is behind the question, an SOA and the OPT's
 * head. -1: there is none. */
static ssize_t asked_option(struct world *x, int fd, const char *q, size_t len,
			    uint8_t m[1500])
{
	size_t skip = len - ASK_OPT_LEN + 33 + 11;
	ssize_t n;

	send(fd, q, len, 0);
	round_run(&x->w, 100);
	n = recv(fd, m, 1500, MSG_DONTWAIT);
	if (n < (ssize_t)skip)
		return -1;
	memmove(m, m + skip, (size_t)n - skip);
	return n - (ssize_t)skip;
}

static void test_asks(void)
{
	static const char text[] = "ac: blocked 192.0.2.1:22 (not-allowed: ";
	struct worker_impl impl = { .running = false };
	struct program p = { 0 };
	struct addr to = addr_v4(0xc0000201);
	struct world x;
	uint8_t m[1500];
	ssize_t n;

	world_init(&x);
	x.w.impl = &impl;
	SCOPED_FD fd = client(&x, SOCK_DGRAM, 1);
	n = asked_option(&x, fd, BYTES(ASK("\x50")), m);
	is_int(n, 11, "an answer with an option");
	ok(memcmp(m, "\xff\x21\0\7\1\1\0\5\0\0\0", 11) == 0,
	   "allow, kept for 5 s, no name, no text");
	ok(lease_asker(&agents[0], &to, 80, x.w.now_ms, &p) && p.pid == 7 &&
		   strcmp(p.exe, "/?") == 0,
	   "who asked is known, in printable ASCII");
	n = asked_option(&x, fd, BYTES(ASK("\x16")), m);
	ok(n > 60 && m[5] == 2 && m[7] == 2 &&
		   memcmp(m + 11, text, sizeof(text) - 1) == 0 &&
		   m[n - 1] == '\n',
	   "deny, for 2 s, with a text");
	ok(!lease_asker(&agents[0], &to, 22, x.w.now_ms, &p),
	   "nobody connects there");
	is_int(counted(&x, COUNTER_ASKED), 2, "counted");
	is_int(counted(&x, COUNTER_DENIED), 1, "the denial as well");
	/* Over TCP there is no place for it: as without the option. */
	SCOPED_FD tcp = client(&x, SOCK_STREAM, 1);
	send(tcp, "\0\102", 2, 0);
	send(tcp, BYTES(ASK("\x50")), 0);
	for (unsigned i = 0; i < 3; i++)
		round_run(&x.w, 20);
	n = recv(tcp, m, sizeof(m), MSG_DONTWAIT);
	is_int(n, 2 + (ssize_t)sizeof(ASK_HEAD ASK_NAME) - 1 + 33 + 11,
	       "by TCP: NODATA");
	world_done(&x);
}

#define ASK_WHEN(port, when)                                           \
	ASK_HEAD ASK_NAME "\0\0\x29\4\xd0\0\0\0\0\0\x10\xff\x21\0\x0c" \
			  "\1\6\0" port "\0\0\0\7\2/\1" when

/* The option of a later question: one byte more than ASK_OPT_LEN knows. */
static ssize_t option_later(struct world *x, int fd, const char *q, size_t len,
			    uint8_t m[1500])
{
	ssize_t n = asked_option(x, fd, q, len, m);

	if (n < 0)
		return n;
	return n + 1; /* its first byte was skipped, as if of the question */
}

/* What could not be reached is told to who has connected, and to no other. */
static void test_failure(void)
{
	static const char want[] =
		"ac: could not reach 192.0.2.1:80 (connect-refused: the server "
		"refused the connection); the policy allows it: see if it "
		"works outside of ac\n";
	const struct lease_host host = { NULL, addr_v4(0xc0000201), 80 };
	struct worker_impl impl = { .running = false };
	struct program p;
	struct world x;
	uint8_t m[1500];
	ssize_t n;

	world_init(&x);
	x.w.impl = &impl;
	SCOPED_FD fd = client(&x, SOCK_DGRAM, 1);
	n = option_later(&x, fd, BYTES(ASK_WHEN("\x50", "\2")), m);
	ok(n == 11 && memcmp(m, "\x21\0\7\1\1\0\5\0\0\0", 10) == 0,
	   "nothing is known of it: allow, without a text");
	ok(!lease_asker(&agents[0], &host.addr, 80, x.w.now_ms, &p),
	   "who ends does not connect");
	lease_reached(&agents[0], &host, REASON_CONNECT_REFUSED, x.w.now_ms);
	is_int(asked_option(&x, fd, BYTES(ASK("\x50")), m), 11,
	       "before the first connection nothing is said of it");
	for (unsigned when = 1; when <= 2; when++) {
		n = when == 1 ? option_later(&x, fd,
					     BYTES(ASK_WHEN("\x50", "\1")), m) :
				option_later(&x, fd,
					     BYTES(ASK_WHEN("\x50", "\2")), m);
		is_int(n, 11 + (ssize_t)sizeof(want) - 1, "then a line");
		m[n - 1] = 0;
		is_str((char *)m + 10, want, "that says why");
		is_int(m[4], 1, "and it is allowed still");
	}
	is_int(counted(&x, COUNTER_DENIED), 0, "nothing was denied");
	n = option_later(&x, fd, BYTES(ASK_WHEN("\x16", "\2")), m);
	ok(n == 11 && m[4] == 2, "denied meanwhile: no text, at the end");
	is_int(counted(&x, COUNTER_DENIED), 0, "and it is no denial of one");
	lease_reached(&agents[0], &host, REASON_BUILTIN_ADDRESS, x.w.now_ms);
	n = option_later(&x, fd, BYTES(ASK_WHEN("\x50", "\2")), m);
	m[n < 0 ? 0 : n - 1] = 0;
	is_str((char *)m + 10,
	       "ac: blocked 192.0.2.1:80 (builtin-address: never allowed: it "
	       "resolves to a local or reserved address)\n",
	       "an address that no policy allows is a denial's line");
	world_done(&x);
}

/* Asks have a limit of their own, and are no look-ups. */
static void test_ask_limit(void)
{
	struct worker_impl impl = { .running = false };
	struct world x;
	uint8_t m[1500];

	world_init(&x);
	x.w.impl = &impl;
	audit_on = true;
	SCOPED_FD fd = client(&x, SOCK_DGRAM, 1);
	is_int(asked_option(&x, fd, BYTES(ASK("\x50")), m), 11, "an ask");
	is_int(asked, 0, "it is not of the policy's number of questions");
	is_int(audited, 0, "nor a line among them");
	asks_limit_at = asks + 1;
	send(fd, BYTES(ASK("\x50")), 0);
	round_run(&x.w, 100);
	is_int(recv(fd, m, sizeof(m), 0),
	       (ssize_t)sizeof(ASK_HEAD ASK_NAME) - 1 + 11,
	       "past its limit: no record");
	is_int(m[3] & 15, DNS_REFUSED, "but REFUSED, at once");
	is_int(asked, 0, "which nobody else pays for");
	ok(address_of(&x, fd, BYTES(HEAD "\2ok\4test" IN_A)) != 0,
	   "a name has its address still");
	is_int(asked, 1, "out of the policy's number");
	is_int(audited, 1, "and its line");
	asks_limit_at = 0;
	limit_at = asked;
	is_int(asked_option(&x, fd, BYTES(ASK("\x50")), m), 11,
	       "where that is used up, asks are answered");
	is_int(asks, 3, "asks so far");
	/* What has the option, but is no question for this. */
	send(fd, BYTES(ASK_HEAD "\2ok\4test" IN_A ASK_OPT("\x50")), 0);
	round_run(&x.w, 100);
	recv(fd, m, sizeof(m), 0);
	is_int(m[3] & 15, DNS_REFUSED, "the option makes no ask of A");
	is_int(asks, 3, "nor takes it from there");
	world_done(&x);
}

#define TEN(c) c c c c c c c c c c

static size_t put(char *out, size_t at, const char *from, size_t len)
{
	memcpy(out + at, from, len);
	return at + len;
}

/* What asks about port 22 of an address. */
static size_t ask_write(char *q, uint32_t v4)
{
	size_t len = put(q, 0, BYTES(ASK_HEAD));

	for (unsigned i = 0; i < 4; i++) {
		char digits[4];
		int n = snprintf(digits, sizeof(digits), "%u",
				 v4 >> 8 * i & 255);

		q[len++] = (char)n;
		len = put(q, len, digits, (size_t)n);
	}
	len = put(q, len, BYTES(ASK_ARPA));
	return put(q, len, BYTES(ASK_OPT("\x16")));
}

/* A name of 253 bytes, at the port that is denied. */
static void test_long_name(void)
{
	static const char name[] = "\77" TEN("abcdef") "abc\77" TEN(
		"ghijkl") "ghi\77" TEN("mnopqr") "mno\75" TEN("stuvwx") "s";
	struct worker_impl impl = { .running = false };
	char q[512], host[256] = "", want[512];
	uint8_t m[1500] = { 0 };
	struct world x;
	size_t len;
	ssize_t n;

	world_init(&x);
	x.w.impl = &impl;
	SCOPED_FD fd = client(&x, SOCK_DGRAM, 1);
	len = put(q, put(q, 0, BYTES(HEAD)), BYTES(name));
	len = put(q, len, BYTES(IN_A));
	len = ask_write(q, address_of(&x, fd, q, len));
	n = asked_option(&x, fd, q, len, m);
	is_int(n, 4 + 7 + 253 + 512, "all the room there is");
	put(host, 0, name + 1, sizeof(name) - 2);
	for (size_t i = 63; i < 253; i += 64)
		host[i] = '.';
	ok(m[5] == 2 && m[8] == 253 && memcmp(m + 9, host, 253) == 0,
	   "denied, with the name");
	snprintf(want, sizeof(want),
		 "allow it with: ac policy allow agent-1 %s:22 (tcp://... "
		 "if it is neither TLS nor HTTP)\n",
		 host);
	m[n] = 0;
	is_str((char *)m + 9 + 253 + 2 + (512 - strlen(want)), want,
	       "the line to be typed is whole");
	m[n - (ssize_t)strlen(want)] = 0;
	snprintf(want, sizeof(want), "ac: blocked %.20s...", host);
	ok(strncmp((char *)m + 9 + 253 + 2, want, strlen(want)) == 0 &&
		   strstr((char *)m + 9 + 253 + 2,
			  ":22 (not-allowed: no rule allows it)\n"),
	   "the one above it gives some of the name");
	world_done(&x);
}

int main(void)
{
	test_addresses();
	test_asks();
	test_failure();
	test_ask_limit();
	test_long_name();
	return done_testing();
}
