/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otter_world.h - real workers with a real policy, a client and a server on
 * loopback
 *
 * The one thing that is not real is the dial: loopback can never be allowed,
 * so the dial here goes to the test's server whatever the name is, or fails
 * as the test wants. The audit is written nowhere, but followed.
 */
#ifndef TESTS_UNIT_OTTERGATE_OTTER_WORLD_H
#define TESTS_UNIT_OTTERGATE_OTTER_WORLD_H

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/attr.h"
#include "lib/loop.h"
#include "lib/str.h"
#include "ottergate/conn/dial.h"
#include "ottergate/policy/load.h"
#include "ottergate/conn/worker.h"
#include "tests/unit/ottergate/clock.h"
#include "tests/unit/tap.h"

#define WORLD_LINES 64u
#define WORLD_LINE_MAX 2048u
#define WORLD_HELLO_MAX 4096u

static struct {
	struct workers *workers;
	struct policy *policy;
	struct table *table;
	struct agent *agent;
	/* For inspection; set before world_up(), the test's own. */
	struct ssl_ctx_st *tls;
	struct leaf_ca *ca;
	struct secret_set *secrets;
	int server; /* listening; what the gateway dials */
	uint16_t gate_port, server_port;
	_Atomic int dial_why; /* enum reason that a dial ends with */
	_Atomic uint32_t dial_v4; /* the address last asked for; 0: a name */
	enum listener_kind kind; /* set before world_up() */
	struct loop *loop;
	struct loop_timer *tick;
	struct audit *audit;
	struct audit_follow *follow;
	char lines[WORLD_LINES][WORLD_LINE_MAX];
	size_t n_lines;
} world = {
	.server = -1,
	.dial_why = REASON_ALLOWED,
	.kind = LISTEN_FIXED,
};

/* --- link-time fakes ------------------------------------------------------ */

struct dial {
	struct ev *ev;
	dial_fn fn;
	void *arg;
};

static inline void world_dialled(struct worker *w, void *arg)
{
	struct addr peer = addr_v4(0xc6336401); /* 198.51.100.1 */
	struct dial *d = arg;
	enum reason why = (enum reason)atomic_load(&world.dial_why);

	(void)w;
	if (d->fn) {
		if (why != REASON_ALLOWED)
			fd_closep(&d->ev->fd);
		d->fn(d->arg, why, &peer);
	}
	free(d);
}

