/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otter_dns_ask_test.c - an address for each name, and the answer to programs
 * that ask (net-preload/PROTOCOL), as they come over the wire
 */
#include "tests/unit/otter_dns_world.h"

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
	"0\003192\7in-addr\4arpa\0\0\14\0\1"
#define ASK(port)                                                      \
	ASK_HEAD ASK_NAME "\0\0\x29\4\xd0\0\0\0\0\0\x0f\xff\x21\0\x0b" \
			  "\1\6\0" port "\0\0\0\7\2/x"

/* The option of an answer: what is behind the OPT's head. */
static ssize_t asked_option(struct world *x, int fd, const char *q, size_t len,
			    uint8_t m[1500])
{
	size_t skip = sizeof(ASK_HEAD ASK_NAME) - 1 + 33 + 11;
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
		   strcmp(p.exe, "/x") == 0,
	   "who asked is known");
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
	limit_at = asked + 1;
	is_int(asked_option(&x, fd, BYTES(ASK("\x50")), m), -1,
	       "past the limit: no record");
	world_done(&x);
}

int main(void)
{
	test_addresses();
	test_asks();
	return done_testing();
}
