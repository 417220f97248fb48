/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boss_test.c - acd's orders followed: the test is acd, and the gateway
 */
#include "control/edge/boss.h"

#include <sys/stat.h>

#include "lib/sock.h"
#include "lib/str.h"
#include "tests/unit/control/edge/world.h"

static char dir[] = "/tmp/edge-boss-XXXXXX";
static char at[64], sock[64], other[64]; /* acd's, and two services' */
static struct boss *boss;
static struct copies *copies;
static struct places *places;
static struct listeners *ports;
static int acd = -1; /* listens */
static uint16_t port;

static void order(int fd, const struct edge_orders *o)
{
	struct buf out;

	buf_init(&out, EDGE_FRAME_MAX + 4);
	ok(edge_orders_put(&out, o) == 0 &&
		   send(fd, buf_slice(&out).ptr, buf_len(&out), MSG_NOSIGNAL) ==
			   (ssize_t)buf_len(&out),
	   "%zu orders", o->n);
	buf_done(&out);
}

static struct edge_report reported(int fd)
{
	struct edge_report r = { .listening = 99 };
	uint8_t mem[512];
	size_t used = 0;
	ssize_t n = -1;

	until((n = recv(fd, mem, sizeof(mem), MSG_DONTWAIT)) >= 0);
	ok(n > 0 && edge_report_get(slice_of(mem, (size_t)n), &r, &used) == 0,
	   "a report");
	return r;
}

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static void test_orders(int link, int listener)
{
	struct edge_orders o = {
		.v = { { "llm", false, port }, { "db", false, 1 } }, .n = 2
	};
	SCOPED_FD gate = -1, server = -1;

	order(link, &o);
	is_int(reported(link).listening, 2, "two services");
	ok(is_there(sock) && is_there(other), "have their sockets");
	gate = sock_unix_connect(sock);
	server = accepted(listener);
	is_str(heard(gate), "c", "one is dialled");
	o.n = 1;
	order(link, &o);
	is_int(reported(link).listening, 1, "one is left");
	ok(is_there(sock) && !is_there(other), "and only its socket");
	say(gate, "still");
	is_str(heard(server), "still", "its connections go on");
	o.v[0].port = 1;
	order(link, &o);
	is_int(reported(link).listening, 1, "it is elsewhere now");
	is_str(heard(gate), "", "connections to the old place end");
	fd_closep(&gate);
	gate = sock_unix_connect(sock);
	is_str(heard(gate), "r", "a new one goes to the new place");
}

/* A file that is no socket is not replaced, and said. */
static void test_in_the_way(int link)
{
	const struct edge_orders o = {
		.v = { { "llm", false, port }, { "db", false, 1 } }, .n = 2
	};
	struct edge_report r;

	ok(mkdir(other, 0700) == 0, "a folder in the way");
	order(link, &o);
	r = reported(link);
	is_int(r.listening, 1, "one of two");
	ok(str_starts(r.text, "'db': "), "and which is not: %s", r.text);
	rmdir(other);
}

static void test_lost(int *link, int listener)
{
	const struct edge_orders o = { .v = { { "llm", false, port } },
				       .n = 1 };
	SCOPED_FD gate = -1, server = -1;

	order(*link, &o);
	is_int(reported(*link).listening, 1, "a service");
	gate = sock_unix_connect(sock);
	server = accepted(listener);
	is_str(heard(gate), "c", "that is dialled");
	fd_closep(link);
	is_str(heard(gate), "", "acd is gone, and with it the connection");
	ok(!is_there(sock), "and the socket");
	*link = accepted(acd);
	ok(*link >= 0, "it comes back to acd");
	order(*link, &o);
	is_int(reported(*link).listening, 1, "and does as it is told");
}

/* Returns a connection to a port of 127.0.0.1, or -1. */
static int dial(uint16_t to)
{
	const struct sockaddr_in in = {
		.sin_family = AF_INET,
		.sin_port = htons(to),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	SCOPED_FD fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)&in, sizeof(in)) < 0)
		return -1;
	return fd_take(&fd);
}

