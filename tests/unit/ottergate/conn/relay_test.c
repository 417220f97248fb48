/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_test.c - bytes both ways: ends, resets, back pressure, splice,
 * limits
 */
#include "tests/unit/ottergate/otter_world.h"

#define POLICY_HEAD                                     \
	"version: 1\n"                                  \
	"defaults:\n"                                   \
	"  tls: { min: \"1.2\" }\n"                     \
	"  timeouts: { idle: 700ms, tunnel_max: 3s }\n" \
	"agents:\n"                                     \
	"  - id: coder\n"                               \
	"    match: { address: 172.20.3.2 }\n"          \
	"    allow: [ { id: a, names: [a.test], use: tunnel } ]\n"

static const char plain[] = POLICY_HEAD;
static const char slow[] = POLICY_HEAD
	"    limits: { bandwidth: { up: 1MiB/s } }\n";
static const char metered[] = POLICY_HEAD
	"    limits: { volume: { down: 1MiB/h } }\n"
	"    on_limit: deny\n";

static void test_small(void)
{
	char got[16];
	int server, fd = world_tunnel(&server);

	for (unsigned i = 0; i < 100; i++) {
		send(fd, "ping", 4, MSG_NOSIGNAL);
		if (world_read(server, got, 4) != 4)
			break;
		send(server, "pong!", 5, MSG_NOSIGNAL);
		if (world_read(fd, got, 5) != 5)
			break;
	}
	ok(memcmp(got, "pong!", 5) == 0, "a hundred answers");
	close(fd);
	is_int(world_end(server, GIVE_UP_MS), 0, "the client's end is told");
	close(server);
	ok(world_empty(), "all gone");
	is_int(atomic_load(&world.agent->usage.total_down), 500,
	       "bytes are counted");
}

static void test_half_close(void)
{
	char got[8] = "";
	int server, fd = world_tunnel(&server);

	send(fd, "last", 4, MSG_NOSIGNAL);
	shutdown(fd, SHUT_WR);
	is_int(world_read(server, got, 8), 4, "the client's last words");
	is_int(world_end(server, GIVE_UP_MS), 0, "and its end");
	usleep(50000);
	send(server, "answer", 6, MSG_NOSIGNAL);
	is_int(world_read(fd, got, 6), 6, "the other direction goes on");
	shutdown(server, SHUT_WR);
	is_int(world_end(fd, GIVE_UP_MS), 0, "until it ends as well");
	ok(world_empty(), "and then it is gone");
	close(fd);
	close(server);

	fd = world_tunnel(&server);
	send(server, "bye", 3, MSG_NOSIGNAL);
	close(server);
	is_int(world_read(fd, got, 8), 3, "a server that goes first");
	is_int(world_end(fd, GIVE_UP_MS), 0, "its end is told");
	close(fd);
	ok(world_empty(), "all gone");
}

static void test_reset(void)
{
	char got[8];
	int server, fd = world_tunnel(&server);

	world_close(fd, true);
	is_int(world_end(server, GIVE_UP_MS), -ECONNRESET, "a client's reset");
	close(server);

	fd = world_tunnel(&server);
	send(server, "words", 5, MSG_NOSIGNAL);
	world_close(server, true);
	is_int(world_read(fd, got, 5), 5, "what came before a reset");
	is_int(world_end(fd, GIVE_UP_MS), -ECONNRESET, "a server's reset");
	close(fd);

	fd = world_tunnel(&server);
	shutdown(fd, SHUT_WR);
	is_int(world_end(server, GIVE_UP_MS), 0, "half closed");
	world_close(fd, true);
	usleep(50000);
	ok(send(server, "x", 1, MSG_NOSIGNAL) < 0, "then reset: told as well");
	close(server);
	ok(world_empty(), "all gone");
}

/* --- bulk ----------------------------------------------------------------- */

struct bulk {
	size_t len;
	int fd;
	unsigned seed;
	unsigned pause_every; /* the reader stops so often, in reads */
	bool good;
};

static uint8_t bulk_byte(size_t at, unsigned seed)
{
	return (uint8_t)((at * 2654435761u >> 11) + seed + at);
}

