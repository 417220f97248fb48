/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_test.c - answers that a sandbox does not read: the gateway
 * holds so many bytes and no more, loses none, and gives the memory back
 */
#define INSPECT_LIMITS "    limits: { memory: 1MiB }\n"
#include "ottergate/inspect/inspect.h"
#include "tests/unit/ottergate/inspect/inspect_world.h"

#define LIMIT (UINT64_C(1) << 20)
#define CONNS 8u
#define ANSWER (16u * 1024 * 1024)
#define QUIET_MS 300u

static struct side {
	SSL *c, *u;
	size_t sent, got;
	bool wrong;
} sides[CONNS];

static uint8_t byte_at(size_t i)
{
	return (uint8_t)(i % 251);
}

static uint64_t held(void)
{
	return atomic_load(&world.agent->usage.memory);
}

static void unblock(SSL *ssl)
{
	int fd = SSL_get_fd(ssl);

	int small = 128 * 1024; /* the kernel is not to hold it all */

	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	SSL_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE |
				  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

static bool send_some(struct side *s)
{
	uint8_t mem[16384];
	size_t n = ANSWER - s->sent < sizeof(mem) ? ANSWER - s->sent :
						    sizeof(mem);
	int rc;

	for (size_t i = 0; i < n; i++)
		mem[i] = byte_at(s->sent + i);
	rc = n > 0 ? SSL_write(s->u, mem, (int)n) : 0;
	ERR_clear_error();
	if (rc > 0)
		s->sent += (size_t)rc;
	return rc > 0;
}

static bool read_some(struct side *s)
{
	uint8_t mem[16384];
	int rc = SSL_read(s->c, mem, sizeof(mem));

	ERR_clear_error();
	for (int i = 0; i < rc; i++)
		s->wrong |= mem[i] != byte_at(s->got++);
	return rc > 0;
}

/* Until nothing moves any more. Returns the most that was held. */
static uint64_t move(bool read)
{
	uint64_t last = clock_ms(), most = 0;

	while (clock_ms() - last < QUIET_MS * (read ? 3 : 1)) {
		bool did = false;

		for (unsigned i = 0; i < CONNS; i++) {
			did |= send_some(&sides[i]);
			if (read)
				did |= read_some(&sides[i]);
		}
		if (held() > most)
			most = held();
		if (did)
			last = clock_ms();
		else
			poll(NULL, 0, 5);
	}
	return most;
}

static void test_unread(void)
{
	uint64_t most, sum = 0;
	unsigned whole = 0, wrong = 0;
	char text[128];

	snprintf(text, sizeof(text),
		 "HTTP/1.1 200 OK\r\nContent-Length: %u\r\n\r\n", ANSWER);
	for (unsigned i = 0; i < CONNS; i++) {
		struct side *s = &sides[i];

		s->c = client("big.test");
		s->u = upstream();
		if (!s->c || !s->u)
			return;
		say(s->c, GET("/a", "big.test"));
		hears(s->u, UP_GET("/a", "big.test"), "a request");
		say(s->u, text);
		hears_with(s->c, "HTTP/1.1 200 ", "its answer begins");
		unblock(s->c);
		unblock(s->u);
	}
	ok(held() >= CONNS * INSPECT_BASE, "connections are counted: %llu",
	   (unsigned long long)held());
	most = move(false);
	for (unsigned i = 0; i < CONNS; i++)
		sum += sides[i].sent;
	ok(sum > 2 * most, "the servers sent %llu bytes",
	   (unsigned long long)sum);
	ok(most > CONNS * (INSPECT_BASE + CONN_ROOM_LITTLE),
	   "but for what fills the sockets nothing moves");
	ok(most <= LIMIT, "no more is held than the limit: %llu",
	   (unsigned long long)most);
	move(true);
	for (unsigned i = 0; i < CONNS; i++) {
		whole += sides[i].got == ANSWER;
		wrong += sides[i].wrong;
		bye(sides[i].u);
		bye(sides[i].c);
	}
	is_int(whole, CONNS, "nothing is lost: all comes when it is read");
	is_int(wrong, 0, "as it was");
	ok(world_empty(), "nothing is left");
	is_int(held(), 0, "and nothing is counted");
}

/* As many as there is memory for, and no more: the next one is turned away. */
static void test_full(void)
{
	SSL *v[PEERS_MAX / 2] = { NULL }, *u[ARRAY_SIZE(v)] = { NULL };
	unsigned n = 0;

	while (n < ARRAY_SIZE(v) && held() < LIMIT) {
		v[n] = client("big.test");
		u[n] = upstream();
		say(v[n], GET("/a", "big.test"));
		hears(u[n++], UP_GET("/a", "big.test"), "a request");
	}
	ok(n > 8 && n < ARRAY_SIZE(v), "%u connections use it", n);
	hang_up(client_new(peers.client, "big.test", NULL));
	ok(world_audited(AUDIT_LIMIT, REASON_LIMIT_MEMORY),
	   "one more is refused, and audited");
	for (unsigned i = 0; i < n; i++) {
		hang_up(v[i]);
		hang_up(u[i]);
	}
	ok(world_empty(), "nothing is left");
	is_int(held(), 0, "and nothing is counted");
}

int main(void)
{
	if (inspect_up(NULL)) {
		test_unread();
		test_full();
		inspect_down();
	}
	return done_testing();
}
