/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meant_test.c - connections that do not say their host: the address
 * that they were dialled at does, and the program that asked is known
 */
#include "tests/unit/ottergate/otter_world.h"

#include "ottergate/dns/lease.h"
#include "tests/unit/ottergate/conn/original.h"

#define RULES                                                               \
	"defaults: { tls: { hello_deadline: 300ms } }\n"                    \
	"deny:\n"                                                           \
	"  - { id: never, names: [never.test] }\n"                          \
	"agents:\n"                                                         \
	"  - id: coder\n"                                                   \
	"    match: { address: 172.20.3.2 }\n"                              \
	"    allow:\n"                                                      \
	"      - { id: a, names: [a.test] }\n"                              \
	"      - { id: ssh, names: [git.test], ports: [22], proto: tcp }\n" \
	"      - { id: lit, ips: [198.51.100.0/24], ports: [80] }\n"

static const char policy[] = "version: 1\n" RULES;
static const char observing[] = "version: 1\n" RULES "    mode: observe\n";

static const struct agent_policy *own_policy(void)
{
	return table_at(world.table, 0)->policy;
}

/* The address of a name, as DNS would give it. */
static struct addr address_of(const char *host)
{
	struct name name;

	if (name_canon(slice_str(host), &name) < 0)
		abort();
	return lease_take(world.agent, own_policy(), &name);
}

/* A connection to the address of @host, or to @host as an address. */
static int client_to(const char *host, uint16_t port)
{
	struct addr a;

	if (addr_parse(slice_str(host), &a) < 0)
		a = address_of(host);
	original_set((uint32_t)a.b[0] << 24 | (uint32_t)a.b[1] << 16 |
			     (uint32_t)a.b[2] << 8 | a.b[3],
		     port);
	return world_client();
}

/* Such a line comes within two seconds. */
static bool line_comes(const char *const *parts)
{
	for (unsigned i = 0; i < 200; i++) {
		world_listening(10);
		for (size_t k = 0; k < world.n_lines && k < WORLD_LINES; k++) {
			size_t n = 0;

			while (parts[n] && strstr(world.lines[k], parts[n]))
				n++;
			if (!parts[n])
				return true;
		}
	}
	for (size_t k = 0; k < world.n_lines && k < WORLD_LINES; k++)
		printf("# but %s\n", world.lines[k]);
	return false;
}

static bool has_line(const char *part)
{
	for (size_t k = 0; k < world.n_lines && k < WORLD_LINES; k++)
		if (strstr(world.lines[k], part))
			return true;
	return false;
}

#define RAW(s) s, sizeof(s) - 1
#define DENY(why) "\"event\":\"deny\"", "\"reason\":\"" why "\""
#define NAME(n) "\"name\":\"" n "\""

static const struct {
	const char *host;
	uint16_t port;
	const char *bytes; /* NULL: it leaves at once, "": it waits */
	size_t len;
	const char *parts[6];
} refused[] = {
	{ "evil.test",
	  22,
	  RAW("SSH-2.0-x\r\n"),
	  { DENY("not-allowed"), NAME("evil.test"), "\"port\":22",
	    "\"path\":\"tcp\"" } },
	{ "never.test",
	  22,
	  RAW("SSH-2.0-x\r\n"),
	  { DENY("deny-rule"), NAME("never.test"), "\"rule\":\"never\"" } },
	{ "a.test",
	  22,
	  RAW("SSH-2.0-x\r\n"),
	  { DENY("port"), NAME("a.test"), "\"rule\":\"a\"",
	    "\"path\":\"tcp\"" } },
	{ "a.test",
	  443,
	  RAW("SSH-2.0-x\r\n"),
	  { DENY("not-tls"), NAME("a.test"), "\"path\":\"tls\"" } },
	{ "evil.test",
	  22,
	  "",
	  0,
	  { DENY("not-allowed"), NAME("evil.test"), "\"path\":\"tcp\"" } },
	{ "a.test", 443, "", 0, { DENY("hello-timeout"), NAME("a.test") } },
	{ "evil.test",
	  22,
	  NULL,
	  0,
	  { DENY("not-allowed"), NAME("evil.test") } },
	{ "evil.test",
	  443,
	  RAW("\x16\x03\x01\x00\x02\x02\x00"),
	  { DENY("not-allowed"), NAME("evil.test"), "\"path\":\"tls\"" } },
	{ "192.0.2.1",
	  6379,
	  RAW("SSH-2.0-x\r\n"),
	  { DENY("address-literal"), "\"address\":\"192.0.2.1\"" } },
	{ "192.0.2.1",
	  443,
	  RAW("SSH-2.0-x\r\n"),
	  { DENY("not-tls"), "\"original\":\"192.0.2.1\"" } },
	{ "192.0.2.1",
	  443,
	  NULL,
	  0,
	  { DENY("no-hello"), "\"original\":\"192.0.2.1\"" } },
};

