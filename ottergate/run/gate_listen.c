/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_listen.c - the sockets that sandboxes reach, one set for each worker
 *
 * SO_REUSEPORT lets the kernel distribute connections over the workers by a
 * hash of the addresses, so that two workers never wake for one. Accepted
 * sockets inherit the options of the listening one, so TCP_NODELAY needs no
 * call for each connection.
 *
 * No TCP_DEFER_ACCEPT: it saves nothing measurable, and a client that waits for
 * the server to speak first (`proto: tcp`) would be accepted a second late.
 */
#include "ottergate/run/gate_impl.h"

#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#define BACKLOG 4096
#define UDP_BUFFER (1024 * 1024)
#define KINDS 5u

struct plan { /* the listeners of one worker */
	enum listener_kind kind;
	uint16_t bind, stands_for;
};

static size_t plan_make(const struct gate_opts *o, struct plan ret[KINDS])
{
	const struct plan all[KINDS] = {
		{ LISTEN_DNS_UDP, o->dns_port, 0 },
		{ LISTEN_DNS_TCP, o->dns_port, 0 },
		{ LISTEN_TRANSPARENT, o->transparent_port, 0 },
		{ LISTEN_PROXY, o->proxy_port, 0 },
		{ LISTEN_FIXED, o->fixed_listen, o->fixed_port },
	};
	size_t n = 0;

	for (size_t i = 0; i < KINDS; i++)
		if (all[i].bind)
			ret[n++] = all[i];
	return n;
}

static int set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value));
}

static int udp_setup(int fd)
{
	/* May exceed the system's limit, but needs a capability. */
	if (set(fd, SOL_SOCKET, SO_RCVBUFFORCE, UDP_BUFFER) < 0)
		return set(fd, SOL_SOCKET, SO_RCVBUF, UDP_BUFFER);
	return 0;
}

static int tcp_setup(int fd)
{
	/* All inherited by accepted sockets. Without quick ACKs the ACK of a
	 * hello travels with its answer, which saves a packet each (tcp(7)). */
	if (set(fd, SOL_SOCKET, SO_REUSEADDR, 1) < 0 ||
	    set(fd, IPPROTO_TCP, TCP_NODELAY, 1) < 0 ||
	    set(fd, IPPROTO_TCP, TCP_QUICKACK, 0) < 0)
		return -1;
	return 0;
}

static int listener_open(const struct addr *self, const struct plan *p,
			 struct listener *ret, struct err *err)
{
	bool udp = p->kind == LISTEN_DNS_UDP;
	struct sockaddr_storage sa = { 0 };
	socklen_t len = addr_sockaddr(self, p->bind, &sa);
	SCOPED_FD fd = -1;
	char text[ADDR_TEXT_MAX];

	if (len == 0)
		return err_set(err, -EINVAL, "no address to listen at");
	fd = socket(sa.ss_family,
		    (udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC |
			    SOCK_NONBLOCK,
		    0);
	if (fd < 0 || set(fd, SOL_SOCKET, SO_REUSEPORT, 1) < 0 ||
	    (udp ? udp_setup(fd) : tcp_setup(fd)) < 0)
		return err_sys(err, "make a socket");
	if (bind(fd, (const struct sockaddr *)&sa, len) < 0 ||
	    (!udp && listen(fd, BACKLOG) < 0))
		return err_sys(err, "listen at %s port %u",
			       addr_text(self, text), p->bind);
	*ret = (struct listener){ .ev = { .fd = fd_take(&fd) },
				  .kind = p->kind,
				  .port = p->stands_for };
	return 0;
}

void gate_listeners_done(struct gate_listeners *l, bool close_all)
{
	for (size_t i = 0; close_all && i < l->n * l->workers; i++)
		fd_closep(&l->v[i].ev.fd);
	free(l->v);
	*l = (struct gate_listeners){ 0 };
}

int gate_listen(const struct gate_opts *opts, struct gate_listeners *ret,
		struct err *err)
{
	struct gate_listeners l = { .workers = opts->workers };
	struct plan plan[KINDS];
	int rc = 0;

	if (l.workers == 0)
		l.workers = workers_cpus();
	if (l.workers > WORKERS_MAX)
		l.workers = WORKERS_MAX;
	l.n = plan_make(opts, plan);
	if (l.n == 0)
		return err_set(err, -EINVAL, "nothing to listen at");
	l.v = calloc(l.n * l.workers, sizeof(*l.v));
	if (!l.v)
		return err_nomem(err);
	for (size_t i = 0; i < l.n * l.workers; i++)
		l.v[i].ev.fd = -1;
	for (size_t i = 0; i < l.n * l.workers && rc >= 0; i++)
		rc = listener_open(&opts->self, &plan[i % l.n], &l.v[i], err);
	if (rc < 0) {
		gate_listeners_done(&l, true);
		return rc;
	}
	*ret = l;
	return 0;
}
