/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edge.c - acd's side of ac-edge, which reaches services of the user's loopback
 * and listens at published ports
 *
 * One connection counts, the newest: an ac-edge that was killed may not have been
 * noticed yet. What comes from it is bounded and only shown.
 */
#include "control/acd/net/edge.h"

#include <assert.h>
#include <string.h>
#include <sys/socket.h>

#include "control/acd/net/ports.h"
#include "control/acd/net/services.h"
#include "control/shared/edge_orders.h"
#include "lib/log.h"
#include "lib/sock.h"
#include "lib/str.h"

#define BACKLOG 4
#define WANTED_MS 60000u /* for `ac` to start it, and to ask again */
#define IN_MAX (2u * EDGE_FRAME_MAX)

struct edge {
	struct loop *loop;
	char *path;
	uid_t owner;
	int listener, fd; /* fd -1: it is not there */
	struct loop_io *accept, *io;
	struct buf in;
	struct ports *ports;
	/* Orders since it is there; what services are in has the number
	 * of_services. */
	unsigned sent, answered, of_services;
	uint64_t wanted_until_ms; /* by a run that is to begin */
	struct edge_report report; /* to the last orders */
};

static size_t wanted(struct edge_orders *ret)
{
	const struct service *s;
	size_t n = 0;

	for (size_t i = 0; (s = services_nth(i)); i++) {
		struct edge_order *o = ret ? &ret->v[n] : NULL;

		if (!service_is_local(s))
			continue;
		n++;
		if (!o)
			continue;
		snprintf(o->name, sizeof(o->name), "%s", s->name);
		o->v6 = strchr(s->address, ':') != NULL;
		o->port = s->port;
	}
	return n;
}

static void drop(struct edge *e)
{
	bool there = e->fd >= 0;

	loop_del(e->io);
	e->io = NULL;
	fd_closep(&e->fd);
	buf_done(&e->in);
	e->sent = e->answered = e->of_services = 0;
	e->report = (struct edge_report){ .listening = 0 };
	if (there)
		ports_lost(e->ports);
}

/* Ends the connection from the loop, as if ac-edge had ended it. The caller of
 * an order is not ready for what drop() calls, such as the function of its own
 * ports_open(). */
static void drop_later(const struct edge *e)
{
	(void)shutdown(e->fd, SHUT_RDWR);
}

static void order(struct edge *e)
{
	struct edge_orders o = { .n = 0 };
	struct buf out;
	struct slice s;

	static_assert(SERVICES_MAX <= EDGE_ORDERS_MAX &&
			      SERVICE_NAME_MAX <= EDGE_NAME_MAX,
		      "each service can be ordered");
	if (e->fd < 0)
		return;
	o.n = wanted(&o);
	ports_order(e->ports, &o);
	buf_init(&out, EDGE_FRAME_MAX + 4);
	if (edge_orders_put(&out, &o) == 0) {
		s = buf_slice(&out);
		/* It reads at once, and a frame is small: one that does not fit
		 * is for a stuck reader. */
		if (send(e->fd, s.ptr, s.len, MSG_NOSIGNAL | MSG_DONTWAIT) ==
		    (ssize_t)s.len)
			e->sent++;
		else
			drop_later(e);
	} else {
		log_warn("ac-edge gets no orders: out of memory");
		drop_later(e); /* it connects again, and gets them then */
	}
	buf_done(&out);
}

void edge_update(struct edge *e)
{
	if (!e)
		return;
	order(e);
	e->of_services = e->sent;
}

static void on_report(void *arg, uint32_t events)
{
	struct edge *e = arg;
	size_t room = buf_room(&e->in), used;
	uint8_t *at = buf_reserve(&e->in, room);
	ssize_t n = at ? recv(e->fd, at, room, MSG_DONTWAIT) : -1;
	int rc;

	(void)events;
	if (n < 0 && at && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		log_info("ac-edge is gone");
		drop(e);
		return;
	}
	buf_commit(&e->in, (size_t)n);
	while ((rc = edge_report_get(buf_slice(&e->in), &e->report, &used)) ==
	       0) {
		buf_consume(&e->in, used);
		if (e->answered == e->sent) {
			rc = -EBADMSG;
			break;
		}
		e->answered++;
		if (*e->report.text)
			log_warn("ac-edge: %s", e->report.text);
		/* May order again. */
		ports_answered(e->ports, &e->report);
	}
	if (rc != -EAGAIN) {
		log_warn("ac-edge breaks the protocol");
		drop(e);
	}
}