/* Published ports: the test is acd, which has a socket for each. */
static void test_ports(int link)
{
	struct edge_orders o = { .ports = { { .id = 3,
					      .address = { 127, 0, 0, 1 } },
					    { .id = 7,
					      .address = { 127, 0, 0, 1 },
					      .port = port } },
				 .n_ports = 2 };
	SCOPED_STR at_acd = str_printf("%s/port.3", dir);
	SCOPED_FD own = sock_unix_listen(at_acd, 0600, 4);
	SCOPED_FD client = -1, in = -1;
	struct edge_report r;

	order(link, &o);
	r = reported(link);
	ok(r.n_ports == 2 && r.ports[0].id == 3 && r.ports[0].port > 0,
	   "a free port is chosen");
	is_int(r.ports[1].error, EADDRINUSE, "one that is taken is said");
	client = dial(r.ports[0].port);
	in = accepted(own);
	ok(client >= 0 && in >= 0, "a client comes to acd");
	say(client, "GET");
	is_str(heard(in), "GET", "its first byte is the client's");
	say(in, "200");
	is_str(heard(client), "200", "and so is acd's");
	shutdown(client, SHUT_WR);
	is_str(heard(in), "", "the end of one direction is passed on");
	say(in, "late");
	is_str(heard(client), "late", "the other goes on");
	fd_closep(&in);
	is_str(heard(client), "", "until it ends");
	fd_closep(&client);
	client = dial(r.ports[0].port);
	in = accepted(own);
	o.n_ports = 1;
	o.ports[0].port = r.ports[0].port;
	order(link, &o);
	is_int(reported(link).ports[0].port, r.ports[0].port,
	       "what stays ordered stays open");
	say(in, "still");
	is_str(heard(client), "still", "with its connections");
	o.n_ports = 0;
	order(link, &o);
	is_int(reported(link).n_ports, 0, "none is ordered");
	ok(*heard(client) == '\0' || strcmp(heard(client), "reset") == 0,
	   "its connections end");
	is_int(dial(r.ports[0].port), -1, "and nothing listens");
	unlink(at_acd);
}

static void test_bad(int *link)
{
	say(*link, "GET / HTTP/1.1\r\n");
	is_str(heard(*link), "", "what is no frame ends the connection");
	until(!is_there(sock));
	ok(!is_there(sock), "and all sockets");
	fd_closep(link);
	*link = accepted(acd);
	ok(*link >= 0, "it comes back then, too");
}

int main(void)
{
	SCOPED_FD listener = serve(false, &port);
	int link = -1;

	if (!ok(mkdtemp(dir) && world_init() && listener >= 0, "a place"))
		return done_testing();
	snprintf(at, sizeof(at), "%s/acd.sock", dir);
	snprintf(sock, sizeof(sock), "%s/llm", dir);
	snprintf(other, sizeof(other), "%s/db", dir);
	copies = copies_new(loop);
	places = copies ? places_new(loop, dir, copies) : NULL;
	ports = places ? listeners_new(loop, dir, copies) : NULL;
	boss = ports ? boss_new(loop, at, places, ports) : NULL;
	if (ok(boss != NULL, "nothing listens yet")) {
		turn();
		acd = sock_unix_listen(at, 0600, 4);
		link = accepted(acd);
		ok(link >= 0, "it waits for acd");
		test_orders(link, listener);
		test_in_the_way(link);
		test_ports(link);
		test_lost(&link, listener);
		test_bad(&link);
	}
	boss_free(boss);
	listeners_free(ports);
	places_free(places);
	copies_free(copies);
	loop_free(loop);
	fd_closep(&link);
	fd_closep(&acd);
	unlink(at);
	is_int(rmdir(dir), 0, "nothing is left in the folder");
	return done_testing();
}