static void test_reasons(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		SCOPED_FD fd = client_to(refused[i].host, refused[i].port);

		if (refused[i].len)
			send(fd, refused[i].bytes, refused[i].len,
			     MSG_NOSIGNAL);
		if (!refused[i].bytes)
			fd_closep(&fd);
		ok(line_comes(refused[i].parts), "%s:%u: row %zu",
		   refused[i].host, refused[i].port, i);
		world.n_lines = 0;
	}
	SCOPED_FD fd = client_to("a.test", 443);

	fd_closep(&fd);
	ok(world_empty(), "who leaves a place that is allowed is gone");
	is_int(world_listening(50), 0, "and is no line");
}

/* The address tells nothing that counts. */
static void test_same_verdict(void)
{
	uint8_t hello[WORLD_HELLO_MAX], got[9];
	size_t len = world_hello(hello, "a.test", 0);
	SCOPED_FD fd = client_to("evil.test", 443);

	send(fd, hello, len, MSG_NOSIGNAL);
	SCOPED_FD server = world_accept();

	ok(server >= 0 && world_read(server, got, 9) == 9,
	   "the name that is said decides");
	ok(line_comes((const char *const[]){ "\"event\":\"allow\"",
					     NAME("a.test"), NULL }),
	   "and is the one in the log");
	world.n_lines = 0;
	len = world_hello(hello, NULL, 0);
	SCOPED_FD mute = client_to("a.test", 443);

	send(mute, hello, len, MSG_NOSIGNAL);
	ok(line_comes((const char *const[]){ DENY("no-sni"), NAME("a.test"),
					     NULL }),
	   "one that says none is refused at an allowed name's address");
	world.n_lines = 0;
}

static void test_http_text(void)
{
	char got[1024] = "";
	SCOPED_FD fd = client_to("evil.test", 80);

	send(fd, "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL);
	world_read(fd, got, sizeof(got) - 1);
	ok(strncmp(got, "HTTP/1.1 400", 12) == 0 && strstr(got, "evil.test"),
	   "the answer names the host that was meant");
	ok(line_comes((const char *const[]){ DENY("not-allowed"),
					     NAME("evil.test"), NULL }),
	   "the log too");
	world.n_lines = 0;
}

/* Who asks for an address means that, wherever it is sent: the line has it, and
 * not the name of the place. */
static void test_address(void)
{
	static const struct {
		const char *what, *request, *parts[4];
	} rows[] = {
		{ "not to be had",
		  "GET / HTTP/1.1\r\nHost: 198.51.100.9\r\n\r\n",
		  { DENY("connect-failed"), "\"address\":\"198.51.100.9\"" } },
		{ "at another port",
		  "GET / HTTP/1.1\r\nHost: 198.51.100.9:81\r\n\r\n",
		  { DENY("host-mismatch"), "\"address\":\"198.51.100.9\"" } },
		{ "denied",
		  "GET / HTTP/1.1\r\nHost: 192.0.2.9\r\n\r\n",
		  { DENY("address-literal"), "\"address\":\"192.0.2.9\"" } },
	};

	atomic_store(&world.dial_why, REASON_CONNECT_FAILED);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		SCOPED_FD fd = client_to("evil.test", 80);

		send(fd, rows[i].request, strlen(rows[i].request),
		     MSG_NOSIGNAL);
		ok(line_comes(rows[i].parts), "an address %s", rows[i].what);
		ok(!has_line(NAME("evil.test")), "and no name");
		world.n_lines = 0;
	}
	uint8_t hello[WORLD_HELLO_MAX];
	size_t len = world_hello(hello, "198.51.100.9", 0);
	SCOPED_FD tls = client_to("evil.test", 443);

	send(tls, hello, len, MSG_NOSIGNAL);
	ok(line_comes((const char *const[]){ DENY("address-literal"), NULL }),
	   "an address in place of a hello's name");
	ok(!has_line(NAME("evil.test")), "and no name either");
	world.n_lines = 0;
	atomic_store(&world.dial_why, REASON_ALLOWED);
	close(world_accept()); /* the one that was dialled, in vain */
}

