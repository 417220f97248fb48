/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_front_test.c - every way a first flight can end
 */
#include <poll.h>

#include "ottergate/conn/hello.h"
#include "ottergate/dns/lease.h"
#include "tests/unit/ottergate/otter_world.h"

/* With the deadline of a hello. */
#define POLICY(deadline)                                                     \
	"version: 1\n"                                                       \
	"defaults:\n"                                                        \
	"  tls: { min: \"1.2\", ech: deny, no_sni: deny, hello_max: 4KiB,\n" \
	"         hello_deadline: " deadline " }\n"                          \
	"  timeouts: { connect: 30s, idle: 30s, tunnel_max: 60s,\n"          \
	"              request_header: 30s }\n"                              \
	"agents:\n"                                                          \
	"  - id: coder\n"                                                    \
	"    match: { address: 172.20.3.2 }\n"                               \
	"    allow:\n"                                                       \
	"      - { id: a, names: [a.test], use: tunnel }\n"                  \
	"      - { id: outer, names: [outer.test], use: tunnel, ech: outer " \
	"}\n"                                                                \
	"    limits: { conns: 40, half_open: 30, new_conns: 10000/s }\n"

static const char policy[] = POLICY("30s");
static const char hasty_policy[] = POLICY("400ms");

/* Waits until so many connections have not said yet where to. */
static bool half_open_is(unsigned n)
{
	for (unsigned i = 0; i < GIVE_UP_MS / 10; i++) {
		if (atomic_load(&world.agent->usage.half_open) == n)
			return true;
		usleep(10000);
	}
	return false;
}

/* The alert that comes back, 0: an end without one, -1: a reset, -2: silence.
 * Nothing may reach the server. */
static int alert_of(int fd)
{
	uint8_t words[7];
	size_t n = world_read(fd, words, sizeof(words));
	int end;

	if (n == sizeof(words) && memcmp(words, "\x15\x03", 2) == 0 &&
	    memcmp(words + 3, "\x00\x02\x02", 3) == 0)
		return world_end(fd, GIVE_UP_MS) == 0 ? words[6] : -3;
	end = world_end(fd, GIVE_UP_MS);
	return end == 0 ? 0 : end == -ECONNRESET ? -1 : -2;
}

static bool server_untouched(void)
{
	struct pollfd p = { .fd = world.server, .events = POLLIN };

	return poll(&p, 1, 0) == 0;
}

struct hello_case {
	const char *what;
	const char *sni;
	unsigned flags;
	int alert;
	enum audit_event event;
	enum reason why;
};

static const struct hello_case denied[] = {
	{ "a name nobody allowed", "b.test", 0, 49, AUDIT_DENY,
	  REASON_NOT_ALLOWED },
	{ "N8: no name", NULL, 0, 112, AUDIT_DENY, REASON_NO_SNI },
	{ "N3: no host name", "a\001.test", 0, 112, AUDIT_DENY,
	  REASON_BAD_NAME },
	{ "N9: an address", "198.51.100.1", 0, 112, AUDIT_DENY,
	  REASON_ADDRESS_LITERAL },
	{ "N10: nearly one", "0x7f.1", 0, 112, AUDIT_DENY,
	  REASON_ADDRESS_LITERAL },
	{ "T3: a hidden name", "a.test", HELLO_ECH, 49, AUDIT_DENY,
	  REASON_ECH },
	{ "T7: TLS 1.0", "a.test", HELLO_TLS10, 70, AUDIT_DENY,
	  REASON_TLS_VERSION },
	{ "K6: metadata", "metadata.google.internal", 0, 49, AUDIT_DENY,
	  REASON_BUILTIN_NAME },
};

static void test_denied(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(denied); i++) {
		const struct hello_case *t = &denied[i];
		uint8_t hello[WORLD_HELLO_MAX];
		size_t len = world_hello(hello, t->sni, t->flags);
		SCOPED_FD fd = world_client();

		send(fd, hello, len, MSG_NOSIGNAL);
		is_int(alert_of(fd), t->alert, "%s: alert %d", t->what,
		       t->alert);
		ok(world_audited(t->event, t->why), "%s: audited", t->what);
		ok(server_untouched(), "%s: nothing was dialled", t->what);
	}
}

