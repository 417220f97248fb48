/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_test.c - connections to services, on real sockets
 */
#include "control/edge/copy.h"

#include "lib/file.h"
#include "lib/sock.h"
#include "tests/unit/control/edge/world.h"
#include "tests/unit/ottergate/netns.h"

#define MUCH (4u * 1024 * 1024)

static struct copies *copies;
static int listener;
static struct edge_order llm = { .name = "llm" };

/* Returns the gateway's end of a connection to @to. */
static int dial(const struct edge_order *to)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		       ends) < 0)
		return -1;
	copies_add(copies, ends[1], to);
	return ends[0];
}

/* A connection that is there: both ends, and the answer read. */
static void connected(int *ret_gate, int *ret_server)
{
	*ret_gate = dial(&llm);
	*ret_server = accepted(listener);
	ok(*ret_server >= 0, "the service is dialled");
	is_str(heard(*ret_gate), "c", "and the gateway told");
}

static void over(const char *what)
{
	until(copies_count(copies) == 0);
	is_int(copies_count(copies), 0, "%s: nothing is left", what);
}

static void test_both_ways(void)
{
	SCOPED_FD gate = -1, server = -1;

	connected(&gate, &server);
	say(gate, "question");
	is_str(heard(server), "question", "from the gateway");
	say(server, "answer");
	is_str(heard(gate), "answer", "from the service");
	shutdown(gate, SHUT_WR);
	is_str(heard(server), "", "the end of one direction");
	say(server, "more");
	is_str(heard(gate), "more", "the other goes on");
	is_int(copies_count(copies), 1, "and is one connection");
	shutdown(server, SHUT_WR);
	is_str(heard(gate), "", "the end of the other");
	over("both ended");
}

static void test_service_ends_first(void)
{
	SCOPED_FD gate = -1, server = -1;

	connected(&gate, &server);
	say(server, "all");
	shutdown(server, SHUT_WR);
	is_str(heard(gate), "all", "what it sent");
	is_str(heard(gate), "", "and its end");
	say(gate, "late");
	is_str(heard(server), "late", "the gateway may go on");
	fd_closep(&gate);
	is_str(heard(server), "", "until it ends");
	over("the service first");
}

static void test_failures(void)
{
	struct edge_order shut = { .name = "shut" };
	SCOPED_FD closed = serve(false, &shut.port);
	SCOPED_FD gate = -1;

	fd_closep(&closed);
	gate = dial(&shut);
	is_str(heard(gate), "r", "nothing listens");
	is_str(heard(gate), "", "and it ends");
	over("refused");
}

/* Both directions at a time: more than any buffer, against one that waits. */
static void test_much(void)
{
	static uint8_t out[MUCH], in[MUCH];
	SCOPED_FD gate = -1, server = -1;
	size_t sent = 0, got = 0, stuck;
	uint64_t end = clock_ms() + GIVE_UP_MS;

	for (size_t i = 0; i < MUCH; i++)
		out[i] = (uint8_t)(i * 2654435761u >> 13);
	connected(&gate, &server);
	for (unsigned idle = 0; idle < 5 && sent < MUCH;) {
		ssize_t n = send(gate, out + sent, MUCH - sent, MSG_NOSIGNAL);

		sent += n > 0 ? (size_t)n : 0;
		idle = n > 0 ? 0 : idle + 1;
		turn();
	}
	stuck = sent;
	ok(stuck > 0, "%zu bytes are taken from it", stuck);
	while (got < MUCH && clock_ms() < end) {
		ssize_t n = send(gate, out + sent, MUCH - sent, MSG_NOSIGNAL);

		sent += n > 0 ? (size_t)n : 0;
		n = recv(server, in + got, MUCH - got, MSG_DONTWAIT);
		got += n > 0 ? (size_t)n : 0;
		if (n <= 0)
			turn();
	}
	ok(got == MUCH && memcmp(in, out, MUCH) == 0, "all come, as they were");
	shutdown(gate, SHUT_WR);
	shutdown(server, SHUT_WR);
	over("much");
}

/* What was sent before an end is delivered, though it waits. */
static void test_end_after_much(void)
{
	static uint8_t some[COPY_BUFFER * 3];
	SCOPED_FD gate = -1, server = -1;
	size_t got = 0;
	ssize_t n = -1;

	connected(&gate, &server);
	n = send(gate, some, sizeof(some), MSG_NOSIGNAL);
	ok(n > (ssize_t)COPY_BUFFER, "%zd bytes, and it is gone", n);
	fd_closep(&gate);
	for (ssize_t m = -1; m != 0;) {
		m = -1;
		until((m = recv(server, some, sizeof(some), MSG_DONTWAIT)) >=
		      0);
		if (m < 0)
			break;
		got += (size_t)m;
	}
	is_int(got, n, "all of them come");
	over("gone");
}