static void on_connection(void *arg, uint32_t events)
{
	struct edge *e = arg;
	SCOPED_FD fd =
		accept4(e->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	uid_t uid;

	(void)events;
	if (fd < 0)
		return;
	if (sock_peer(fd, NULL, &uid, NULL) < 0 ||
	    (uid != e->owner && uid != 0)) {
		log_warn("another user wants to be ac-edge: refused");
		return;
	}
	drop(e);
	e->io = loop_add(e->loop, fd, EPOLLIN, on_report, e);
	if (!e->io)
		return;
	e->fd = fd_take(&fd);
	e->wanted_until_ms = 0; /* the run that asked for it goes on */
	log_info("ac-edge is there");
	edge_update(e);
}

/* Ports come and go with each run; meanwhile it serves its services. */
static void on_change(void *arg)
{
	order(arg);
}

struct edge *edge_new(struct loop *loop, const char *path, uid_t owner,
		      gid_t group, struct ports *ports, struct err *err)
{
	struct edge *e = calloc(1, sizeof(*e));
	int rc;

	if (!e) {
		err_nomem(err);
		return NULL;
	}
	*e = (struct edge){
		.loop = loop, .owner = owner, .listener = -1, .fd = -1
	};
	e->ports = ports;
	if (ports)
		ports_on_change(ports, on_change, e);
	buf_init(&e->in, IN_MAX);
	e->path = strdup(path);
	/* The name is ours alone, but ac-edge can write to the folder: a socket
	 * of its own there must not keep acd from its start. */
	(void)unlink(path);
	e->listener = e->path ? sock_unix_listen(path, 0600, BACKLOG) : -ENOMEM;
	rc = e->listener < 0 ? e->listener : 0;
	if (rc == 0 && lchown(path, owner, group) < 0)
		rc = -errno;
	if (rc == 0) {
		e->accept =
			loop_add(loop, e->listener, EPOLLIN, on_connection, e);
		rc = e->accept ? 0 : -errno;
	}
	if (rc == 0)
		return e;
	err_set(err, rc, "listen at %s: %s", path, err_text(rc));
	edge_free(e);
	return NULL;
}

void edge_free(struct edge *e)
{
	if (!e)
		return;
	drop(e);
	if (e->ports)
		ports_on_change(e->ports, NULL, NULL);
	loop_del(e->accept);
	if (e->listener >= 0) {
		fd_closep(&e->listener);
		unlink(e->path);
	}
	free(e->path);
	free(e);
}

void edge_want(struct edge *e)
{
	if (e)
		e->wanted_until_ms = clock_ms() + WANTED_MS;
}

bool edge_is_there(const struct edge *e)
{
	return e && e->fd >= 0;
}

enum edge_state edge_state(const struct edge *e)
{
	size_t n = wanted(NULL);
	bool for_ports = e && (ports_nth(e->ports, 0) ||
			       clock_ms() < e->wanted_until_ms);

	if (n == 0 && !for_ports)
		return EDGE_UNUSED;
	return e && e->fd >= 0 && e->answered >= e->of_services &&
			       e->report.listening == n ?
		       EDGE_UP :
		       EDGE_DOWN;
}

const char *edge_state_name(enum edge_state s)
{
	static const char *const names[] = {
		[EDGE_UNUSED] = "unused", [EDGE_DOWN] = "down", [EDGE_UP] = "up"
	};

	return names[s];
}

const char *edge_reason(const struct edge *e)
{
	if (edge_state(e) != EDGE_DOWN)
		return "";
	if (!e || e->fd < 0)
		return "ac-edge does not run; `ac start` starts it";
	return *e->report.text ? e->report.text : "ac-edge is starting";
}
