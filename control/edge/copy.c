/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy.c - connections to services and to acd: dialled, and their bytes copied
 *
 * Theory of operation: a connection has two sides, the gateway's and the
 * service's; or, of a published port, the client's and acd's. Bytes that one side has sent wait in a buffer of the other. A full
 * buffer stops the reading, so a side that does not read holds back its peer and
 * costs COPY_BUFFER bytes. The end of one direction is passed on when its bytes
 * are (shutdown(2)); the other direction goes on. A connection ends when both
 * directions have ended, or with the first error.
 *
 * acd ends the answer of a sandbox's server by shutdown(2) as well. If it closes
 * instead, while the client may still send, the answer is cut: the server has
 * reset the connection, or the sandbox has ended. The client then gets a reset, not an
 * end that looks whole. Of a client that has ended its own direction this is not
 * known: a unix socket that is closed looks to it as one that is shut down.
 *
 * The bytes are the sandbox's and the other end's. Nothing here looks at them.
 *
 * The first byte to the gateway's side is an enum edge_answer. It goes into an
 * empty buffer, as all that follows does. A client of a port gets none.
 */
#include "control/edge/copy.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "lib/edge_answer.h"

struct copy;

struct side {
	struct copy *copy;
	int fd;
	struct loop_io *io;
	struct buf out; /* from the other side, not written yet */
	bool eof; /* it sends no more */
	bool shut; /* it was told that no more comes */
	bool hung; /* both directions have ended at its end */
};

struct copy {
	LIST_ENTRY(copy) link;
	struct copies *all;
	struct side gate, service;
	struct loop_timer *limit; /* of the dial */
	bool dialled;
	uint16_t port; /* of the service */
	uint32_t id; /* of the published port; 0: it is for a service */
	char name[EDGE_NAME_MAX + 1]; /* of the service, "" for a port */
};

LIST_HEAD(copy_list, copy);

struct copies {
	struct loop *loop;
	struct copy_list list;
	size_t n;
};

struct copies *copies_new(struct loop *loop)
{
	struct copies *cs = calloc(1, sizeof(*cs));

	if (!cs)
		return NULL;
	cs->loop = loop;
	LIST_INIT(&cs->list);
	return cs;
}

static void side_done(struct side *s)
{
	loop_del(s->io);
	buf_done(&s->out);
	fd_closep(&s->fd);
}

static void copy_end(struct copy *c)
{
	side_done(&c->gate);
	side_done(&c->service);
	loop_timer_free(c->limit);
	LIST_REMOVE(c, link);
	c->all->n--;
	free(c);
}

/* Ends it by a reset of the client of a port. */
static void copy_break(struct copy *c)
{
	const struct linger now = { .l_onoff = 1 };

	if (c->id)
		(void)setsockopt(c->gate.fd, SOL_SOCKET, SO_LINGER, &now,
				 sizeof(now));
	copy_end(c);
}

void copies_free(struct copies *cs)
{
	struct copy *c;

	if (!cs)
		return;
	while ((c = LIST_FIRST(&cs->list)))
		copy_end(c);
	free(cs);
}

static bool is_of(const struct copy *c, const char *name, uint32_t id)
{
	return c->id == id && strcmp(c->name, name) == 0;
}

static void end_of(struct copies *cs, const char *name, uint32_t id)
{
	struct copy *c, *next;

	for (c = LIST_FIRST(&cs->list); c; c = next) {
		next = LIST_NEXT(c, link);
		if (is_of(c, name, id))
			copy_end(c);
	}
}

void copies_end(struct copies *cs, const char *name)
{
	end_of(cs, name, 0);
}

void copies_end_port(struct copies *cs, uint32_t id)
{
	end_of(cs, "", id);
}

size_t copies_count(const struct copies *cs)
{
	return cs->n;
}

/* ---- bytes ---- */