static void asked_by(const char *host, uint16_t port, uint32_t pid,
		     const char *exe)
{
	struct addr a = address_of(host);
	struct program p = { .pid = pid };

	snprintf(p.exe, sizeof(p.exe), "%s", exe);
	lease_ask(world.agent, &a, port, &p, clock_ms());
}

static void test_program(void)
{
	uint8_t hello[WORLD_HELLO_MAX];
	size_t len = world_hello(hello, "a.test", 0);

	asked_by("a.test", 443, 77, "/usr/bin/\"x\x1b");
	{
		SCOPED_FD fd = client_to("a.test", 443);

		send(fd, hello, len, MSG_NOSIGNAL);
		SCOPED_FD server = world_accept();

		ok(server >= 0 &&
			   line_comes((const char *const[]){
				   "\"event\":\"allow\"", "\"pid\":77",
				   "\"exe\":\"/usr/bin/\\\"x\\u001b\"", NULL }),
		   "an allowed connection has its program");
	}
	ok(line_comes((const char *const[]){ "\"event\":\"close\"",
					     "\"pid\":77", NULL }),
	   "its end too");
	world.n_lines = 0;
	asked_by("evil.test", 443, 5, "/usr/bin/git");
	asked_by("evil.test", 443, 6, "/usr/bin/git");
	SCOPED_FD fd = client_to("evil.test", 443);

	len = world_hello(hello, "evil.test", 0);
	send(fd, hello, len, MSG_NOSIGNAL);
	ok(line_comes((const char *const[]){
		   DENY("not-allowed"), "\"exe\":\"/usr/bin/git\"", NULL }),
	   "a denied one has it");
	ok(!line_comes((const char *const[]){ "\"pid\":", NULL }),
	   "but no pid, when two have asked");
	world.n_lines = 0;
}

static void test_observe(void)
{
	world_swap(observing);
	world.n_lines = 0;
	SCOPED_FD fd = client_to("db.test", 5432);

	send(fd, "\0\0\0\x08", 4, MSG_NOSIGNAL);
	ok(line_comes((const char *const[]){ DENY("not-tls"), NAME("db.test"),
					     "\"path\":\"tcp\"",
					     "\"observed\":true", NULL }),
	   "observe mode: what a tcp rule would have to name");
	world.n_lines = 0;
	SCOPED_FD denied = client_to("never.test", 22);

	send(denied, "SSH-2.0-x\r\n", 11, MSG_NOSIGNAL);
	ok(line_comes((const char *const[]){ DENY("not-tls"),
					     NAME("never.test"), NULL }),
	   "what is denied even then");
	for (size_t k = 0; k < world.n_lines; k++)
		ok(!strstr(world.lines[k], "observed"), "is not proposed");
}

int main(void)
{
	world.kind = LISTEN_TRANSPARENT;
	world_up(policy, 1);
	test_reasons();
	test_same_verdict();
	test_http_text();
	test_address();
	test_program();
	test_observe();
	world_down();
	return done_testing();
}
