/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ports.c - ports of sandboxes that are published on the user's machine
 *
 * Theory of operation: an instance opens its ports at once, and waits until ac-edge
 * has answered for each. One that fails closes those that were opened with it, so
 * a run with a port that is taken does not begin. A port that was open once stays ordered
 * until its instance closes it: an ac-edge that is started again listens there
 * again, at the port that was chosen.
 *
 * For each port acd listens at a socket of its own in ac-edge's folder, so a
 * connection needs no words. The sockets are the user's alone: the gateway, which
 * sees that folder too, is another user.
 */
#include "control/acd/net/ports.h"

#include <dirent.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "lib/log.h"
#include "lib/sock.h"
#include "lib/str.h"

#define BACKLOG 64
#define ANSWER_MS 10000u
#define HINT_MAX (AC_NAME_MAX + 64u)

struct slot {
	struct port port; /* id 0: behind the last */
	struct ports *all;
	int fd; /* listens for ac-edge */
	struct loop_io *io;
	void (*take)(void *arg, int fd); /* of ports_want(); or NULL */
	void *take_arg;
};

/* Ports of an instance that are being opened. */
struct opening {
	LIST_ENTRY(opening) link;
	struct ports *all;
	char owner[AC_NAME_MAX + 1];
	uint32_t first; /* id of the first; the others follow it */
	bool running; /* the instance: `ac port` asks */
	ports_fn fn;
	void *arg;
	struct loop_timer *timer;
};

struct ports {
	struct loop *loop;
	const char *dir;
	uid_t owner;
	gid_t group;
	void (*changed)(void *arg);
	void *changed_arg;
	void (*connected)(void *arg, const struct port *port, int fd);
	void *connected_arg;
	struct slot *v[EDGE_PORTS_MAX]; /* in order of id */
	size_t n;
	uint32_t last_id;
	LIST_HEAD(opening_list, opening) opening;
};

