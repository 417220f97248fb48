/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_test.c - questions and answers over UDP and TCP
 */
#include "tests/unit/ottergate/dns/dns_world.h"

struct ask_case {
	const char *what;
	const char *ptr;
	size_t len;
	int rcode; /* -1: no answer */
	unsigned answers, authorities;
	uint32_t address;
};

#define SELF 0xac140035
#define ANY_SYNTHETIC 0xc6120000 /* of 198.18.0.0/15 */

static const struct ask_case ask_cases[] = {
	{ "an allowed name", BYTES(HEAD "\2ok\4test" IN_A), 0, 1, 0,
	  ANY_SYNTHETIC },
	{ "a denied name, alike", BYTES(HEAD "\2no\4test" IN_A), 0, 1, 0,
	  ANY_SYNTHETIC },
	{ "a name for plain TCP", BYTES(HEAD "\3tcp\4test" IN_A), 0, 1, 0,
	  0xc6120001 },
	{ "AAAA", BYTES(HEAD "\2ok\4test\0\0\34\0\1"), 0, 0, 1, 0 },
	{ "TXT", BYTES(HEAD "\2ok\4test\0\0\20\0\1"), 0, 0, 1, 0 },
	{ "HTTPS", BYTES(HEAD "\2ok\4test\0\0\101\0\1"), 0, 0, 1, 0 },
	{ "PTR",
	  BYTES(HEAD "\1"
		     "1\1"
		     "0\2in\0\0\14\0\1"),
	  0, 0, 1, 0 },
	{ "ANY", BYTES(HEAD "\2ok\4test\0\0\377\0\1"), 0, 0, 1, 0 },
	{ "the root's NS", BYTES(HEAD "\0\0\2\0\1"), 0, 0, 1, 0 },
	{ "an address as a name",
	  BYTES(HEAD "\1"
		     "8\1"
		     "8\1"
		     "8\1"
		     "8" IN_A),
	  0, 0, 1, 0 },
	{ "bytes that are no host name", BYTES(HEAD "\2o \4test" IN_A), 0, 0, 1,
	  0 },
	{ "class CH", BYTES(HEAD "\2ok\4test\0\0\1\0\3"), 5, 0, 0, 0 },
	{ "a pointer", BYTES(HEAD "\xc0\14\0\1\0\1"), 1, 0, 0, 0 },
	{ "NOTIFY", BYTES("\x12\x34\x20\0\0\1\0\0\0\0\0\0\0\0\1\0\1"), 4, 0, 0,
	  0 },
	{ "a response", BYTES("\x12\x34\x80\0\0\0\0\0\0\0\0\0"), -1, 0, 0, 0 },
	{ "nothing", BYTES(""), -1, 0, 0, 0 },
};

static void check_answer(const struct ask_case *c, const uint8_t *m, ssize_t n)
{
	uint32_t a;

	if (c->rcode < 0) {
		ok(n <= 0, "%s: no answer", c->what);
		return;
	}
	if (!ok(n >= 12 && memcmp(m, "\x12\x34", 2) == 0, "%s: an answer",
		c->what))
		return;
	is_int(m[3] & 15, c->rcode, "%s: its code", c->what);
	is_int(m[7], c->answers, "%s: records", c->what);
	is_int(m[9], c->authorities, "%s: authority", c->what);
	if (!c->answers)
		return;
	memcpy(&a, m + n - 4, 4);
	a = ntohl(a);
	if (c->address == ANY_SYNTHETIC)
		is_int(a & 0xfffe0000, c->address, "%s: a synthetic one",
		       c->what);
	else
		is_int(a, c->address, "%s: the address", c->what);
}

static void test_udp(void)
{
	struct world x;

	world_init(&x);
	for (size_t i = 0; i < ARRAY_SIZE(ask_cases); i++) {
		const struct ask_case *c = &ask_cases[i];
		SCOPED_FD fd = client(&x, SOCK_DGRAM, 1);
		uint8_t m[1024] = { 0 };

		send(fd, c->ptr, c->len, 0);
		round_run(&x.w, 100);
		check_answer(c, m, recv(fd, m, sizeof(m), MSG_DONTWAIT));
	}
	is_int(counted(&x, COUNTER_DNS_DROPPED), 2, "two were dropped");
	is_int(audited, 0, "nothing was audited");
	world_done(&x);
}

