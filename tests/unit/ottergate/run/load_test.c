/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load_test.c - the gateway goes on while somebody reads policies
 *
 * A whole gateway in a thread. Who reads policies is held at its door by the
 * test, so what is answered meanwhile was not waiting for it.
 */
#include "ottergate/run/gate.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "lib/file.h"
#include "lib/sock.h"
#include "ottergate/admin.h"
#include "tests/unit/tap.h"

#define ASK "\x12\x34\x01\0\0\1\0\0\0\0\0\0\1a\4test\0\0\1\0\1"
#define ANSWER_MAX 65536u
#define WAIT_MS 20000 /* of what comes; until then all is well */

static const char shared[] =
	"version: 1\n"
	"presets:\n"
	"  web: { rules: [{ id: web, names: [a.test], use: tunnel }] }\n"
	"agents:\n"
	"  - id: a\n"
	"    match: { address: 127.0.0.1 }\n"
	"    use: [web]\n";
static const char bound[] =
	"version: 1\n"
	"agents: [{ id: b, match: { address: 172.20.0.9 }, use: [web] }]\n";

static struct {
	char dir[64], policy[96], admin[96], ready[96];
	struct gate_opts opts;
	pthread_t thread;
	sem_t at_door, open;
	int result, dns;
} g;

static void on_load(void *arg)
{
	(void)arg;
	sem_post(&g.at_door);
	while (sem_wait(&g.open) < 0)
		;
}

static void *gate_thread(void *arg)
{
	struct err err = { 0 };

	(void)arg;
	g.result = gate_run(&g.opts, &err);
	if (g.result < 0)
		printf("# %s\n", err.msg);
	return NULL;
}

/* A port of 127.0.0.1 that is free for DNS, by UDP and by TCP. */
static uint16_t free_port(void)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sa);

	for (;;) {
		SCOPED_FD udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		SCOPED_FD tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		sa.sin_port = 0;
		if (bind(udp, (struct sockaddr *)&sa, len) < 0 ||
		    getsockname(udp, (struct sockaddr *)&sa, &len) < 0)
			abort();
		if (bind(tcp, (struct sockaddr *)&sa, len) == 0)
			return ntohs(sa.sin_port);
	}
}

static void up(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	sigset_t all;

	sigfillset(&all); /* the control thread asks for its signals */
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	snprintf(g.dir, sizeof(g.dir), "/tmp/otter-load-XXXXXX");
	if (!mkdtemp(g.dir))
		abort();
	snprintf(g.policy, sizeof(g.policy), "%s/p.yaml", g.dir);
	snprintf(g.admin, sizeof(g.admin), "%s/admin", g.dir);
	snprintf(g.ready, sizeof(g.ready), "%s/ready", g.dir);
	file_write_atomic(g.policy, shared, sizeof(shared) - 1, 0644);
	g.opts = (struct gate_opts){
		.admin = g.admin,
		.ready = g.ready,
		.self = addr_v4(INADDR_LOOPBACK),
		.dns_port = free_port(),
		.workers = 2,
		.keep_root = true,
		.on_load = on_load,
	};
	if (strv_push(&g.opts.policy, g.policy) < 0)
		abort();
	sem_init(&g.at_door, 0, 0);
	sem_init(&g.open, 0, 0);
	pthread_create(&g.thread, NULL, gate_thread, NULL);
	to.sin_port = htons(g.opts.dns_port);
	g.dns = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (connect(g.dns, (struct sockaddr *)&to, sizeof(to)) < 0)
		abort();
}

static void down(void)
{
	kill(getpid(), SIGTERM);
	pthread_join(g.thread, NULL);
	is_int(g.result, 0, "the gateway ends well");
	close(g.dns);
	strv_done(&g.opts.policy);
	file_remove_tree(g.dir);
}

static bool is_ready(void)
{
	struct stat st;

	for (int i = 0; i < WAIT_MS / 10; i++) {
		if (stat(g.ready, &st) == 0 && st.st_size > 0)
			return true;
		usleep(10000);
	}
	return false;
}

/* --- asking --------------------------------------------------------------- */

static bool dns_answers(void)
{
	struct pollfd p = { .fd = g.dns, .events = POLLIN };
	uint8_t m[512];

	return send(g.dns, ASK, sizeof(ASK) - 1, 0) == sizeof(ASK) - 1 &&
	       poll(&p, 1, WAIT_MS) == 1 && recv(g.dns, m, sizeof(m), 0) > 12 &&
	       m[7] == 1;
}

static int ask_bytes(enum admin_verb verb, const char *a, struct slice b)
{
	int fd = sock_unix_connect(g.admin);
	struct slice s;
	struct buf out;

	buf_init(&out, ADMIN_REQUEST_MAX + 4);
	if (fd < 0 || admin_request_put(&out, verb, slice_str(a), b) < 0)
		abort();
	s = buf_slice(&out);
	if (send(fd, s.ptr, s.len, 0) != (ssize_t)s.len)
		abort();
	buf_done(&out);
	return fd;
}