/* Removes what an acd that was killed has left. */
static void tidy(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *e;

	/* NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (dir && (e = readdir(dir)))
		if (str_starts(e->d_name, "port."))
			(void)unlinkat(dirfd(dir), e->d_name, 0);
	if (dir)
		closedir(dir);
}

struct ports *ports_new(struct loop *loop, const char *dir, uid_t owner,
			gid_t group)
{
	struct ports *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	*p = (struct ports){
		.loop = loop, .dir = dir, .owner = owner, .group = group
	};
	LIST_INIT(&p->opening);
	tidy(dir);
	return p;
}

void ports_on_change(struct ports *p, void (*fn)(void *arg), void *arg)
{
	p->changed = fn;
	p->changed_arg = arg;
}

void ports_on_connection(struct ports *p,
			 void (*fn)(void *arg, const struct port *port, int fd),
			 void *arg)
{
	p->connected = fn;
	p->connected_arg = arg;
}

static void tell_change(const struct ports *p)
{
	if (p->changed)
		p->changed(p->changed_arg);
}

/* ---- one port ---- */

static char *slot_path(const struct slot *s)
{
	return str_printf("%s/" EDGE_PORT_SOCK, s->all->dir,
			  (unsigned)s->port.id);
}

static void slot_free(struct slot *s)
{
	SCOPED_STR path = slot_path(s);

	loop_del(s->io);
	if (s->fd >= 0 && path)
		unlink(path);
	fd_closep(&s->fd);
	free(s);
}

static void on_connection(void *arg, uint32_t events)
{
	struct slot *s = arg;
	SCOPED_FD fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	uid_t uid;

	(void)events;
	if (fd < 0)
		return;
	if (sock_peer(fd, NULL, &uid, NULL) < 0 ||
	    (uid != s->all->owner && uid != 0)) {
		log_warn("another user connects to a published port: refused");
		return;
	}
	if (s->take)
		s->take(s->take_arg, fd_take(&fd));
	else if (s->all->connected)
		s->all->connected(s->all->connected_arg, &s->port,
				  fd_take(&fd));
}

static int slot_listen(struct slot *s)
{
	SCOPED_STR path = slot_path(s);

	if (!path)
		return -ENOMEM;
	(void)unlink(path);
	s->fd = sock_unix_listen(path, 0600, BACKLOG);
	if (s->fd < 0)
		return s->fd;
	if (lchown(path, s->all->owner, s->all->group) < 0)
		return -errno;
	s->io = loop_add(s->all->loop, s->fd, EPOLLIN, on_connection, s);
	return s->io ? 0 : -errno;
}

static int slot_add(struct ports *p, const char *owner,
		    const struct publish *as)
{
	struct slot *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return -ENOMEM;
	s->all = p;
	s->fd = -1;
	s->port = (struct port){ .id = ++p->last_id,
				 .as = *as,
				 .outer = as->outer };
	snprintf(s->port.owner, sizeof(s->port.owner), "%s", owner);
	rc = slot_listen(s);
	if (rc < 0) {
		slot_free(s);
		return rc;
	}
	p->v[p->n++] = s;
	return 0;
}

/* Closes the ports of @owner whose id is @first or more, but for the @n of @v.
 * Returns true if there were any. */
static bool drop(struct ports *p, const char *owner, uint32_t first,
		 const struct publish *v, size_t n)
{
	size_t kept = 0, had = p->n;

	for (size_t i = 0; i < had; i++) {
		struct slot *s = p->v[i];
		bool keep = strcmp(s->port.owner, owner) != 0 ||
			    s->port.id < first;

		for (size_t k = 0; k < n && !keep; k++)
			keep = publish_same(&v[k], &s->port.as);
		if (keep)
			p->v[kept++] = s;
		else
			slot_free(s);
	}
	p->n = kept;
	return kept < had;
}

/* ---- opening ---- */

static void opening_free(struct opening *o)
{
	LIST_REMOVE(o, link);
	loop_timer_free(o->timer);
	free(o);
}

static void opening_fail(struct opening *o, const struct err *err)
{
	struct ports *p = o->all;
	ports_fn fn = o->fn;
	void *arg = o->arg;

	drop(p, o->owner, o->first, NULL, 0);
	opening_free(o);
	tell_change(p);
	fn(arg, err);
}

static int edge_is_down(struct err *err, const char *why)
{
	err_set(err, -EAGAIN, "ports are published through ac-edge, %s", why);
	return err_name(err, PORTS_NO_EDGE);
}

static void on_late(void *arg)
{
	struct err err = { 0 };

	edge_is_down(&err, "which does not answer");
	opening_fail(arg, &err);
}

/* Writes what takes a port of the user's machine, such as @outer, instead of that
 * of @v: of the instance @running (NULL: one that starts) a command. */
static void hint(const struct publish *v, const char *running, unsigned outer,
		 char ret[HINT_MAX])
{
	snprintf(ret, HINT_MAX, "`%s%s%s--publish %u:%u`",
		 running ? "ac port " : "", running ? running : "",
		 running ? " " : "", outer, (unsigned)v->inner);
}

static int in_use(const struct publish *v, const char *by, const char *running,
		  struct err *err)
{
	char address[PUBLISH_TEXT_MAX], instead[HINT_MAX];

	publish_address(v, address);
	hint(v, running, 0, instead);
	if (by && strcmp(by, PORTS_API) == 0)
		err_set(err, -EBUSY,
			"port %u of %s is in use by `ac serve`; %s takes a "
			"free one",
			(unsigned)v->outer, address, instead);
	else
		err_set(err, -EBUSY,
			"port %u of %s is in use by %s%s%s; %s takes a free "
			"one",
			(unsigned)v->outer, address,
			by ? "instance '" : "another program", by ? by : "",
			by ? "'" : "", instead);
	return err_name(err, PORTS_IN_USE);
}

static int check_others(const struct ports *p, const struct publish *v,
			const char *running, struct err *err)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct port *other = &p->v[i]->port;

		if (publish_meets(&other->as, other->outer, v, v->outer))
			return in_use(v, other->owner, running, err);
	}
	return 0;
}