static void test_batch(void)
{
	struct world x;
	unsigned got = 0;
	uint8_t m[1024];

	world_init(&x);
	SCOPED_FD fd = client(&x, SOCK_DGRAM, 1);
	SCOPED_FD stranger = client(&x, SOCK_DGRAM, 9);
	for (unsigned i = 0; i < 100; i++) {
		send(fd, HEAD "\2ok\4test" IN_A, 25, 0);
		if (i % 10 == 0)
			send(stranger, HEAD "\2ok\4test" IN_A, 25, 0);
	}
	round_run(&x.w, 100);
	while (recv(fd, m, sizeof(m), MSG_DONTWAIT) > 0)
		got++;
	is_int(got, 100, "a hundred questions in one round");
	ok(recv(stranger, m, sizeof(m), MSG_DONTWAIT) < 0,
	   "a stranger gets nothing");
	is_int(counted(&x, COUNTER_DNS_DROPPED), 10, "and is counted");
	is_int(asked, 100, "against nobody's limit");

	/* More than one call may take: the rest comes by itself. */
	for (unsigned i = got = 0; i < 300; i++)
		send(fd, HEAD "\2ok\4test" IN_A, 25, 0);
	round_run(&x.w, 100);
	while (recv(fd, m, sizeof(m), MSG_DONTWAIT) > 0)
		got++;
	ok(got > 200, "%u of 300 with one wake-up", got);
	world_done(&x);
}

static void test_limit_and_audit(void)
{
	struct world x;
	uint8_t m[1024] = { 0 };

	world_init(&x);
	SCOPED_FD fd = client(&x, SOCK_DGRAM, 1);
	audit_on = true;
	send(fd, HEAD "\2ok\4test" IN_A, 25, 0);
	round_run(&x.w, 100);
	is_int(recv(fd, m, sizeof(m), 0), 25 + 16, "an answer");
	is_int(audited, 1, "audited");
	is_int(last.reason, REASON_ALLOWED, "as allowed");
	is_str(last.rule, "some-rule", "by its rule");
	is_str(last.name, "ok.test", "with the name");
	is_str(last.agent, "agent-1", "and the sandbox");
	send(fd, HEAD "\2no\4test" IN_A, 25, 0);
	round_run(&x.w, 100);
	is_int(recv(fd, m, sizeof(m), 0), 25 + 16, "the same answer");
	is_int(last.reason, REASON_NOT_ALLOWED, "audited as not allowed");
	send(fd, HEAD "\2no\4test\0\0\20\0\1", 25, 0);
	round_run(&x.w, 100);
	is_int(last.reason, REASON_DNS_TYPE, "TXT is audited as such");
	expires = 1;
	send(fd, HEAD "\2ok\4test" IN_A, 25, 0);
	round_run(&x.w, 100);
	is_int(last.reason, REASON_EXPIRED, "expired is audited as such");
	while (recv(fd, m, sizeof(m), MSG_DONTWAIT) > 0)
		;
	audit_full = true;
	send(fd, HEAD "\2ok\4test" IN_A, 25, 0);
	round_run(&x.w, 100);
	recv(fd, m, sizeof(m), 0);
	is_int(m[3] & 15, DNS_REFUSED, "on_full: deny refuses");
	limit_at = asked + 1;
	audit_full = false;
	send(fd, HEAD "\2ok\4test" IN_A, 25, 0);
	round_run(&x.w, 100);
	is_int(recv(fd, m, sizeof(m), 0), 25, "past the limit: no record");
	is_int(m[3] & 15, DNS_REFUSED, "but REFUSED, at once");
	send(fd, HEAD "\xc0", 13, 0);
	round_run(&x.w, 100);
	is_int(recv(fd, m, sizeof(m), 0), 12, "rubbish counts as well");
	is_int(m[3] & 15, DNS_REFUSED, "and is refused");
	world_done(&x);
}

/* Reads one framed message. */
static ssize_t tcp_recv(struct world *x, int fd, uint8_t *m)
{
	uint8_t head[2];

	for (unsigned i = 0; i < 3; i++)
		round_run(&x->w, 10);
	if (recv(fd, head, 2, MSG_WAITALL) != 2)
		return -1;
	return recv(fd, m, (size_t)head[0] << 8 | head[1], MSG_WAITALL);
}

static void test_tcp(void)
{
	struct world x;
	uint8_t m[1024] = { 0 };

	world_init(&x);
	for (size_t i = 0; i < ARRAY_SIZE(ask_cases); i++) {
		const struct ask_case *c = &ask_cases[i];
		SCOPED_FD fd = client(&x, SOCK_STREAM, 1);
		uint8_t head[2] = { 0, (uint8_t)c->len };

		round_run(&x.w, 20);
		send(fd, head, 1, 0);
		round_run(&x.w, 20);
		send(fd, head + 1, 1, 0);
		for (size_t at = 0; at < c->len; at++) {
			send(fd, c->ptr + at, 1, 0);
			round_run(&x.w, 5);
		}
		check_answer(c, m, tcp_recv(&x, fd, m));
	}
	world_done(&x);
}

