/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker_test.c - workers: another table, lists, the stop, floods
 */
#include <sys/resource.h>

#include "tests/unit/ottergate/otter_world.h"

#define POLICY(rules)                                              \
	"version: 1\n"                                             \
	"defaults: { timeouts: { idle: 1m, request_header: 1m }, " \
	"tls: { hello_deadline: 1m } }\n"                          \
	"agents:\n"                                                \
	"  - id: coder\n"                                          \
	"    match: { address: 172.20.3.2 }\n"                     \
	"    allow: [ " rules " ]\n"                               \
	"    limits: { conns: 2000, half_open: 2000, new_conns: 100000/s }\n"

#define RULE(id, name) "{ id: " id ", names: [" name "], use: tunnel }"

static const char both[] = POLICY(RULE("a", "a.test") ", " RULE("b", "b.test"));
static const char only_b[] = POLICY(RULE("b", "b.test"));
static const char renamed[] =
	POLICY(RULE("other", "+test.example") ", " RULE("new", "a.test"));

struct list {
	unsigned n;
	char last[1024];
};

static void listed(void *arg, const char *json, size_t len)
{
	struct list *l = arg;

	l->n++;
	snprintf(l->last, sizeof(l->last), "%.*s", (int)len, json);
}

/* K15: a tunnel does not outlive its rule. */
static void test_swap(void)
{
	char got[4];
	int server, fd = world_tunnel(&server), waiting = world_client();

	world_swap(renamed);
	send(fd, "on", 2, MSG_NOSIGNAL);
	is_int(world_read(server, got, 2), 2, "another rule allows it: stays");
	world_swap(only_b);
	is_int(world_end(fd, 1000), 0, "no rule allows it: closed");
	is_int(world_end(server, 1000), 0, "on both sides");
	ok(world_audited(AUDIT_DENY, REASON_POLICY_GONE), "audited");
	is_int(world_end(waiting, 50), -EAGAIN, "one without a request waits");
	close(fd);
	close(server);

	/* What waits is decided by the policy of then. */
	uint8_t hello[WORLD_HELLO_MAX];
	size_t len = world_hello(hello, "a.test", 0);

	send(waiting, hello, len, MSG_NOSIGNAL);
	ok(world_audited(AUDIT_DENY, REASON_NOT_ALLOWED), "and is denied");
	close(waiting);
	world_swap(both);
	fd = world_tunnel(&server);
	ok(server >= 0, "allowed again");
	close(fd);
	close(server);
	ok(world_empty(), "all gone");
}

/* The sandbox is no more: nothing of it stays, new ones are not read. */
static void test_unbind(void)
{
	struct table *none = NULL;
	int server, fd = world_tunnel(&server), waiting = world_client();

	usleep(50000);
	if (!ok(table_make(NULL, 0, 8, &none) == 0, "an empty table"))
		return;
	workers_swap(world.workers, none);
	is_int(world_end(fd, 1000), 0, "its tunnel is closed");
	is_int(world_end(waiting, 1000), 0, "what waited is closed");
	close(fd);
	close(server);
	close(waiting);
	fd = world_client();
	ok(world_end(fd, 1000) != -EAGAIN, "a stranger is closed at once");
	ok(world_audited(AUDIT_DENY, REASON_NO_AGENT), "audited");
	close(fd);
	table_unref(none);
	workers_swap(world.workers, world.table);
	ok(world_empty(), "all gone");
}

/* More connections than one slice of a sweep; some vanish meanwhile. */
static void test_many(void)
{
	enum { N = 700 };
	static int fds[N];
	struct list l = { 0 };
	uint64_t left_out;

	for (size_t i = 0; i < N; i++)
		fds[i] = world_client();
	for (unsigned i = 0; i < 100 && l.n != N; i++) {
		l.n = 0;
		usleep(10000);
		workers_connections(world.workers, "coder", WORKER_LIST_MAX,
				    listed, &l);
	}
	is_int(l.n, N, "all are listed");
	ok(strstr(l.last, "\"agent\":\"coder\"") &&
		   strstr(l.last, "\"state\":\"request\""),
	   "with what they are: %s", l.last);
	l.n = 0;
	workers_connections(world.workers, "nobody", WORKER_LIST_MAX, listed,
			    &l);
	is_int(l.n, 0, "of nobody there are none");
	left_out =
		workers_connections(world.workers, "coder", 4096, listed, &l);
	ok(l.n > 0 && l.n < 100, "with little room few: %u", l.n);
	is_int(l.n + left_out, N, "and how many are left out");
	for (unsigned i = 0; i < 20; i++) {
		for (size_t k = i; k < N; k += 20)
			close(fds[k]);
		world_swap(i % 2 ? both : renamed);
	}
	ok(world_empty(), "swaps while they go: all gone");
	world_swap(both);
}