static struct opening *opening_new(struct ports *p, const char *owner,
				   uint32_t first, ports_fn fn, void *arg)
{
	struct opening *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	*o = (struct opening){ .all = p, .first = first, .fn = fn, .arg = arg };
	snprintf(o->owner, sizeof(o->owner), "%s", owner);
	LIST_INSERT_HEAD(&p->opening, o, link);
	o->timer = loop_timer_new(p->loop, on_late, o);
	if (!o->timer) {
		opening_free(o);
		return NULL;
	}
	loop_timer_set(o->timer, ANSWER_MS);
	return o;
}

int ports_open(struct ports *p, const char *owner, const struct publish *v,
	       size_t n, bool running, ports_fn fn, void *arg, struct err *err)
{
	const uint32_t first = p->last_id + 1;
	struct opening *o = NULL;
	int rc = 0;

	if (p->n + n > EDGE_PORTS_MAX)
		return err_set(err, -ENOSPC, "%u ports are published already",
			       (unsigned)p->n);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = check_others(p, &v[i], running ? owner : NULL, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = slot_add(p, owner, &v[i]);
	if (rc == 0 && !(o = opening_new(p, owner, first, fn, arg)))
		rc = -ENOMEM;
	if (rc < 0) {
		drop(p, owner, first, NULL, 0);
		return err_set(err, rc, "publish a port: %s", err_text(rc));
	}
	o->running = running;
	tell_change(p);
	return 0;
}

int ports_want(struct ports *p, const char *owner, const struct publish *at,
	       void (*fn)(void *arg, int fd), void *arg, struct err *err)
{
	int rc = 0;

	if (p->n >= EDGE_PORTS_MAX)
		return err_set(err, -ENOSPC, "%u ports are published already",
			       (unsigned)p->n);
	for (size_t i = 0; i < p->n; i++) {
		const struct port *other = &p->v[i]->port;
		char place[PUBLISH_TEXT_MAX];

		if (!publish_meets(&other->as, other->outer, at, at->outer))
			continue;
		publish_place(at, at->outer, place);
		err_set(err, -EBUSY, "%s is a published port of instance '%s'",
			place, other->owner);
		return err_name(err, PORTS_IN_USE);
	}
	rc = slot_add(p, owner, at);
	if (rc < 0)
		return err_set(err, rc, "open a port: %s", err_text(rc));
	p->v[p->n - 1]->take = fn;
	p->v[p->n - 1]->take_arg = arg;
	tell_change(p);
	return 0;
}

void ports_close(struct ports *p, const char *owner)
{
	struct opening *o, *next;

	for (o = LIST_FIRST(&p->opening); o; o = next) {
		next = LIST_NEXT(o, link);
		if (strcmp(o->owner, owner) == 0)
			opening_free(o);
	}
	if (drop(p, owner, 0, NULL, 0))
		tell_change(p);
}

void ports_keep(struct ports *p, const char *owner, const struct publish *v,
		size_t n)
{
	if (drop(p, owner, 0, v, n))
		tell_change(p);
}

void ports_free(struct ports *p)
{
	if (!p)
		return;
	while (LIST_FIRST(&p->opening))
		opening_free(LIST_FIRST(&p->opening));
	for (size_t i = 0; i < p->n; i++)
		slot_free(p->v[i]);
	free(p);
}

const struct port *ports_nth(const struct ports *p, size_t i)
{
	return p && i < p->n ? &p->v[i]->port : NULL;
}

bool ports_refused(const struct err *err)
{
	return strcmp(err->word, PORTS_IN_USE) == 0 ||
	       strcmp(err->word, PORTS_UNAVAILABLE) == 0 ||
	       strcmp(err->word, PORTS_NO_EDGE) == 0;
}

/* ---- ac-edge ---- */

void ports_order(const struct ports *p, struct edge_orders *ret)
{
	for (size_t i = 0; p && i < p->n; i++) {
		const struct port *port = &p->v[i]->port;
		struct edge_port *o = &ret->ports[ret->n_ports++];

		o->id = port->id;
		o->v6 = port->as.v6;
		memcpy(o->address, port->as.address, sizeof(o->address));
		o->port = port->outer;
	}
}

static int failure(const struct opening *o, const struct port *port,
		   struct err *err)
{
	const char *running = o->running ? o->owner : NULL;
	char place[PUBLISH_TEXT_MAX], instead[HINT_MAX];

	if (port->error == -EADDRINUSE)
		return in_use(&port->as, NULL, running, err);
	hint(&port->as, running, 8080, instead);
	publish_place(&port->as, port->as.outer, place);
	if (port->error == -EACCES)
		err_set(err, -EBUSY,
			"%s cannot be listened at: your machine keeps such low "
			"ports for root; %s takes another one",
			place, instead);
	else if (port->error == -EADDRNOTAVAIL)
		err_set(err, -EBUSY,
			"%s cannot be listened at: your machine does not have "
			"this address",
			place);
	else
		err_set(err, -EBUSY, "%s cannot be listened at: %s", place,
			err_text(port->error));
	return err_name(err, PORTS_UNAVAILABLE);
}

/* Calls the function of @o if all its ports are open or one has failed. Returns
 * false if some are waited for. */
static bool opening_settle(struct opening *o)
{
	struct ports *p = o->all;
	struct err err = { 0 };
	bool waits = false;
	ports_fn fn = o->fn;
	void *arg = o->arg;

	for (size_t i = 0; i < p->n && err.code == 0; i++) {
		const struct port *port = &p->v[i]->port;

		if (strcmp(port->owner, o->owner) != 0 || port->id < o->first)
			continue;
		if (port->state == PORT_FAILED)
			failure(o, port, &err);
		waits |= port->state == PORT_WAITING;
	}
	if (err.code < 0) {
		opening_fail(o, &err);
		return true;
	}
	if (waits)
		return false;
	opening_free(o);
	fn(arg, NULL);
	return true;
}

static void settle(struct ports *p)
{
	struct opening *o = LIST_FIRST(&p->opening);

	/* A function that is called may open and close others. */
	while (o)
		o = opening_settle(o) ? LIST_FIRST(&p->opening) :
					LIST_NEXT(o, link);
}

static void bound(struct slot *s, const struct edge_bound *b)
{
	struct port *port = &s->port;

	port->error = -(int)b->error;
	if (b->port == 0) {
		if (port->state == PORT_OPEN)
			log_warn("port %u of '%s' is not open any more: %s",
				 (unsigned)port->outer, port->owner,
				 err_text(port->error));
		port->state = PORT_FAILED;
		return;
	}
	port->state = PORT_OPEN;
	port->outer = b->port;
}

void ports_answered(struct ports *p, const struct edge_report *r)
{
	size_t at = 0;

	/* Both rise; what is closed since then is not here any more. */
	for (size_t i = 0; p && i < r->n_ports; i++) {
		while (at < p->n && p->v[at]->port.id < r->ports[i].id)
			at++;
		if (at < p->n && p->v[at]->port.id == r->ports[i].id)
			bound(p->v[at], &r->ports[i]);
	}
	if (p)
		settle(p);
}

void ports_lost(struct ports *p)
{
	struct opening *o;
	struct err err = { 0 };

	for (size_t i = 0; p && i < p->n; i++)
		p->v[i]->port.state = PORT_WAITING;
	edge_is_down(&err, "which has ended");
	while (p && (o = LIST_FIRST(&p->opening)))
		opening_fail(o, &err);
}