static int ask(enum admin_verb verb, const char *a, const char *b)
{
	return ask_bytes(verb, a, slice_str(b));
}

/* The whole answer, as text; closes @fd. "": none. */
static const char *answer(int fd)
{
	static char text[ANSWER_MAX];
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t len = 0;
	ssize_t n = 1;

	while (n > 0 && len < sizeof(text) - 1 && poll(&p, 1, WAIT_MS) == 1) {
		n = recv(fd, text + len, sizeof(text) - 1 - len, 0);
		if (n > 0)
			len += (size_t)n;
	}
	close(fd);
	for (size_t i = 0; i < len; i++)
		if (!text[i])
			text[i] = '.';
	text[len] = '\0';
	return text;
}

static bool waits(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 0;
}

static void goes_on(const char *while_what)
{
	unsigned n = 0;

	for (unsigned i = 0; i < 50; i++)
		n += dns_answers();
	is_int(n, 50, "%s: workers serve", while_what);
	ok(strstr(answer(ask(ADMIN_PING, "", "")), "\"generation\"") != NULL,
	   "%s: the control thread answers", while_what);
}

/* --- tests ---------------------------------------------------------------- */

static void test_reload(void)
{
	int reload = ask(ADMIN_RELOAD, "", ""), bind;

	sem_wait(&g.at_door);
	goes_on("a reload");
	bind = ask(ADMIN_BIND, "b", bound);
	goes_on("a bind behind it");
	ok(waits(reload) && waits(bind), "both wait");
	sem_post(&g.open);
	ok(strstr(answer(reload), "\"ok\":true") != NULL, "it is read");
	sem_wait(&g.at_door);
	goes_on("then the bind");
	ok(waits(bind), "which waits");
	sem_post(&g.open);
	ok(strstr(answer(bind), "\"ok\":true") != NULL, "and is done");
	ok(strstr(answer(ask(ADMIN_SHOW, "b", "")), "web") != NULL,
	   "its policy holds");
}

static void test_bind(void)
{
	int bad = ask(ADMIN_BIND, "b", "version: 1\nagents: 7\n"), unbind;

	sem_wait(&g.at_door);
	unbind = ask(ADMIN_UNBIND, "b", "");
	goes_on("a bind");
	ok(waits(unbind), "an unbind waits for it");
	sem_post(&g.open);
	ok(strstr(answer(bad), "\"ok\":false") != NULL,
	   "a bad policy is refused");
	ok(strstr(answer(unbind), "\"ok\":true") != NULL, "the unbind is done");
	ok(strstr(answer(ask(ADMIN_SHOW, "b", "")), "no agent") != NULL,
	   "and holds");
}

/* The next job is at the door. */
static void at_door(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += WAIT_MS / 1000;
	ok(sem_timedwait(&g.at_door, &until) == 0, "a job begins");
}

static bool is_done(int fd)
{
	return strstr(answer(fd), "\"ok\":true") != NULL;
}

/* However many binds wait, the rights that a reload takes away are gone with
 * the next job; and however many reloads, a bind has its turn. */
static void test_turns(void)
{
	int first = ask(ADMIN_BIND, "b", bound), second, reload, other;

	at_door();
	second = ask(ADMIN_BIND, "b", bound);
	goes_on("a bind that waits");
	reload = ask(ADMIN_RELOAD, "", "");
	goes_on("and a reload");
	sem_post(&g.open);
	ok(is_done(first), "the first bind is done");
	at_door();
	other = ask(ADMIN_RELOAD, "", "");
	goes_on("and another reload");
	sem_post(&g.open);
	ok(is_done(reload), "then the reload");
	ok(waits(second) && waits(other), "the others wait");
	at_door();
	sem_post(&g.open);
	ok(is_done(second), "then the bind");
	ok(waits(other), "before the other reload");
	at_door();
	sem_post(&g.open);
	ok(is_done(other), "which is the last");
}

/* A policy has a NUL in it: what stands behind is read as it was sent, and no
 * byte more (with sanitizers, that is seen). */
static void test_nul(void)
{
	static const char text[4096] = "version: 1\n";
	int bind = ask_bytes(ADMIN_BIND, "b", slice_of(text, sizeof(text)));

	sem_wait(&g.at_door);
	sem_post(&g.open);
	ok(strstr(answer(bind), "\"ok\":false") != NULL,
	   "a policy with a NUL is refused");
}

/* Who has asked is gone by the time it is done. */
static void test_gone(void)
{
	int bind = ask(ADMIN_BIND, "b", bound);

	sem_wait(&g.at_door);
	close(bind);
	goes_on("a bind of nobody");
	sem_post(&g.open);
	ok(strstr(answer(ask(ADMIN_UNBIND, "b", "")), "\"ok\":true") != NULL,
	   "it is done all the same");
}

int main(void)
{
	up();
	if (ok(is_ready(), "the gateway is ready")) {
		test_reload();
		test_bind();
		test_turns();
		test_nul();
		test_gone();
	}
	down();
	return done_testing();
}