/* One slow flood must not cost a good client anything but its own time. */
static void test_slow_flood(void)
{
	enum { N = 900 };
	static int fds[N];
	uint64_t before, worst = 0;

	for (size_t i = 0; i < N; i++) {
		fds[i] = world_client();
		send(fds[i], "\x16\x03\x01", 3, MSG_NOSIGNAL);
	}
	for (unsigned i = 0; i < 50; i++) {
		int server, fd;

		before = clock_ns();
		fd = world_tunnel(&server);
		if (clock_ns() - before > worst)
			worst = clock_ns() - before;
		close(fd);
		close(server);
	}
	ok(worst < 500000000, "a good client waits at most %llu us",
	   (unsigned long long)worst / 1000);
	for (size_t i = 0; i < N; i++)
		close(fds[i]);
	ok(world_empty(), "all gone");
}

static uint64_t cpu_us(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void test_idle(void)
{
	int server, fd = world_tunnel(&server);
	uint64_t before;

	usleep(50000);
	before = cpu_us();
	usleep(500000);
	ok(cpu_us() - before < 5000, "idle costs nothing: %llu us",
	   (unsigned long long)(cpu_us() - before));
	close(fd);
	close(server);
	ok(world_empty(), "all gone");
}

/* Without descriptors, clients are closed instead of left hanging. */
static void test_no_files(void)
{
	struct rlimit old, few;
	int fds[40], highest;
	unsigned told = 0;

	highest = dup(0);
	close(highest);
	getrlimit(RLIMIT_NOFILE, &old);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	few = old;
	few.rlim_cur = (rlim_t)fds[ARRAY_SIZE(fds) - 1] + 5;
	setrlimit(RLIMIT_NOFILE, &few);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		struct sockaddr_in sa = {
			.sin_family = AF_INET,
			.sin_port = htons(world.gate_port),
			.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		};

		if (connect(fds[i], (struct sockaddr *)&sa, sizeof(sa)) < 0)
			abort();
	}
	usleep(200000);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		told += world_end(fds[i], 0) != -EAGAIN;
	ok(told >= 30, "%u of 40 are told", told);
	ok(workers_counter(world.workers, COUNTER_NO_FILES) >= 30, "counted");
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	setrlimit(RLIMIT_NOFILE, &old);
	ok(world_empty(), "all gone");
	int server, fd = world_tunnel(&server);

	ok(server >= 0, "and it works again");
	close(fd);
	close(server);
}

/* A start that fails has taken the sockets all the same: no one is left open
 * and none is closed twice. */
static void test_no_start(void)
{
	struct listener l[3] = { 0 };
	struct workers_opts opts = {
		.count = ARRAY_SIZE(l),
		.listeners = l,
		.n_listeners = 1,
		.dns_servers = (const char *const[]){ "no address", NULL },
	};
	struct workers *ws = NULL;
	struct table *none = NULL;
	struct err err = { 0 };
	uint16_t port;

	if (!ok(table_make(NULL, 0, 1, &none) == 0, "a table"))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(l); i++)
		l[i].ev.fd = world_listen(&port);
	ok(workers_start(&opts, none, &ws, &err) < 0, "no start: %s", err.msg);
	for (size_t i = 0; i < ARRAY_SIZE(l); i++)
		ok(fcntl(l[i].ev.fd, F_GETFD) < 0, "socket %zu is closed", i);
	table_unref(none);
}

int main(void)
{
	int server, fd;

	test_no_start();
	world_up(both, 2);
	is_int(workers_count(world.workers), 2, "two workers");
	test_swap();
	test_unbind();
	test_many();
	test_slow_flood();
	test_idle();
	test_no_files();
	fd = world_tunnel(&server);
	world_down();
	is_int(world_end(fd, 1000), 0, "a stop closes what is open");
	is_int(world_end(server, 1000), 0, "on both sides");
	close(fd);
	close(server);
	return done_testing();
}