struct raw_case {
	const char *what;
	const char *bytes;
	size_t len;
	int alert;
	enum reason why;
};

#define RAW(s) s, sizeof(s) - 1

static const struct raw_case raw[] = {
	{ "T9: ssh", RAW("SSH-2.0-x\r\n"), 0, REASON_NOT_TLS },
	{ "T9: bytes", RAW("\x00\x01\x02\x03"), 0, REASON_NOT_TLS },
	{ "T7: SSLv2", RAW("\x80\x2e\x01\x00\x02\x00\x15"), 0, REASON_NOT_TLS },
	{ "an alert first", RAW("\x16\x03\x01\x00\x04\x02\x00\x00\x00"), 50,
	  REASON_BAD_HELLO },
	{ "T8: too long", RAW("\x16\x03\x01\x3f\xff\x01\x00\x3f\xfd"), 50,
	  REASON_HELLO_LONG },
	{ "T5: an empty record", RAW("\x16\x03\x01\x00\x00\x16\x03\x01"), 50,
	  REASON_HELLO_RECORDS },
};

static void test_raw(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(raw); i++) {
		SCOPED_FD fd = world_client();

		send(fd, raw[i].bytes, raw[i].len, MSG_NOSIGNAL);
		is_int(alert_of(fd), raw[i].alert, "%s", raw[i].what);
		ok(world_audited(AUDIT_DENY, raw[i].why), "%s: audited",
		   raw[i].what);
	}
	ok(server_untouched(), "nothing was dialled");
}

/* T5: a hello of records of one byte each: as many as may be, and one more. */
static void test_small_records(void)
{
	SCOPED_FD fd = world_client();
	uint8_t bytes[6 * (HELLO_RECORDS_MAX + 1)];

	for (size_t i = 0; i < sizeof(bytes); i += 6)
		memcpy(bytes + i, "\x16\x03\x01\x00\x01", 6);
	bytes[5] = 1; /* a hello of 1 KiB */
	bytes[6 * 2 + 5] = 4;
	send(fd, bytes, sizeof(bytes) - 6, MSG_NOSIGNAL);
	is_int(poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 100), 0,
	       "T5: 256 records are read");
	send(fd, bytes + sizeof(bytes) - 6, 6, MSG_NOSIGNAL);
	is_int(alert_of(fd), 50, "T5: one more is not");
	ok(world_audited(AUDIT_DENY, REASON_HELLO_RECORDS),
	   "and the audit says which limit that is");
}

/* T4, T5: in drops and in records; all of it arrives as it was sent. */
static void test_drops(void)
{
	static const unsigned flags[] = { 0, HELLO_TWO_RECORDS };

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		uint8_t hello[WORLD_HELLO_MAX], got[WORLD_HELLO_MAX];
		size_t len = world_hello(hello, "A.Test.", flags[i]);
		SCOPED_FD fd = world_client();

		for (size_t k = 0; k < len; k++) {
			send(fd, hello + k, 1, MSG_NOSIGNAL);
			if (k % 8 == 0)
				usleep(1000);
		}
		SCOPED_FD server = world_accept();

		ok(server >= 0 && world_read(server, got, len) == len &&
			   memcmp(got, hello, len) == 0,
		   "one byte a segment, %s",
		   flags[i] ? "two records" : "one record");
		ok(world_audited(AUDIT_ALLOW, REASON_ALLOWED), "audited");
	}
	ok(world_empty(), "all gone");
}