static int side_write(struct side *s)
{
	while (buf_len(&s->out) > 0) {
		struct slice b = buf_slice(&s->out);
		ssize_t n =
			send(s->fd, b.ptr, b.len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		buf_consume(&s->out, (size_t)n);
	}
	return 0;
}

/* Reads once from @s, for the buffer of @to. */
static int side_read(struct side *s, struct side *to)
{
	size_t room = s->eof ? 0 : buf_room(&to->out);
	uint8_t *at = room ? buf_reserve(&to->out, room) : NULL;
	ssize_t n;

	if (room == 0)
		return 0;
	if (!at)
		return -ENOMEM;
	n = recv(s->fd, at, room, MSG_DONTWAIT);
	if (n < 0) {
		if (buf_len(&to->out) == 0)
			buf_done(&to->out); /* an idle one costs nothing */
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	}
	buf_commit(&to->out, (size_t)n);
	s->eof = n == 0;
	if (buf_len(&to->out) == 0)
		buf_done(&to->out);
	return 0;
}

/* Returns true if @s is acd's and was closed, not only shut down: then nothing can
 * be sent to it either, not even no byte. EPOLLHUP may not have come yet. */
static bool is_cut(const struct side *s)
{
	const struct copy *c = s->copy;

	return c->id && s == &c->service && !s->shut &&
	       send(s->fd, "", 0, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 &&
	       errno == EPIPE;
}

/* Moves what can be moved from one side to the other. Returns 0 or -errno,
 * -ECONNRESET for what was cut. */
static int direction_run(struct side *from, struct side *to)
{
	int rc = side_write(to);

	if (rc == 0)
		rc = side_read(from, to);
	if (rc == 0)
		rc = side_write(to);
	if (rc < 0 || !from->eof || to->shut || buf_len(&to->out) > 0)
		return rc;
	if (is_cut(from))
		return -ECONNRESET;
	to->shut = true;
	return shutdown(to->fd, SHUT_WR) < 0 && errno != ENOTCONN ? -errno : 0;
}

/* EPOLLERR alone waits for the end of both directions, which is told again and
 * again. */
static int side_watch(struct side *s, const struct side *other)
{
	uint32_t events = s->hung ? 0 : EPOLLERR;

	if (!s->eof && buf_room(&other->out) > 0)
		events |= EPOLLIN;
	if (buf_len(&s->out) > 0)
		events |= EPOLLOUT;
	return loop_mod(s->io, events);
}

static bool is_over(const struct copy *c)
{
	const struct side *a = &c->gate, *b = &c->service;

	if (a->shut && b->shut)
		return true;
	/* One has gone for good, and what it sent is delivered. */
	return (a->hung && a->eof && b->shut) || (b->hung && b->eof && a->shut);
}

static void copy_run(struct copy *c)
{
	struct side *a = &c->gate, *b = &c->service;

	if (direction_run(a, b) < 0 || direction_run(b, a) < 0)
		copy_break(c);
	else if (is_over(c) || side_watch(a, b) < 0 || side_watch(b, a) < 0)
		copy_end(c);
}

static void on_bytes(void *arg, uint32_t events)
{
	struct side *s = arg;

	if (events & EPOLLHUP)
		s->hung = true;
	copy_run(s->copy);
}

/* ---- the dial ---- */

static void say_and_end(struct copy *c, enum edge_answer answer)
{
	const char byte = (char)answer;

	/* One byte fits the buffer of a new socket. */
	(void)!send(c->gate.fd, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	copy_end(c);
}

static enum edge_answer answer_of(int code)
{
	return code == ECONNREFUSED ? EDGE_REFUSED :
	       code == ETIMEDOUT    ? EDGE_TIMEOUT :
				      EDGE_FAILED;
}

static void on_limit(void *arg)
{
	say_and_end(arg, EDGE_TIMEOUT);
}

/* Returns true if @fd is connected with itself: where nothing listens, the kernel
 * may take the port that is dialled for the dialling end too, and a simultaneous
 * open (RFC 9293, section 3.5) succeeds with one socket. */
static bool is_own_peer(int fd, uint16_t port)
{
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} a = { 0 };
	socklen_t len = sizeof(a);

	if (getsockname(fd, &a.any, &len) < 0)
		return true;
	return ntohs(a.any.sa_family == AF_INET6 ? a.in6.sin6_port :
						   a.in.sin_port) == port;
}

/* Ends it by a reset: after an orderly end the service's port would be taken for
 * a minute more. */
static void refuse_own(struct copy *c)
{
	const struct linger now = { .l_onoff = 1 };

	(void)setsockopt(c->service.fd, SOL_SOCKET, SO_LINGER, &now,
			 sizeof(now));
	say_and_end(c, EDGE_REFUSED);
}

static void on_dialled(void *arg, uint32_t events)
{
	struct side *s = arg;
	struct copy *c = s->copy;
	socklen_t len = sizeof(int);
	int code = 0;

	if (c->dialled) {
		on_bytes(arg, events);
		return;
	}
	if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &code, &len) < 0)
		code = errno;
	if (code) {
		say_and_end(c, answer_of(code));
		return;
	}
	if (is_own_peer(s->fd, c->port)) {
		refuse_own(c);
		return;
	}
	c->dialled = true;
	loop_timer_clear(c->limit);
	c->gate.io =
		loop_add(c->all->loop, c->gate.fd, EPOLLIN, on_bytes, &c->gate);
	if (!c->gate.io || buf_put_u8(&c->gate.out, EDGE_CONNECTED) < 0)
		copy_end(c);
	else
		copy_run(c);
}

