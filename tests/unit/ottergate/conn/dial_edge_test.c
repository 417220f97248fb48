/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dial_edge_test.c - dialling a service of the user's own loopback
 *
 * The test is ac-edge. The time stands still, but where it is to run out.
 */
#include "ottergate/conn/dial.h"

#include "lib/sock.h"
#include "tests/unit/ottergate/conn/dial_world.h"

static const struct edge_case {
	const char *what;
	const char *answer; /* NULL: none; "" closes */
	enum reason why;
} edge_cases[] = {
	{ "connected", "chello", REASON_ALLOWED },
	{ "nothing listens there", "r", REASON_CONNECT_REFUSED },
	{ "it does not answer", "t", REASON_CONNECT_TIMEOUT },
	{ "it failed", "f", REASON_CONNECT_FAILED },
	{ "an answer that is none", "\n", REASON_CONNECT_FAILED },
	{ "ac-edge ended", "", REASON_EDGE_DOWN },
	{ "nothing", NULL, REASON_CONNECT_TIMEOUT },
};

/* Answers, at once or once the dial waits, and ends with what is no success. */
static void edge_serve(struct caller *c, int listener,
		       const struct edge_case *e, bool late)
{
	SCOPED_FD fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (late)
		round_run(&w, 10);
	if (e->answer)
		send(fd, e->answer, strlen(e->answer), MSG_NOSIGNAL);
	if (e->answer && e->why != REASON_ALLOWED)
		fd_closep(&fd);
	rounds.step_ms = e->answer ? 0 : STEP_MS;
	round_until(&w, &c->done, GIVE_UP_MS);
	rounds.step_ms = 0;
}

static void test_edge_answers(int listener)
{
	char rest[16] = "";
	struct caller c;

	for (size_t i = 0; i < 2 * ARRAY_SIZE(edge_cases); i++) {
		const struct edge_case *e = &edge_cases[i / 2];

		begin(&c, "absent.test", "");
		is_int(c.calls, 0, "%s: no call from within", e->what);
		edge_serve(&c, listener, e, i % 2);
		if (c.why == REASON_ALLOWED) {
			recv(c.ev.fd, rest, sizeof(rest) - 1, MSG_DONTWAIT);
			is_str(rest, "hello", "the service's bytes are there");
		}
		check(&c, e->what, e->why, "198.51.100.1");
	}
}

static void edge_is_down(const char *what)
{
	struct caller c;

	begin(&c, "absent.test", "");
	round_until(&w, &c.done, GIVE_UP_MS);
	check(&c, what, REASON_EDGE_DOWN, "");
}

/* No packet goes to the address, where a server does listen. */
static void test_edge(void)
{
	char dir[] = "/tmp/dial-edge-XXXXXX", path[64];
	SCOPED_FD listener = -1;
	struct caller c;

	if (!ok(mkdtemp(dir) != NULL, "a folder"))
		return;
	snprintf(path, sizeof(path), "%s/llm", dir);
	rule = (struct rule){ .service = true,
			      .socket = "llm",
			      .service_ip = ip("198.51.100.1") };
	service = &rule;
	edge_is_down("no folder");
	opts.edge = dir;
	edge_is_down("no socket");
	listener = sock_unix_listen(path, 0600, 16);
	if (ok(listener >= 0, "a socket"))
		test_edge_answers(listener);
	begin(&c, "absent.test", "");
	dial_cancel(c.dial);
	round_run(&w, 0);
	is_int(c.calls, 0, "a cancelled one is not told");
	fd_closep(&listener);
	edge_is_down("a socket without a listener");
	rule.service_ip = ip("10.0.0.1");
	begin(&c, "absent.test", "");
	round_until(&w, &c.done, GIVE_UP_MS);
	check(&c, "judged as all are", REASON_BUILTIN_ADDRESS, "");
	rule = (struct rule){ .service = false };
	service = NULL;
	opts.edge = NULL;
	unlink(path);
	rmdir(dir);
}

int main(void)
{
	round_init(&w, &opts);
	rounds.own_time = true;
	test_edge();
	shares_free(w.shares);
	close(w.epfd);
	return done_testing();
}
