/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listeners.c - the published ports, as acd has ordered them
 *
 * Each connection becomes one to acd, at a socket of that port. Its bytes are the
 * client's and the sandbox's, and are only copied.
 */
#include "control/edge/listeners.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "control/shared/paths.h"
#include "lib/log.h"
#include "lib/str.h"

#define BACKLOG 128

struct listener {
	struct listeners *all;
	struct edge_port order; /* id 0: a free place */
	int fd;
	struct loop_io *io;
	uint16_t bound;
};

struct listeners {
	struct loop *loop;
	const char *dir;
	struct copies *copies;
	struct listener v[EDGE_PORTS_MAX];
};

union place {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

struct listeners *listeners_new(struct loop *loop, const char *dir,
				struct copies *copies)
{
	struct listeners *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->loop = loop;
	p->dir = dir;
	p->copies = copies;
	for (size_t i = 0; i < ARRAY_SIZE(p->v); i++)
		p->v[i] = (struct listener){ .all = p, .fd = -1 };
	return p;
}

static void listener_close(struct listener *l)
{
	loop_del(l->io);
	l->io = NULL;
	fd_closep(&l->fd);
	copies_end_port(l->all->copies, l->order.id);
	l->order.id = 0;
	l->bound = 0;
}

void listeners_free(struct listeners *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(p->v); i++)
		if (p->v[i].order.id)
			listener_close(&p->v[i]);
	free(p);
}

/* As places.c does: without a descriptor it could only spin. */
static void on_connection(void *arg, uint32_t events)
{
	const struct listener *l = arg;
	int fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	SCOPED_STR path = NULL;
	int on = 1;

	(void)events;
	if (fd >= 0) {
		/* A client that has vanished must not hold its place. */
		(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
		path = str_printf("%s/" EDGE_PORT_SOCK, l->all->dir,
				  (unsigned)l->order.id);
		copies_add_port(l->all->copies, fd, l->order.id, path);
		return;
	}
	if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
		return;
	log_error("accept a connection for port %u: %s", (unsigned)l->bound,
		  strerror(errno));
	loop_stop(l->all->loop, 1);
}

static socklen_t place_of(const struct edge_port *o, union place *ret)
{
	*ret = (union place){ 0 };
	if (o->v6) {
		ret->in6.sin6_family = AF_INET6;
		ret->in6.sin6_port = htons(o->port);
		memcpy(&ret->in6.sin6_addr, o->address, 16);
		return sizeof(ret->in6);
	}
	ret->in.sin_family = AF_INET;
	ret->in.sin_port = htons(o->port);
	memcpy(&ret->in.sin_addr, o->address, 4);
	return sizeof(ret->in);
}

/* Returns a descriptor, with *ret_port the port that it has, or -errno. */
static int place_listen(const struct edge_port *o, uint16_t *ret_port)
{
	union place at;
	socklen_t len = place_of(o, &at);
	SCOPED_FD fd = socket(at.any.sa_family,
			      SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int on = 1;

	if (fd < 0)
		return -errno;
	/* Connections of an earlier run that have ended do not hold the port;
	 * another listener does. */
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (o->v6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0)
		return -errno;
	if (bind(fd, &at.any, len) < 0 || listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, &at.any, &len) < 0)
		return -errno;
	*ret_port = ntohs(o->v6 ? at.in6.sin6_port : at.in.sin_port);
	return fd_take(&fd);
}

static int listener_open(struct listener *l, const struct edge_port *o)
{
	l->order = *o;
	l->fd = place_listen(o, &l->bound);
	if (l->fd < 0)
		return l->fd;
	l->io = loop_add(l->all->loop, l->fd, EPOLLIN, on_connection, l);
	return l->io ? 0 : -errno;
}

static bool is_ordered(const struct edge_orders *o, const struct listener *l)
{
	for (size_t i = 0; i < o->n_ports; i++)
		if (o->ports[i].id == l->order.id)
			return true;
	return false;
}

/* Returns the listener of @o, or a free one, of which there is one for each
 * order. */
static struct listener *listener_for(struct listeners *p,
				     const struct edge_port *o)
{
	struct listener *empty = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(p->v); i++) {
		if (p->v[i].order.id == o->id)
			return &p->v[i];
		if (!p->v[i].order.id)
			empty = &p->v[i];
	}
	return empty;
}

void listeners_set(struct listeners *p, const struct edge_orders *o,
		   struct edge_report *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(p->v); i++)
		if (p->v[i].order.id && !is_ordered(o, &p->v[i]))
			listener_close(&p->v[i]);
	ret->n_ports = o->n_ports;
	for (size_t i = 0; i < o->n_ports; i++) {
		struct listener *l = listener_for(p, &o->ports[i]);
		int rc = l->fd >= 0 ? 0 : listener_open(l, &o->ports[i]);

		ret->ports[i] = (struct edge_bound){
			.id = o->ports[i].id,
			.port = rc < 0 ? 0 : l->bound,
			.error = rc < 0 ? (uint16_t)-rc : 0,
		};
		if (rc < 0)
			listener_close(l);
	}
}