static void test_gone(void)
{
	const struct linger now = { .l_onoff = 1 };
	SCOPED_FD gate = -1, server = -1;

	connected(&gate, &server);
	fd_closep(&gate);
	is_str(heard(server), "", "the gateway is gone");
	over("a service that says nothing");
	connected(&gate, &server);
	setsockopt(server, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	fd_closep(&server);
	is_str(heard(gate), "", "the service is gone");
	over("reset");
}

static void test_limits(void)
{
	struct edge_order other = { .name = "other", .port = llm.port };
	int gates[COPY_SERVICE_MAX], servers[COPY_SERVICE_MAX];
	SCOPED_FD more = -1, another = -1, at_other = -1;

	for (size_t i = 0; i < COPY_SERVICE_MAX; i++) {
		gates[i] = dial(&llm);
		servers[i] = accepted(listener);
	}
	is_int(copies_count(copies), COPY_SERVICE_MAX, "as many as may be");
	more = dial(&llm);
	is_str(heard(more), "f", "one more is none");
	another = dial(&other);
	at_other = accepted(listener);
	is_str(heard(another), "c", "of another service it is one");
	copies_end(copies, "llm");
	is_int(copies_count(copies), 1, "those of one service are ended");
	is_str(heard(gates[0]), "c", "with what they had");
	is_str(heard(gates[0]), "", "and no more");
	for (size_t i = 0; i < COPY_SERVICE_MAX; i++) {
		close(gates[i]);
		close(servers[i]);
	}
	copies_end(copies, "other");
	over("limits");
}

/* ---- a published port ---- */

/* Returns the client's end of a connection to a port. */
static int port_dial(int at, int port_listener, const char *path)
{
	SCOPED_FD client =
		socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	const struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)at),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd;

	ok(connect(client, (const struct sockaddr *)&to, sizeof(to)) == 0 ||
		   errno == EINPROGRESS,
	   "a client");
	fd = accepted(port_listener);
	copies_add_port(copies, fd, 7, path);
	return fd_take(&client);
}

static void test_port(void)
{
	char dir[] = "/tmp/edge-copy-XXXXXX", path[64];
	uint16_t port = 0;
	SCOPED_FD clients = serve(false, &port);
	SCOPED_FD at = -1;

	if (!ok(mkdtemp(dir) && clients >= 0, "a place"))
		return;
	snprintf(path, sizeof(path), "%s/port", dir);
	at = sock_unix_listen(path, 0600, 8);
	for (unsigned i = 0; i < 3; i++) {
		SCOPED_FD client = port_dial(port, clients, path);
		SCOPED_FD acd = accepted(at);

		say(client, "ask");
		is_str(heard(acd), "ask", "to acd");
		say(acd, "answer");
		if (i == 1) {
			shutdown(client, SHUT_WR);
			is_str(heard(acd), "", "the client ends first");
		}
		if (i == 0)
			shutdown(acd, SHUT_WR);
		else
			fd_closep(&acd);
		is_str(heard(client), "answer", "what came");
		is_str(heard(client), i < 2 ? "" : "reset", "%s",
		       i < 2 ? "and an orderly end" : "and a cut");
		fd_closep(&client);
		over("a port");
	}
	unlink(path);
	rmdir(dir);
}

static void test_v6(void)
{
	struct edge_order six = { .name = "six", .v6 = true };
	SCOPED_FD at = serve(true, &six.port), gate = -1, server = -1;

	if (at < 0) {
		skip("no IPv6 on this machine's loopback");
		return;
	}
	gate = dial(&six);
	server = accepted(at);
	is_str(heard(gate), "c", "a service at ::1");
	fd_closep(&gate);
	over("IPv6");
}

/* In a network of two ports, where the kernel soon takes the service's own. */
static void test_own_peer(void)
{
	struct edge_order gone = { .name = "gone", .port = 50052 };
	char said[2] = { 0 };
	bool v6;

	if (netns_enter(&v6) < 0 ||
	    file_put("/proc/sys/net/ipv4/ip_local_port_range", "50052 50053") <
		    0) {
		skip("no network of its own here");
		return;
	}
	for (int i = 0; i < 200 && *said != 'c'; i++) {
		SCOPED_FD gate = dial(&gone);

		snprintf(said, sizeof(said), "%.1s", heard(gate));
		until(copies_count(copies) == 0);
	}
	is_str(said, "r", "a service that is down never answers by itself");
	SCOPED_FD at = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const struct sockaddr_in own = {
		.sin_family = AF_INET,
		.sin_port = htons(gone.port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	ok(bind(at, (const struct sockaddr *)&own, sizeof(own)) == 0,
	   "and may have its port again at once");
}

int main(void)
{
	if (ok(world_init(), "a loop") &&
	    ok((copies = copies_new(loop)) != NULL, "connections") &&
	    ok((listener = serve(false, &llm.port)) >= 0, "a service")) {
		test_both_ways();
		test_service_ends_first();
		test_failures();
		test_much();
		test_end_after_much();
		test_gone();
		test_limits();
		test_port();
		test_v6();
		test_own_peer();
		close(listener);
	}
	copies_free(copies);
	copies_free(NULL);
	loop_free(loop);
	return done_testing();
}
