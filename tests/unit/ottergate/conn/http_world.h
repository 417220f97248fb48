/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_world.h - a worker with its listeners, a test at both ends
 *
 * The policy is a real one. The test is the client and, since dialling is
 * faked here, every upstream, so that each byte on either side is known. A
 * test program includes it once.
 */
#ifndef TESTS_UNIT_OTTERGATE_CONN_HTTP_WORLD_H
#define TESTS_UNIT_OTTERGATE_CONN_HTTP_WORLD_H

#include "ottergate/conn/conn.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/loop.h"
#include "lib/sock.h"
#include "ottergate/policy/load.h"
#include "tests/unit/ottergate/clock.h"
#include "tests/unit/tap.h"

#define GET(path, host) "GET " path " HTTP/1.1\r\nHost: " host "\r\n\r\n"
#define UP_GET(path, host)                     \
	"GET " path " HTTP/1.1\r\nHost: " host \
	"\r\nConnection: keep-alive\r\n\r\n"
#define REPLY "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
#define DOWN                                                   \
	"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: " \
	"keep-alive\r\n\r\nhi"
#define HEADER_MS 400

static const char policy_text[] =
	"version: 1\n"
	"defaults:\n"
	"  timeouts: { request_header: 400ms, idle: 1s }\n"
	"agents:\n"
	"  - id: t\n"
	"    match: { address: 172.20.0.2 }\n"
	"    deny:\n"
	"      - { id: no-c, names: [c.test] }\n"
	"    allow:\n"
	"      - { id: web, names: [a.test, b.test, down.test, slow.test,\n"
	"          hang.test], ports: [80, 443] }\n"
	"      - { id: ws, names: [ws.test], ports: [80], websocket: true }\n"
	"      - { id: ssh, names: [tcp.test, gone.test], ports: [22],\n"
	"          proto: tcp }\n"
	"  - id: slow\n"
	"    match: { address: 172.20.0.3 }\n"
	"    allow: [{ id: web, names: [a.test], ports: [80] }]\n"
	"    limits: { bandwidth: { up: 256KiB/s, down: 256KiB/s } }\n"
	"  - id: poor\n"
	"    match: { address: 172.20.0.4 }\n"
	"    allow: [{ id: web, names: [a.test], ports: [80] }]\n"
	"    limits: { volume: { up: 64KiB/h } }\n"
	"    on_limit: deny\n";

/* The first agent may reach nothing any more. */
static const char poorer_text[] =
	"version: 1\n"
	"agents:\n"
	"  - id: t\n"
	"    match: { address: 172.20.0.2 }\n"
	"    allow: [{ id: web, names: [b.test], ports: [80] }]\n";

static int upstream_fd = -1; /* listens; what dial_start() connects to */
static struct sockaddr_in plain_at, proxy_at; /* the worker's listeners */
static atomic_uint dials;

static struct {
	struct workers *ws;
	struct agent *agent; /* the first */
} world;

/* --- the fake dial ------------------------------------------------------ */

struct dial {
	struct ev *ev;
	dial_fn fn;
	void *arg;
	enum reason why;
	bool cancelled;
	bool pending; /* dial_done() will come, and owns the memory */
};

static inline void dial_done(struct worker *w, void *arg)
{
	struct dial *d = arg;
	struct addr peer = addr_v4(0xc6336401); /* 198.51.100.1 */

	(void)w;
	if (!d->cancelled)
		d->fn(d->arg, d->why, &peer);
	free(d);
}

static inline int upstream_connect(void)
{
	struct sockaddr_in sa;
	socklen_t len = sizeof(sa);
	SCOPED_FD fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (getsockname(upstream_fd, (struct sockaddr *)&sa, &len) < 0 ||
	    connect(fd, (struct sockaddr *)&sa, len) < 0 ||
	    fd_nonblock(fd, 1) < 0)
		return -1;
	return fd_take(&fd);
}

int dial_start(struct worker *w, const struct dial_spec *spec, struct ev *ev,
	       dial_fn fn, void *arg, struct dial **ret)
{
	struct dial *d = malloc(sizeof(*d));

	if (!d)
		return -ENOMEM;
	*d = (struct dial){ .ev = ev, .fn = fn, .arg = arg };
	atomic_fetch_add(&dials, 1);
	if (strcmp(spec->name->s, "down.test") == 0 ||
	    strcmp(spec->name->s, "gone.test") == 0) {
		d->why = REASON_CONNECT_FAILED;
	} else if (strcmp(spec->name->s, "slow.test") == 0) {
		d->why = REASON_CONNECT_TIMEOUT;
	} else if (strcmp(spec->name->s, "hang.test") != 0) {
		d->why = REASON_ALLOWED;
		ev->fd = upstream_connect();
		if (ev->fd < 0 || worker_watch(w, ev) < 0)
			abort();
	}
	*ret = d;
	/* This one goes on until it is cancelled. */
	d->pending = strcmp(spec->name->s, "hang.test") != 0;
	if (d->pending)
		worker_defer(w, dial_done, d);
	return 0;
}