static void test_tcp_pipeline(void)
{
	static const char one[] = "\0\31" HEAD "\2ok\4test" IN_A;
	struct world x;
	uint8_t m[1024];
	unsigned got = 0;

	world_init(&x);
	SCOPED_FD fd = client(&x, SOCK_STREAM, 2);
	for (unsigned i = 0; i < 200; i++)
		send(fd, one, 27, MSG_NOSIGNAL);
	shutdown(fd, SHUT_WR);
	for (unsigned i = 0; i < 30; i++)
		round_run(&x.w, 5);
	while (tcp_recv(&x, fd, m) == 41)
		got++;
	is_int(got, 200, "200 questions at once, then the end");

	SCOPED_FD bad = client(&x, SOCK_STREAM, 2);
	send(bad, "\0\0", 2, 0);
	is_int(tcp_recv(&x, bad, m), -1, "length 0 ends the connection");
	SCOPED_FD big = client(&x, SOCK_STREAM, 2);
	send(big, "\x10\1x", 3, 0);
	is_int(tcp_recv(&x, big, m), -1, "4097 bytes as well");
	world_done(&x);
}

static bool is_closed(int fd)
{
	char c;

	return recv(fd, &c, 1, MSG_DONTWAIT) == 0 || errno == ECONNRESET;
}

static void test_tcp_limits(void)
{
	int fd[DNS_TCP_SOURCE_MAX + 1], other, stranger;
	struct world x;
	uint8_t m[64];

	world_init(&x);
	for (size_t i = 0; i < ARRAY_SIZE(fd); i++) {
		fd[i] = client(&x, SOCK_STREAM, 1);
		round_run(&x.w, 20);
	}
	other = client(&x, SOCK_STREAM, 2);
	stranger = client(&x, SOCK_STREAM, 9);
	round_run(&x.w, 20);
	ok(!is_closed(fd[0]), "the first connection stays");
	ok(is_closed(fd[DNS_TCP_SOURCE_MAX]), "one too many is closed");
	ok(!is_closed(other), "another sandbox has its own");
	ok(is_closed(stranger), "a stranger has none");
	/* A byte now and then does not keep it open. */
	x.w.now_ms += DNS_TCP_IDLE_MS / 2;
	send(fd[0], "\0", 1, 0);
	wheel_run(&x.w.wheel, x.w.now_ms);
	ok(!is_closed(fd[0]), "half the time is not all");
	wheel_run(&x.w.wheel, x.w.now_ms + DNS_TCP_IDLE_MS);
	round_end(&x.w);
	ok(is_closed(fd[0]) && is_closed(other), "idle ones are closed");
	for (size_t i = 0; i < ARRAY_SIZE(fd); i++)
		close(fd[i]);
	fd[0] = client(&x, SOCK_STREAM, 1);
	round_run(&x.w, 20);
	send(fd[0], "\0\31" HEAD "\2ok\4test" IN_A, 27, 0);
	is_int(tcp_recv(&x, fd[0], m), 41, "and make room");
	close(fd[0]);
	close(other);
	close(stranger);
	world_done(&x);
}

/* However many edges come while a flood lasts, one turn follows the round. */
static void test_flood(void)
{
	static const char ask[] = HEAD "\2ok\4test" IN_A;
	struct world x;
	int fd;

	world_init(&x);
	fd = client(&x, SOCK_DGRAM, 1);
	for (unsigned k = 0; k < 2; k++) {
		for (unsigned i = 0; i < 8 * DNS_BATCH; i++)
			send(fd, ask, sizeof(ask) - 1, 0);
		dns_udp_ready(&x.w, &x.udp.ev, EPOLLIN);
		is_int(rounds.n_defer, 1, "edge %u: one turn to come", k + 1);
	}
	round_end(&x.w);
	send(fd, ask, sizeof(ask) - 1, 0);
	dns_udp_ready(&x.w, &x.udp.ev, EPOLLIN);
	is_int(counted(&x, COUNTER_DNS), 16 * DNS_BATCH + 1, "all answered");
	close(fd);
	world_done(&x);
}

/* Of a flood, no more is answered than the limit lets through; a neighbour's
 * question in the middle is. */
static void test_packets(void)
{
	static const char ask[] = HEAD "\2ok\4test" IN_A;
	uint8_t m[DNS_MSG_MAX];
	struct world x;
	int fd, other;

	world_init(&x);
	fd = client(&x, SOCK_DGRAM, 1);
	other = client(&x, SOCK_DGRAM, 2);
	packets_max = 10;
	packets_of = &agents[0].usage;
	for (unsigned i = 0; i < 60; i++)
		send(i == 50 ? other : fd, ask, sizeof(ask) - 1, 0);
	round_run(&x.w, 100);
	is_int(counted(&x, COUNTER_DNS), 11, "ten are read, and the other's");
	is_int(counted(&x, COUNTER_DNS_DROPPED), 49, "the rest is dropped");
	is_int(recv(other, m, sizeof(m), 0), 41, "the other is answered");
	is_int(atomic_load(&agents[0].cpu_ns) >
		       20 * atomic_load(&agents[1].cpu_ns),
	       true, "and who floods pays for it");
	close(fd);
	close(other);
	world_done(&x);
}

int main(void)
{
	test_udp();
	test_batch();
	test_flood();
	test_packets();
	test_limit_and_audit();
	test_tcp();
	test_tcp_pipeline();
	test_tcp_limits();
	return done_testing();
}
