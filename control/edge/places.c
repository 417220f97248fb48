/* SPDX-License-Identifier: Apache-2.0 */
/*
 * places.c - the unix sockets of services, as acd has ordered them
 *
 * The sockets are open to all, for the gateway is another user. What protects
 * them is the folder: in ac-host the gateway alone sees it, and on the user's
 * machine the services themselves are open to every local user.
 */
#include "control/edge/places.h"

#include <string.h>
#include <sys/socket.h>

#include "lib/log.h"
#include "lib/sock.h"
#include "lib/str.h"

#define SOCKET_MODE 0666
#define BACKLOG 128

struct place {
	struct places *all;
	struct edge_order order; /* name "": a free place */
	int fd;
	struct loop_io *io;
};

struct places {
	struct loop *loop;
	const char *dir;
	struct copies *copies;
	struct place v[EDGE_ORDERS_MAX];
};

struct places *places_new(struct loop *loop, const char *dir,
			  struct copies *copies)
{
	struct places *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->loop = loop;
	p->dir = dir;
	p->copies = copies;
	for (size_t i = 0; i < ARRAY_SIZE(p->v); i++)
		p->v[i] = (struct place){ .all = p, .fd = -1 };
	return p;
}

static void place_close(struct place *pl)
{
	SCOPED_STR path = str_printf("%s/%s", pl->all->dir, pl->order.name);

	loop_del(pl->io);
	pl->io = NULL;
	if (pl->fd >= 0 && path)
		unlink(path);
	fd_closep(&pl->fd);
	copies_end(pl->all->copies, pl->order.name);
	*pl->order.name = '\0';
}

void places_free(struct places *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(p->v); i++)
		if (*p->v[i].order.name)
			place_close(&p->v[i]);
	free(p);
}

/* The connections have their limits, so there is a descriptor for each. Without
 * one, this program could only spin: it ends, and is started again. */
static void on_connection(void *arg, uint32_t events)
{
	const struct place *pl = arg;
	int fd = accept4(pl->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	(void)events;
	if (fd >= 0) {
		copies_add(pl->all->copies, fd, &pl->order);
		return;
	}
	if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
		return;
	log_error("accept a connection for '%s': %s", pl->order.name,
		  strerror(errno));
	loop_stop(pl->all->loop, 1);
}

static int place_open(struct place *pl, const struct edge_order *o)
{
	struct places *p = pl->all;
	SCOPED_STR path = str_printf("%s/%s", p->dir, o->name);

	pl->order = *o;
	pl->fd = path ? sock_unix_listen(path, SOCKET_MODE, BACKLOG) : -ENOMEM;
	if (pl->fd < 0)
		return pl->fd;
	pl->io = loop_add(p->loop, pl->fd, EPOLLIN, on_connection, pl);
	return pl->io ? 0 : -errno;
}

static bool same(const struct edge_order *a, const struct edge_order *b)
{
	return strcmp(a->name, b->name) == 0 && a->v6 == b->v6 &&
	       a->port == b->port;
}

static bool is_ordered(const struct edge_orders *o, const struct edge_order *v)
{
	for (size_t i = 0; i < o->n; i++)
		if (same(&o->v[i], v))
			return true;
	return false;
}

/* Returns the place of @o, or a free one, of which there is one for each
 * order. */
static struct place *place_for(struct places *p, const struct edge_order *o)
{
	struct place *empty = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(p->v); i++) {
		if (strcmp(p->v[i].order.name, o->name) == 0)
			return &p->v[i];
		if (!*p->v[i].order.name)
			empty = &p->v[i];
	}
	return empty;
}

void places_set(struct places *p, const struct edge_orders *o,
		struct edge_report *ret)
{
	struct edge_report r = { .listening = 0 };

	for (size_t i = 0; i < ARRAY_SIZE(p->v); i++)
		if (*p->v[i].order.name && !is_ordered(o, &p->v[i].order))
			place_close(&p->v[i]);
	for (size_t i = 0; i < o->n; i++) {
		struct place *pl = place_for(p, &o->v[i]);
		int rc = pl->fd >= 0 ? 0 : place_open(pl, &o->v[i]);

		if (rc == 0) {
			r.listening++;
			continue;
		}
		place_close(pl);
		if (!*r.text)
			snprintf(r.text, sizeof(r.text), "'%s': %s",
				 o->v[i].name, err_text(rc));
	}
	*ret = r;
}