void dial_cancel(struct dial *d)
{
	if (!d)
		return;
	fd_closep(&d->ev->fd);
	if (d->pending)
		d->cancelled = true;
	else
		free(d);
}

/* --- the test's two ends ------------------------------------------------ */

static inline void set_timeout(int fd)
{
	struct timeval tv = { .tv_sec = 3 };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
}

static inline int client(const struct sockaddr_in *at, const char *text)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	set_timeout(fd);
	if (connect(fd, (const struct sockaddr *)at, sizeof(*at)) < 0)
		abort();
	if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		abort();
	return fd;
}

static inline int upstream(void)
{
	int fd = accept4(upstream_fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd >= 0)
		set_timeout(fd);
	return fd;
}

static inline void say(int fd, const char *text)
{
	if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		ok(false, "send %.30s", text);
}

static inline size_t read_upto(int fd, char *out, size_t len)
{
	size_t n = 0;

	while (n < len) {
		ssize_t rc = recv(fd, out + n, len - n, 0);

		if (rc <= 0)
			break;
		n += (size_t)rc;
	}
	out[n] = '\0';
	return n;
}

/* The next bytes are exactly these. */
static inline void hears(int fd, const char *want, const char *what)
{
	char got[4096];

	read_upto(fd, got, strlen(want));
	is_str(got, want, "%s", what);
}

static inline void ends(int fd, const char *what)
{
	char byte;
	ssize_t n = recv(fd, &byte, 1, 0);

	/* Not that nothing came in time. */
	ok(n == 0 || (n < 0 && errno == ECONNRESET), "%s", what);
}

static inline void no_dial(unsigned before, const char *what)
{
	is_int(atomic_load(&dials), before, "%s: nothing was dialled", what);
}

/* --- set-up ------------------------------------------------------------- */

static inline int listen_at(struct sockaddr_in *at)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(*at);

	*at = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	if (fd_nonblock(fd, 1) < 0 ||
	    bind(fd, (struct sockaddr *)at, len) < 0 || listen(fd, 16) < 0 ||
	    getsockname(fd, (struct sockaddr *)at, &len) < 0)
		abort();
	return fd;
}

static inline int policy_read(const char *text, struct policy **ret,
			      struct err *err)
{
	char path[] = "/tmp/otter-http-XXXXXX";
	const char *const paths[] = { path, NULL };
	SCOPED_FD fd = mkstemp(path);
	int rc = -EIO;

	if (fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text))
		rc = policy_load(paths, ret, NULL, err);
	unlink(path);
	return rc;
}

/* The agents of @p are 127.0.0.1, 127.0.0.2, …. The first keeps its struct
 * agent, as it does when its policy changes. */
static inline struct table *world_table(struct policy *p)
{
	struct agent_policy *const *v = NULL;
	size_t n = policy_agents(p, &v);
	struct table_entry e[4] = { 0 };
	struct table *t = NULL;

	for (size_t i = 0; i < n && i < ARRAY_SIZE(e); i++) {
		struct addr source = addr_v4(INADDR_LOOPBACK + (uint32_t)i);

		if (i > 0 || !world.agent)
			e[i].agent = agent_new(agent_policy_id(v[i]), &source);
		if (i == 0 && !world.agent)
			world.agent = agent_ref(e[0].agent);
		else if (i == 0)
			e[0].agent = agent_ref(world.agent);
		e[i].policy = v[i];
	}
	if (table_make(e, n, 1, &t) < 0)
		t = NULL;
	for (size_t i = 0; i < n && i < ARRAY_SIZE(e); i++)
		agent_unref(e[i].agent);
	return t;
}

static inline struct table *table_read(const char *text)
{
	struct policy *p = NULL;
	struct err err = { 0 };
	struct table *t = NULL;

	if (policy_read(text, &p, &err) == 0)
		t = world_table(p);
	else
		ok(false, "policy: %s", err.msg);
	policy_unref(p);
	return t;
}

/* Runs @tests with a worker; they may swap its table. */
static inline int world_run(void (*tests)(void))
{
	static const char *const no_dns[] = { "127.0.0.1", NULL };
	struct err err = { 0 };
	struct sockaddr_in at;
	struct listener l[] = {
		{ .kind = LISTEN_FIXED, .port = 80 },
		{ .kind = LISTEN_PROXY },
	};
	struct workers_opts opts = {
		.count = 1,
		.listeners = l,
		.n_listeners = ARRAY_SIZE(l),
		.dns_servers = no_dns,
		.worker.clocks = &turn_clocks,
	};
	struct table *table = table_read(policy_text);

	l[0].ev.fd = listen_at(&plain_at);
	l[1].ev.fd = listen_at(&proxy_at);
	upstream_fd = listen_at(&at);
	fd_nonblock(upstream_fd, 0); /* the test waits there */
	set_timeout(upstream_fd);
	if (ok(table && workers_start(&opts, table, &world.ws, &err) == 0,
	       "a worker: %s", err.msg))
		tests();
	workers_stop(world.ws);
	table_unref(table);
	agent_unref(world.agent);
	fd_closep(&upstream_fd);
	return done_testing();
}

#endif