/* One that is longer than the first read, and whole there with its edge. */
static void test_long(void)
{
	enum { EXT = 50, PAD = 3000 }; /* where the extensions' length is */
	uint8_t hello[WORLD_HELLO_MAX], got[WORLD_HELLO_MAX];
	size_t len = world_hello(hello, "a.test", 0);
	uint8_t *p = hello + len;
	SCOPED_FD fd = world_client();

	p[0] = 0;
	p[1] = 21; /* RFC 7685 */
	p[2] = PAD >> 8;
	p[3] = PAD & 0xff;
	memset(p + 4, 0, PAD);
	len += 4 + PAD;
	hello[3] = (uint8_t)((len - 5) >> 8);
	hello[4] = (uint8_t)(len - 5);
	hello[7] = (uint8_t)((len - 9) >> 8);
	hello[8] = (uint8_t)(len - 9);
	hello[EXT] = (uint8_t)((len - EXT - 2) >> 8);
	hello[EXT + 1] = (uint8_t)(len - EXT - 2);
	ok(half_open_is(1), "it is accepted, and waited for");
	send(fd, hello, len, MSG_NOSIGNAL);
	SCOPED_FD server = world_accept();

	ok(server >= 0 && world_read(server, got, len) == len &&
		   memcmp(got, hello, len) == 0,
	   "a long one, all at once");
	ok(world_audited(AUDIT_ALLOW, REASON_ALLOWED), "audited");
	close(fd_take(&fd));
	close(fd_take(&server));
	ok(world_empty(), "all gone");
}

/* T8: the deadline is for the whole hello, drops do not move it. */
static void test_deadline(void)
{
	uint8_t hello[WORLD_HELLO_MAX];
	uint64_t before = clock_ms();
	SCOPED_FD silent = world_client();
	SCOPED_FD fd = world_client();
	struct pollfd p = { .fd = fd, .events = POLLIN };

	world_hello(hello, "a.test", 0);
	for (size_t k = 0; k < 60 && poll(&p, 1, 20) == 0; k++)
		send(fd, hello + k, 1, MSG_NOSIGNAL);
	ok(clock_ms() - before >= 380, "it has its time: %llu ms",
	   (unsigned long long)(clock_ms() - before));
	is_int(alert_of(fd), 50, "drops do not help, it gets an alert");
	ok(world_audited(AUDIT_DENY, REASON_HELLO_TIMEOUT), "audited");
	is_int(world_end(silent, GIVE_UP_MS), 0, "a silent one is closed");
	ok(world_empty(), "all gone");
}

/* What a deadline has to be done is done in a turn, which the sandbox pays. */
static void test_deadline_turn(void)
{
	uint64_t before = 0, after, end = clock_ms() + GIVE_UP_MS;
	SCOPED_FD silent = -1;
	bool open = false;

	/* What its beginning costs is counted before, and its end is not. */
	while (!open && clock_ms() < end) {
		fd_closep(&silent);
		ok(world_empty(), "none before it");
		silent = world_client();
		usleep(100000);
		before = atomic_load(&world.agent->cpu_ns);
		open = atomic_load(&world.agent->usage.half_open) == 1;
	}
	after = before;
	is_int(world_end(silent, GIVE_UP_MS), 0, "a silent one is closed");
	while (after == before && clock_ms() < end) {
		usleep(5000);
		after = atomic_load(&world.agent->cpu_ns);
	}
	ok(after > before, "its end is paid by its sandbox");
	ok(world_empty(), "all gone");
}

/* Bytes behind the hello are forwarded with it, untouched (T6). */
static void test_early(void)
{
	uint8_t hello[WORLD_HELLO_MAX + 64], got[WORLD_HELLO_MAX + 64];
	size_t len = world_hello(hello, "outer.test", HELLO_ECH);
	SCOPED_FD fd = world_client();

	memset(hello + len, 0xee, 64);
	send(fd, hello, len + 64, MSG_NOSIGNAL);
	SCOPED_FD server = world_accept();

	ok(server >= 0 && world_read(server, got, len + 64) == len + 64 &&
		   memcmp(got, hello, len + 64) == 0,
	   "ech: outer passes, early data with it");
	world_audited(AUDIT_ALLOW, REASON_ALLOWED);
}