/* Returns a socket that is connecting, or -errno. */
static int place_connect(const struct edge_order *to)
{
	const struct sockaddr_in in = {
		.sin_family = AF_INET,
		.sin_port = htons(to->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	const struct sockaddr_in6 in6 = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(to->port),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT,
	};
	SCOPED_FD fd = socket(to->v6 ? AF_INET6 : AF_INET,
			      SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int on = 1, rc;

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (to->v6)
		rc = connect(fd, (const struct sockaddr *)&in6, sizeof(in6));
	else
		rc = connect(fd, (const struct sockaddr *)&in, sizeof(in));
	return rc < 0 && errno != EINPROGRESS ? -errno : fd_take(&fd);
}

/* Returns true if there are more of its service or port than may be. */
static bool is_too_many(const struct copies *cs, const struct copy *new)
{
	const struct copy *c;
	unsigned same = 0, ports = 0;

	LIST_FOREACH (c, &cs->list, link) {
		same += is_of(c, new->name, new->id);
		ports += c->id != 0;
	}
	return cs->n > COPY_MAX || same > COPY_SERVICE_MAX ||
	       (new->id &&ports > COPY_PORTS_MAX);
}

static void side_init(struct side *s, struct copy *c, int fd)
{
	s->copy = c;
	s->fd = fd;
	buf_init(&s->out, COPY_BUFFER);
}

/* Takes @fd. Returns NULL without memory, with it closed. */
static struct copy *copy_new(struct copies *cs, int fd)
{
	struct copy *c = calloc(1, sizeof(*c));

	if (!c) {
		close(fd);
		return NULL;
	}
	c->all = cs;
	side_init(&c->gate, c, fd);
	side_init(&c->service, c, -1);
	LIST_INSERT_HEAD(&cs->list, c, link);
	cs->n++;
	return c;
}

void copies_add(struct copies *cs, int fd, const struct edge_order *to)
{
	struct copy *c = copy_new(cs, fd);
	int server;

	if (!c)
		return;
	c->port = to->port;
	memcpy(c->name, to->name, sizeof(c->name));
	if (is_too_many(cs, c)) {
		say_and_end(c, EDGE_FAILED);
		return;
	}
	server = place_connect(to);
	if (server < 0) {
		say_and_end(c, answer_of(-server));
		return;
	}
	c->service.fd = server;
	c->limit = loop_timer_new(cs->loop, on_limit, c);
	c->service.io =
		loop_add(cs->loop, server, EPOLLOUT, on_dialled, &c->service);
	if (!c->limit || !c->service.io)
		say_and_end(c, EDGE_FAILED);
	else
		loop_timer_set(c->limit, COPY_DIAL_MS);
}

/* ---- to acd ---- */

/* Returns a socket that is connected, or -errno: -EAGAIN if acd has too many to
 * accept. */
static int acd_connect(const char *path)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	SCOPED_FD fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (strlen(path) >= sizeof(un.sun_path))
		return -ENAMETOOLONG;
	memcpy(un.sun_path, path, strlen(path) + 1);
	if (connect(fd, (const struct sockaddr *)&un, sizeof(un)) < 0)
		return -errno;
	return fd_take(&fd);
}

void copies_add_port(struct copies *cs, int fd, uint32_t id, const char *path)
{
	struct copy *c = copy_new(cs, fd);
	int server;

	if (!c)
		return;
	c->id = id;
	server = path && !is_too_many(cs, c) ? acd_connect(path) : -ENOMEM;
	if (server < 0) {
		copy_end(c);
		return;
	}
	c->service.fd = server;
	c->dialled = true;
	c->service.io =
		loop_add(cs->loop, server, EPOLLIN, on_bytes, &c->service);
	c->gate.io = loop_add(cs->loop, fd, EPOLLIN, on_bytes, &c->gate);
	if (!c->service.io || !c->gate.io)
		copy_end(c);
	else
		copy_run(c);
}