int dial_start(struct worker *w, const struct dial_spec *spec, struct ev *ev,
	       dial_fn fn, void *arg, struct dial **ret)
{
	struct sockaddr_in sa = {
		.sin_family = AF_INET,
		.sin_port = htons(world.server_port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct dial *d = malloc(sizeof(*d));

	uint32_t v4 = 0;

	if (spec->name->len == 0)
		memcpy(&v4, spec->addr.b, sizeof(v4));
	atomic_store(&world.dial_v4, ntohl(v4));
	ev->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(ev->fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		abort();
	fcntl(ev->fd, F_SETFL, O_NONBLOCK);
	if (worker_watch(w, ev) < 0)
		abort();
	*d = (struct dial){ .ev = ev, .fn = fn, .arg = arg };
	worker_defer(w, world_dialled, d);
	*ret = d;
	return 0;
}

void dial_cancel(struct dial *d)
{
	if (!d)
		return;
	fd_closep(&d->ev->fd);
	d->fn = NULL;
}

/* --- the gateway ---------------------------------------------------------- */

static inline int world_listen(uint16_t *ret_port)
{
	struct sockaddr_in sa = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(sa);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 ||
	    listen(fd, 1024) < 0 ||
	    getsockname(fd, (struct sockaddr *)&sa, &len) < 0)
		abort();
	*ret_port = ntohs(sa.sin_port);
	return fd;
}

/* @yaml: a whole policy with one agent, who gets 127.0.0.1. */
static inline struct table *world_table(const char *yaml)
{
	struct addr local = addr_v4(INADDR_LOOPBACK);
	char path[] = "/tmp/otter-world-XXXXXX";
	const char *paths[] = { path, NULL };
	struct agent_policy *const *agents;
	struct table *table = NULL;
	struct table_entry entry;
	struct policy *p = NULL;
	struct err err = { 0 };
	SCOPED_FD fd = mkstemp(path);

	if (fd < 0 || write(fd, yaml, strlen(yaml)) != (ssize_t)strlen(yaml) ||
	    policy_load(paths, &p, NULL, &err) < 0 ||
	    policy_agents(p, &agents) != 1) {
		printf("Bail out! policy: %s\n", err.msg);
		exit(1);
	}
	unlink(path);
	if (!world.agent)
		world.agent = agent_new("coder", &local);
	entry = (struct table_entry){ world.agent, agents[0], world.secrets,
				      world.ca };
	if (table_make(&entry, 1, 7, &table) < 0)
		abort();
	policy_unref(world.policy);
	world.policy = p;
	return table;
}

static inline void world_line(void *arg, const char *line, size_t len)
{
	(void)arg;
	snprintf(world.lines[world.n_lines++ % WORLD_LINES], WORLD_LINE_MAX,
		 "%.*s", (int)len, line);
}

static inline void world_tick(void *arg)
{
	loop_stop(arg, 0);
}

static inline void world_audit(void)
{
	const struct audit_opts opts = {
		.on_full_deny = true,
		.events = AUDIT_EVENTS_DEFAULT | 1u << AUDIT_CLOSE,
	};
	struct err err = { 0 };

	world.loop = loop_new();
	world.tick = loop_timer_new(world.loop, world_tick, world.loop);
	world.audit = audit_new(world.loop, &opts, &err);
	world.follow = audit_follow(world.audit, world_line, NULL);
}

static inline void world_up(const char *yaml, unsigned workers)
{
	struct listener l[8] = { 0 };
	struct workers_opts opts = {
		.count = workers,
		.listeners = l,
		.n_listeners = 1,
		.dns_servers = (const char *const[]){ "127.0.0.1", NULL },
		.worker.tls = world.tls,
		.worker.clocks = &turn_clocks,
	};
	struct err err = { 0 };
	int fd;

	signal(SIGPIPE, SIG_IGN);
	world.server = world_listen(&world.server_port);
	fd = world_listen(&world.gate_port);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	for (unsigned i = 0; i < workers; i++)
		l[i] = (struct listener){
			.ev.fd = i ? dup(fd) : fd,
			.kind = world.kind,
			.port = 443,
		};
	world.table = world_table(yaml);
	world_audit();
	opts.audit = world.audit;
	if (workers_start(&opts, world.table, &world.workers, &err) < 0) {
		printf("Bail out! workers: %s\n", err.msg);
		exit(1);
	}
}

static inline void world_swap(const char *yaml)
{
	table_unref(world.table);
	world.table = world_table(yaml);
	workers_swap(world.workers, world.table);
}

/* As on_limit: kill, or a new bind, does. What has moved is accounted first. */
static inline void world_kill(bool killed)
{
	workers_swap(world.workers, world.table);
	atomic_store(&world.agent->usage.killed, killed);
}

static inline void world_down(void)
{
	workers_stop(world.workers);
	audit_unfollow(world.follow);
	audit_free(world.audit);
	loop_timer_free(world.tick);
	loop_free(world.loop);
	table_unref(world.table);
	policy_unref(world.policy);
	agent_unref(world.agent);
	fd_closep(&world.server);
}

/* Lines that have come, after @ms of listening. */
static inline size_t world_listening(uint64_t ms)
{
	loop_timer_set(world.tick, ms);
	loop_run(world.loop);
	return world.n_lines;
}

/* Such a line comes within @ms. Older ones are forgotten. */
static inline bool world_audited_in(unsigned ms, enum audit_event e,
				    enum reason why)
{
	char event[64], reason[64];

	snprintf(event, sizeof(event), "\"event\":\"%s\"", audit_event_name(e));
	snprintf(reason, sizeof(reason), "\"reason\":\"%s\"", reason_code(why));
	for (unsigned i = 0; i < ms / 10; i++) {
		world_listening(10);
		for (size_t k = 0; k < world.n_lines && k < WORLD_LINES; k++) {
			const char *line = world.lines[k];

			if (strstr(line, event) && strstr(line, reason)) {
				world.n_lines = 0;
				return true;
			}
		}
	}
	printf("# no %s %s\n", event, reason);
	for (size_t k = 0; k < world.n_lines && k < WORLD_LINES; k++)
		printf("# but %s\n", world.lines[k]);
	return false;
}

/* It comes: the bound is only where a test gives up. */
static inline bool world_audited(enum audit_event e, enum reason why)
{
	return world_audited_in(30000, e, why);
}

/* No connection is left, within thirty seconds. */
static inline bool world_empty(void)
{
	for (unsigned i = 0; i < 3000; i++) {
		if (atomic_load(&world.agent->usage.conns) == 0)
			return true;
		usleep(10000);
	}
	return false;
}

/* --- client and server ---------------------------------------------------- */

static inline int world_client(void)
{
	struct sockaddr_in sa = {
		.sin_family = AF_INET,
		.sin_port = htons(world.gate_port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		abort();
	return fd;
}

/* The next connection of the gateway; -1 if none comes in thirty seconds. */
static inline int world_accept(void)
{
	struct pollfd p = { .fd = world.server, .events = POLLIN };

	return poll(&p, 1, 30000) == 1 ?
		       accept4(world.server, NULL, NULL, SOCK_CLOEXEC) :
		       -1;
}

/* Reads @len bytes. How many came before an end or thirty seconds. */
static inline size_t world_read(int fd, void *out, size_t len)
{
	size_t got = 0;

	while (got < len) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t n = poll(&p, 1, 30000) == 1 ?
				    recv(fd, (char *)out + got, len - got, 0) :
				    -1;

		if (n <= 0)
			break;
		got += (size_t)n;
	}
	return got;
}

/* What comes after everything: 0 the end, -errno, -EAGAIN after @ms. */
static inline int world_end(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char c;
	ssize_t n;

	if (poll(&p, 1, ms) != 1)
		return -EAGAIN;
	n = recv(fd, &c, 1, 0);
	return n < 0 ? -errno : n > 0 ? 1 : 0;
}

static inline void world_close(int fd, bool reset)
{
	const struct linger now = { .l_onoff = 1, .l_linger = 0 };

	if (reset)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
}

enum { HELLO_ECH = 1, HELLO_TLS10 = 2, HELLO_TWO_RECORDS = 4 };

/* A ClientHello; @sni NULL: without one. Returns its length. */
static inline size_t world_hello(uint8_t out[WORLD_HELLO_MAX], const char *sni,
				 unsigned flags)
{
	size_t n = sni ? strlen(sni) : 0, ext, hs, at = 5;
	uint8_t *p = out + 9;

	*p++ = 3;
	*p++ = flags & HELLO_TLS10 ? 1 : 3;
	memset(p, 0x5a, 32);
	p += 32;
	*p++ = 0; /* no session */
	memcpy(p, "\x00\x02\x13\x01\x01\x00", 6);
	p += 6;
	ext = (size_t)(p - out);
	p += 2;
	if (sni) {
		const uint8_t head[9] = {
			0, 0, 0,         (uint8_t)(n + 5), 0, (uint8_t)(n + 3),
			0, 0, (uint8_t)n
		};

		memcpy(p, head, 9);
		memcpy(p + 9, sni, n);
		p += 9 + n;
	}
	if (!(flags & HELLO_TLS10)) {
		memcpy(p, "\x00\x2b\x00\x03\x02\x03\x04", 7);
		p += 7;
	}
	if (flags & HELLO_ECH) {
		memcpy(p, "\xfe\x0d\x00\x01\x00", 5);
		p += 5;
	}
	out[ext] = 0;
	out[ext + 1] = (uint8_t)((size_t)(p - out) - ext - 2);
	hs = (size_t)(p - out) - 9;
	out[at] = 1;
	out[at + 1] = 0;
	out[at + 2] = (uint8_t)(hs >> 8);
	out[at + 3] = (uint8_t)hs;
	memcpy(out, "\x16\x03\x01", 3);
	out[3] = (uint8_t)((hs + 4) >> 8);
	out[4] = (uint8_t)(hs + 4);
	if (flags & HELLO_TWO_RECORDS) { /* split after ten bytes */
		size_t rest = hs + 4 - 10;

		memmove(out + 20, out + 15, rest);
		memcpy(out + 15, "\x16\x03\x03", 3);
		out[18] = (uint8_t)(rest >> 8);
		out[19] = (uint8_t)rest;
		out[3] = 0;
		out[4] = 10;
		p += 5;
	}
	return (size_t)(p - out);
}

/* A tunnel to a.test: the client's side, *ret_server the other; the hello has
 * been read there. */
static inline int world_tunnel(int *ret_server)
{
	uint8_t hello[WORLD_HELLO_MAX], got[WORLD_HELLO_MAX];
	size_t len = world_hello(hello, "a.test", 0);
	int fd = world_client();

	*ret_server = -1;
	if (send(fd, hello, len, MSG_NOSIGNAL) == (ssize_t)len)
		*ret_server = world_accept();
	if (*ret_server < 0 || world_read(*ret_server, got, len) != len ||
	    memcmp(hello, got, len) != 0)
		printf("# no tunnel\n");
	return fd;
}

#endif