static void test_dial_failures(void)
{
	static const struct {
		enum reason why;
		int alert;
	} t[] = {
		{ REASON_CONNECT_FAILED, 80 },  { REASON_DNS_FAILED, 80 },
		{ REASON_CONNECT_TIMEOUT, 80 }, { REASON_BUILTIN_ADDRESS, 49 },
		{ REASON_DENY_ADDRESS, 49 },
	};

	const struct lease_host host = { "a.test", { 0 }, 443 };

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		uint8_t hello[WORLD_HELLO_MAX];
		size_t len = world_hello(hello, "a.test", 0);
		SCOPED_FD fd = world_client();

		atomic_store(&world.dial_why, (int)t[i].why);
		send(fd, hello, len, MSG_NOSIGNAL);
		is_int(alert_of(fd), t[i].alert, "%s: alert",
		       reason_code(t[i].why));
		ok(world_audited(AUDIT_DENY, t[i].why), "audited");
		is_int(lease_failure(world.agent, &host, clock_ms()), t[i].why,
		       "known to who asks, once the client has read it");
		close(world_accept());
	}
	atomic_store(&world.dial_why, REASON_ALLOWED);
	ok(world_empty(), "all gone");
	SCOPED_FD fd = world_client();
	uint8_t hello[WORLD_HELLO_MAX], got[WORLD_HELLO_MAX];
	size_t len = world_hello(hello, "a.test", 0);

	send(fd, hello, len, MSG_NOSIGNAL);
	SCOPED_FD server = world_accept();

	ok(server >= 0 && world_read(server, got, len) == len, "reached");
	is_int(lease_failure(world.agent, &host, clock_ms()), REASON_ALLOWED,
	       "and nothing is known against it any more");
	world_audited(AUDIT_ALLOW, REASON_ALLOWED);
}

/* Fail closed: what cannot be audited does not pass. Nobody takes the records
 * out here, until the worker's ring is full. */
static void test_audit_full(void)
{
	uint8_t hello[WORLD_HELLO_MAX];
	size_t len = world_hello(hello, "a.test", 0);

	for (unsigned i = 0; i < AUDIT_RING; i++) {
		SCOPED_FD stranger = world_client();

		send(stranger, "\x01", 1, MSG_NOSIGNAL);
		world_end(stranger, GIVE_UP_MS);
	}
	SCOPED_FD fd = world_client();

	send(fd, hello, len, MSG_NOSIGNAL);
	is_int(alert_of(fd), 49, "no audit, no connection");
	ok(server_untouched(), "nothing was dialled");
	ok(world_audited(AUDIT_DENY, REASON_NOT_TLS), "the log goes on");
	world_listening(100);
	world.n_lines = 0;
	ok(world_empty(), "all gone");
}

static bool is_closed(int fd)
{
	return poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 0) == 1;
}

/* A sandbox that opens and says nothing keeps nobody else's place. */
static void test_limits(void)
{
	int fds[35];
	unsigned closed = 0;
	uint64_t end = clock_ms() + GIVE_UP_MS;

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = world_client();
	while (closed < ARRAY_SIZE(fds) - 30 && clock_ms() < end) {
		usleep(10000);
		closed = 0;
		for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
			closed += is_closed(fds[i]);
	}
	ok(half_open_is(30), "thirty are half open");
	is_int(closed, 5, "half open: thirty and no more");
	ok(world_audited(AUDIT_LIMIT, REASON_LIMIT_HALF_OPEN), "audited");
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	ok(world_empty(), "all gone");
	is_int(atomic_load(&world.agent->usage.half_open), 0, "none half open");
}

int main(void)
{
	world_up(policy, 1);
	test_denied();
	test_raw();
	test_small_records();
	test_drops();
	test_long();
	world_swap(hasty_policy);
	test_deadline();
	test_deadline_turn();
	world_swap(policy);
	test_early();
	test_dial_failures();
	test_audit_full();
	test_limits();
	world_down();
	return done_testing();
}
