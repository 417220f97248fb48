/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boss.c - the connection to acd, whose orders are followed
 *
 * Fails closed: without acd nothing listens, and no connection is left.
 */
#include "control/edge/boss.h"

#include <string.h>
#include <sys/socket.h>

#include "lib/log.h"
#include "lib/sock.h"

#define IN_MAX (2u * EDGE_FRAME_MAX)

struct boss {
	struct loop *loop;
	const char *path;
	struct places *places;
	struct listeners *ports;
	struct loop_timer *retry, *unused;
	struct loop_io *io;
	int fd;
	struct buf in;
	uint64_t since_ms; /* without acd; 0: it is there */
};

static void follow(struct boss *b, const struct edge_orders *o,
		   struct edge_report *ret)
{
	places_set(b->places, o, ret);
	listeners_set(b->ports, o, ret);
}

static void boss_lost(struct boss *b)
{
	const struct edge_orders none = { .n = 0 };
	struct edge_report ignored;

	loop_del(b->io);
	b->io = NULL;
	fd_closep(&b->fd);
	buf_done(&b->in);
	loop_timer_clear(b->unused);
	follow(b, &none, &ignored);
	if (!b->since_ms)
		b->since_ms = clock_ms();
	if (clock_ms() - b->since_ms > BOSS_PATIENCE_MS)
		loop_stop(b->loop, 0);
	else
		loop_timer_set(b->retry, BOSS_RETRY_MS);
}

/* Returns 0, or -errno: acd does not read what it asked for. */
static int report(const struct boss *b, const struct edge_report *r)
{
	struct buf out;
	struct slice s;
	int rc;

	buf_init(&out, EDGE_FRAME_MAX);
	rc = edge_report_put(&out, r);
	s = buf_slice(&out);
	if (rc == 0 && send(b->fd, s.ptr, s.len, MSG_NOSIGNAL | MSG_DONTWAIT) !=
			       (ssize_t)s.len)
		rc = -EPIPE;
	buf_done(&out);
	return rc;
}

static int orders_follow(struct boss *b)
{
	struct edge_orders o;
	struct edge_report r;
	size_t used;
	int rc;

	while ((rc = edge_orders_get(buf_slice(&b->in), &o, &used)) == 0) {
		buf_consume(&b->in, used);
		follow(b, &o, &r);
		log_info("%u of %zu services, %zu ports%s%s", r.listening, o.n,
			 o.n_ports, *r.text ? "; " : "", r.text);
		if (o.n + o.n_ports > 0)
			loop_timer_clear(b->unused);
		else
			loop_timer_set(b->unused, BOSS_UNUSED_MS);
		rc = report(b, &r);
		if (rc < 0)
			return rc;
	}
	return rc == -EAGAIN ? 0 : rc;
}

static void on_orders(void *arg, uint32_t events)
{
	struct boss *b = arg;
	size_t room = buf_room(&b->in);
	uint8_t *at = buf_reserve(&b->in, room);
	ssize_t n = at ? recv(b->fd, at, room, MSG_DONTWAIT) : -1;

	(void)events;
	if (n < 0 && at && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		log_info("acd is gone");
		boss_lost(b);
		return;
	}
	buf_commit(&b->in, (size_t)n);
	if (orders_follow(b) < 0) {
		log_error("acd's orders cannot be read or answered");
		boss_lost(b);
	}
}

static void on_retry(void *arg)
{
	struct boss *b = arg;

	b->fd = sock_unix_connect(b->path);
	if (b->fd >= 0)
		b->io = loop_add(b->loop, b->fd, EPOLLIN, on_orders, b);
	if (!b->io) {
		boss_lost(b);
		return;
	}
	b->since_ms = 0;
	log_info("connected to acd");
}

static void on_unused(void *arg)
{
	struct boss *b = arg;

	log_info("nothing is to be done");
	loop_stop(b->loop, 0);
}

struct boss *boss_new(struct loop *loop, const char *path,
		      struct places *places, struct listeners *ports)
{
	struct boss *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	*b = (struct boss){ .loop = loop,
			    .path = path,
			    .places = places,
			    .ports = ports,
			    .fd = -1 };
	buf_init(&b->in, IN_MAX);
	b->retry = loop_timer_new(loop, on_retry, b);
	b->unused = loop_timer_new(loop, on_unused, b);
	if (!b->retry || !b->unused) {
		boss_free(b);
		return NULL;
	}
	loop_timer_set(b->retry, 0);
	return b;
}

void boss_free(struct boss *b)
{
	if (!b)
		return;
	loop_del(b->io);
	loop_timer_free(b->retry);
	loop_timer_free(b->unused);
	fd_closep(&b->fd);
	buf_done(&b->in);
	free(b);
}
