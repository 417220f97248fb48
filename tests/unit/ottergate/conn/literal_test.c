/* SPDX-License-Identifier: Apache-2.0 */
/*
 * literal_test.c - redirected TLS without a name: the address it wanted
 */
#include "tests/unit/ottergate/conn/original.h"
#include "tests/unit/ottergate/otter_world.h"

static const char policy[] =
	"version: 1\n"
	"deny:\n"
	"  - { id: never, ips: [198.51.100.66] }\n"
	"agents:\n"
	"  - id: coder\n"
	"    match: { address: 172.20.3.2 }\n"
	"    allow:\n"
	"      - { id: a, names: [a.test] }\n"
	"      - { id: lit, ips: [198.51.100.0/24], ports: [443] }\n"
	"      - { id: plain, ips: [198.51.100.0/24], ports: [8080],"
	" proto: http }\n";
static const char observing[] = "version: 1\n"
				"agents:\n"
				"  - id: coder\n"
				"    match: { address: 172.20.3.2 }\n"
				"    mode: observe\n";

/* A hello without a name (or with @sni) to the address. */
static int hello_to(uint32_t v4, uint16_t port, const char *sni, unsigned flags)
{
	uint8_t hello[WORLD_HELLO_MAX];
	size_t len = world_hello(hello, sni, flags);
	int fd;

	original_set(v4, port);
	fd = world_client();
	if (send(fd, hello, len, MSG_NOSIGNAL) != (ssize_t)len)
		printf("# not sent\n");
	return fd;
}

static bool line_has(const char *event, const char *part)
{
	for (size_t i = 0; i < world.n_lines && i < WORLD_LINES; i++) {
		if (strstr(world.lines[i], event) &&
		    strstr(world.lines[i], part))
			return true;
	}
	return false;
}

static void test_allowed(void)
{
	uint8_t got[64];
	SCOPED_FD fd = hello_to(0xc6336409, 443, NULL, 0);
	SCOPED_FD server = world_accept();

	ok(fd >= 0 && server >= 0 && world_read(server, got, 9) == 9 &&
		   got[0] == 0x16,
	   "the hello arrives");
	is_int(atomic_load(&world.dial_v4), 0xc6336409, "at that address");
	world_listening(100);
	ok(line_has("\"event\":\"allow\"", "\"address\":\"198.51.100.9\""),
	   "which the audit has");
	ok(line_has("\"event\":\"allow\"", "\"rule\":\"lit\""), "by its rule");
	world.n_lines = 0;
}

static void test_named(void)
{
	SCOPED_FD fd = hello_to(0xc6336409, 443, "a.test", 0);
	SCOPED_FD server = world_accept();

	ok(fd >= 0 && server >= 0, "one with a name passes by its name");
	is_int(atomic_load(&world.dial_v4), 0,
	       "and its address does not count");
	ok(world_audited(AUDIT_ALLOW, REASON_ALLOWED), "audited");
}

static void test_denied(void)
{
	static const struct {
		const char *what, *sni;
		uint32_t v4;
		uint16_t port;
		unsigned flags;
		enum reason why;
	} rows[] = {
		{ "another address", NULL, 0xc6336509, 443, 0, REASON_NO_SNI },
		/* Nothing that it could say would be allowed there. */
		{ "another port", NULL, 0xc6336409, 8443, 0, REASON_PORT },
		{ "another protocol", NULL, 0xc6336409, 8080, 0,
		  REASON_NO_SNI },
		{ "a denied one", NULL, 0xc6336442, 443, 0, REASON_NO_SNI },
		{ "the gateway's", NULL, 0xac140035, 443, 0, REASON_NO_SNI },
		{ "a synthetic one", NULL, 0xc6120001, 443, 0, REASON_NO_SNI },
		{ "metadata", NULL, 0xa9fea9fe, 443, 0, REASON_NO_SNI },
		{ "a hidden name", NULL, 0xc6336409, 443, HELLO_ECH,
		  REASON_ECH },
		{ "a name nobody allowed", "b.test", 0xc6336409, 443, 0,
		  REASON_NOT_ALLOWED },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		SCOPED_FD fd = hello_to(rows[i].v4, rows[i].port, rows[i].sni,
					rows[i].flags);
		struct pollfd p = { .fd = world.server, .events = POLLIN };

		ok(fd >= 0 && world_audited(AUDIT_DENY, rows[i].why), "%s: %s",
		   rows[i].what, reason_code(rows[i].why));
		is_int(poll(&p, 1, 0), 0, "%s: nothing is dialled",
		       rows[i].what);
	}
}

static void test_observe(void)
{
	world_swap(observing);
	SCOPED_FD fd = hello_to(0xc6336409, 443, NULL, 0);

	ok(fd >= 0 && world_audited(AUDIT_DENY, REASON_NO_SNI),
	   "observing is no rule for an address");
}

int main(void)
{
	world.kind = LISTEN_TRANSPARENT;
	world_up(policy, 1);
	test_allowed();
	test_named();
	test_denied();
	test_observe();
	world_down();
	return done_testing();
}