static void *bulk_write(void *arg)
{
	static _Thread_local uint8_t mem[65536];
	struct bulk *b = arg;
	size_t at = 0;

	b->good = true;
	while (at < b->len && b->good) {
		size_t n = b->len - at < sizeof(mem) ? b->len - at :
						       sizeof(mem);

		for (size_t i = 0; i < n; i++)
			mem[i] = bulk_byte(at + i, b->seed);
		for (size_t sent = 0; sent < n && b->good;) {
			ssize_t m =
				send(b->fd, mem + sent, n - sent, MSG_NOSIGNAL);

			b->good = m > 0;
			sent += (size_t)m;
		}
		at += n;
	}
	shutdown(b->fd, SHUT_WR);
	return NULL;
}

static void *bulk_read(void *arg)
{
	static _Thread_local uint8_t mem[65536];
	struct bulk *b = arg;
	size_t at = 0;
	unsigned reads = 0;
	ssize_t n;

	b->good = true;
	while ((n = recv(b->fd, mem, sizeof(mem), 0)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			b->good &= mem[i] == bulk_byte(at + (size_t)i, b->seed);
		at += (size_t)n;
		if (b->pause_every && ++reads % b->pause_every == 0)
			usleep(3000);
	}
	b->good &= n == 0 && at == b->len;
	return NULL;
}

/* Both directions at once, byte-exact. */
static void bulk_run(const char *what, size_t up, size_t down, unsigned pause)
{
	int server, fd = world_tunnel(&server);
	struct bulk v[4] = {
		{ .fd = fd, .len = up, .seed = 1 },
		{ .fd = server, .len = up, .seed = 1, .pause_every = pause },
		{ .fd = server, .len = down, .seed = 2 },
		{ .fd = fd, .len = down, .seed = 2, .pause_every = pause },
	};
	pthread_t t[4];

	for (size_t i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, i % 2 ? bulk_read : bulk_write,
			       &v[i]);
	for (size_t i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	ok(v[0].good && v[1].good, "%s: up", what);
	ok(v[2].good && v[3].good, "%s: down", what);
	close(fd);
	close(server);
	ok(world_empty(), "%s: all gone", what);
}

static void test_bulk(void)
{
	uint64_t spliced;

	bulk_run("a little", 100000, 1000, 0);
	spliced = workers_counter(world.workers, COUNTER_SPLICED);
	is_int(spliced, 0, "little is copied");
	bulk_run("100 MB", 1000, 100u << 20, 0);
	spliced = workers_counter(world.workers, COUNTER_SPLICED);
	ok(spliced > 20u << 20, "much is spliced: %llu",
	   (unsigned long long)spliced);
	bulk_run("both ways, readers that stop", 9u << 20, 12u << 20, 7);
}

/* A client that does not read stops the server, and costs no more memory than
 * the sockets have. */
static void test_pressure(void)
{
	static uint8_t mem[1 << 16];
	int server, fd = world_tunnel(&server);
	size_t sent = 0, got = 0;
	ssize_t n;

	fcntl(server, F_SETFL, O_NONBLOCK);
	for (unsigned idle = 0; idle < 20;) {
		n = send(server, mem, sizeof(mem), MSG_NOSIGNAL);
		if (n > 0) {
			sent += (size_t)n;
			idle = 0;
		} else {
			usleep(10000);
			idle++;
		}
	}
	ok(sent < 96u << 20, "it stops at %zu KiB", sent >> 10);
	shutdown(server, SHUT_WR);
	while ((n = recv(fd, mem, sizeof(mem), 0)) > 0)
		got += (size_t)n;
	ok(n == 0 && got == sent, "and not a byte is lost");
	close(fd);
	close(server);
	ok(world_empty(), "all gone");
}

/* A client that goes away with its socket full. */
static void test_gone(void)
{
	static uint8_t mem[1 << 16];
	int server, fd = world_tunnel(&server);
	unsigned idle = 0;

	fcntl(server, F_SETFL, O_NONBLOCK);
	while (idle < 5) {
		if (send(server, mem, sizeof(mem), MSG_NOSIGNAL) > 0) {
			idle = 0;
			continue;
		}
		usleep(10000);
		idle++;
	}
	world_close(fd, true);
	for (idle = 0; idle < 100; idle++) {
		if (send(server, mem, sizeof(mem), MSG_NOSIGNAL) < 0 &&
		    errno != EAGAIN)
			break;
		usleep(10000);
	}
	ok(idle < 100, "the server is told");
	close(server);
	ok(world_empty(), "all gone");
}

/* A server that sends much and resets: what it had sent arrives. */
static void test_reset_full(void)
{
	static uint8_t mem[100000];
	int server, fd = world_tunnel(&server);
	size_t sent = 0, got;
	ssize_t n;

	/* As much as the two sockets of the gateway take at once. */
	while (sent < sizeof(mem) &&
	       (n = send(server, mem, sizeof(mem) - sent, MSG_NOSIGNAL)) > 0)
		sent += (size_t)n;
	usleep(200000);
	world_close(server, true);
	usleep(50000);
	got = world_read(fd, mem, sizeof(mem));
	ok(got == sent, "%zu of %zu bytes came before the reset", got, sent);
	ok(world_end(fd, GIVE_UP_MS) != -EAGAIN, "and then an end");
	close(fd);
	ok(world_empty(), "all gone");
}

/* --- deadlines and limits ------------------------------------------------- */

static void test_deadlines(void)
{
	char got[8];
	uint64_t before = clock_ms(), took;
	int server, fd = world_tunnel(&server);

	is_int(world_end(fd, GIVE_UP_MS), 0, "an idle one is closed");
	took = clock_ms() - before;
	ok(took >= 690, "when it was idle: %llu ms", (unsigned long long)took);
	close(fd);
	close(server);

	fd = world_tunnel(&server);
	before = clock_ms();
	for (unsigned i = 0; i < 16; i++) {
		usleep(250000);
		if (send(fd, "x", 1, MSG_NOSIGNAL) != 1 ||
		    world_read(server, got, 1) != 1)
			break;
	}
	took = clock_ms() - before;
	ok(took >= 2900, "a busy one reaches its age: %llu ms",
	   (unsigned long long)took);
	ok(world_audited(AUDIT_LIMIT, REASON_LIMIT_AGE), "audited");
	close(fd);
	close(server);
	ok(world_empty(), "all gone");
}

static void test_throttle(void)
{
	uint64_t before, took;

	world_swap(slow);
	before = clock_ms();
	bulk_run("throttled", 2500000, 100000, 0);
	took = clock_ms() - before;
	/* The bucket begins with some of its rate. */
	ok(took > 900, "2.4 MiB at 1 MiB/s: %llu ms", (unsigned long long)took);
	ok(workers_counter(world.workers, COUNTER_THROTTLED) > 0, "counted");
}

static void test_volume(void)
{
	static uint8_t mem[4 << 20];
	int server, fd;
	size_t got;

	world_swap(metered);
	fd = world_tunnel(&server);
	fcntl(server, F_SETFL, O_NONBLOCK);
	send(server, mem, sizeof(mem), MSG_NOSIGNAL);
	got = world_read(fd, mem, sizeof(mem));
	ok(got < 2200000, "cut at the volume: %zu bytes", got);
	ok(world_audited(AUDIT_LIMIT, REASON_LIMIT_VOLUME), "audited");
	close(fd);
	close(server);
	ok(world_empty(), "all gone");
}

/* Not even once more. */
static void test_killed(void)
{
	int server, fd = world_tunnel(&server);
	char got[16] = "";

	send(fd, "ping", 4, MSG_NOSIGNAL);
	is_int(world_read(server, got, 4), 4, "bytes go up");
	world_kill(true);
	send(fd, "more", 4, MSG_NOSIGNAL);
	is_int(world_read(server, got, 4), 0, "none when it is killed");
	ok(world_audited(AUDIT_LIMIT, REASON_LIMIT_KILLED), "audited");
	world_kill(false);
	close(fd);
	close(server);
	ok(world_empty(), "all gone");
}

int main(void)
{
	world_up(plain, 1);
	test_small();
	test_half_close();
	test_reset();
	test_bulk();
	test_pressure();
	test_gone();
	test_reset_full();
	test_killed();
	test_deadlines();
	test_throttle();
	test_volume();
	world_down();
	return done_testing();
}
