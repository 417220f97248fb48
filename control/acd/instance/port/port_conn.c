/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_conn.c - one connection to a published port of a running sandbox
 *
 * Theory of operation: a connection has two ends, the client's (a socket from
 * ac-edge) and the sandbox's, an exec of init-guard that connects to a port in
 * there (init-guard/PROTOCOL, 7). So nothing outside the sandbox connects to its
 * network, no rule of the packet filter is needed, and the exec brings its flow
 * control: output waits here, at most one window, until the client takes it.
 *
 *	client ends its direction   STDIN_EOF, the server sees the end
 *	server ends its direction   a count on standard error; when so many bytes
 *	                            were delivered, shutdown(2) to the client
 *	exec ends                   the connection, when all is delivered; without
 *	                            that count it was cut: close(2) without
 *	                            shutdown(2), and ac-edge resets its client
 *	client has gone             what it sent is delivered, what comes is
 *	                            dropped, and after PORT_LINGER_MS the exec ends
 *
 * The bytes are not looked at. The count is the sandbox's word, and can only
 * mislead its own client.
 */
#include "control/acd/instance/port/port_conn.h"

#include <string.h>
#include <sys/socket.h>

#include "control/acd/instance/instance_impl.h"
#include "lib/log.h"

#define IN_SIZE (64u * 1024)
#define COUNT_LEN 8u

struct port_conn {
	LIST_ENTRY(port_conn) link;
	struct instances *is;
	struct instance *in; /* NULL: its run is over */
	struct run *run; /* NULL: over */
	struct run_watch *watch;
	struct loop_timer *timer; /* first byte, idle, then linger */
	struct loop_io *io;
	int fd; /* -1: the client has gone */
	struct buf out; /* for the client */
	uint64_t got; /* bytes that came from the sandbox */
	uint8_t count[COUNT_LEN];
	size_t n_count;
	bool eof; /* the client sends no more */
	bool ended; /* and the server; shut: the client was told, or will be by the
		     * close */
	bool shut;
};

static unsigned first_ms = PORT_FIRST_MS, idle_ms = PORT_IDLE_MS,
		linger_ms = PORT_LINGER_MS;

void port_conns_set_times(unsigned first, unsigned idle, unsigned linger)
{
	first_ms = first;
	idle_ms = idle;
	linger_ms = linger;
}

/* ---- its end ---- */

static void run_over(struct port_conn *c)
{
	if (c->in)
		c->in->port_conns--;
	c->in = NULL;
	c->run = NULL;
}

static void client_close(struct port_conn *c)
{
	loop_del(c->io);
	c->io = NULL;
	fd_closep(&c->fd);
	buf_done(&c->out);
}

static void conn_end(struct port_conn *c)
{
	struct run *run = c->run;

	LIST_REMOVE(c, link);
	client_close(c);
	run_over(c);
	run_watch_free(c->watch);
	if (run)
		run_abandon(run);
	loop_timer_free(c->timer);
	free(c);
}

void port_conns_free(struct instances *is)
{
	while (LIST_FIRST(&is->port_conns))
		conn_end(LIST_FIRST(&is->port_conns));
}

static void on_time(void *arg)
{
	struct port_conn *c = arg;

	/* Frozen, it cannot answer. */
	if (c->in && c->fd >= 0 && instance_state_is_still(c->in->rec.state))
		loop_timer_set(c->timer, idle_ms);
	else
		conn_end(c);
}

static void moved(struct port_conn *c)
{
	if (c->fd >= 0)
		loop_timer_set(c->timer, idle_ms);
}

/* ---- bytes ---- */

/* Sends what waits for the client. Returns 0 or -errno. */
static int out_flush(struct port_conn *c)
{
	while (buf_len(&c->out) > 0) {
		struct slice s = buf_slice(&c->out);
		ssize_t n =
			send(c->fd, s.ptr, s.len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		buf_consume(&c->out, (size_t)n);
		if (c->run)
			run_watch_credit(c->watch, (uint32_t)n);
		moved(c);
	}
	return 0;
}

static uint64_t count_of(const struct port_conn *c)
{
	uint64_t n = 0;

	for (size_t i = 0; i < COUNT_LEN; i++)
		n = n << 8 | c->count[i];
	return n;
}

/* Tells the client of the end when all is delivered. Of one that was cut only the
 * close tells, which follows. */
static int out_end(struct port_conn *c)
{
	bool whole = c->n_count == COUNT_LEN && count_of(c) == c->got;

	if (c->run && !whole)
		return 0;
	c->ended = true;
	if (c->shut || buf_len(&c->out) > 0)
		return 0;
	c->shut = true;
	return whole && shutdown(c->fd, SHUT_WR) < 0 ? -errno : 0;
}

/* Passes on what the client has sent, as far as there is room. Returns 0, or
 * -errno if the connection is to end. */
static int in_pass(struct port_conn *c)
{
	static uint8_t mem[IN_SIZE]; /* acd has one thread */

	while (!c->eof && c->run) {
		size_t room = run_stdin_room(c->run);
		ssize_t n;
		int rc;

		if (room == 0)
			return 0;
		n = recv(c->fd, mem, room < IN_SIZE ? room : IN_SIZE,
			 MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		c->eof = n == 0;
		rc = n > 0 ? run_stdin(c->run, mem, (size_t)n) :
			     run_stdin_eof(c->run);
		if (rc < 0)
			return rc;
		/* An end alone carries nothing. */
		if (n > 0)
			moved(c);
	}
	return 0;
}

static int client_watch(struct port_conn *c)
{
	uint32_t events = 0;

	if (!c->eof && c->run && run_stdin_room(c->run) > 0)
		events |= EPOLLIN;
	if (buf_len(&c->out) > 0)
		events |= EPOLLOUT;
	/* EPOLLHUP is reported with any other; of a client that neither sends
	 * nor is sent to, it is awaited by itself. */
	if (events == 0 && c->eof)
		events = EPOLLERR;
	return loop_mod(c->io, events);
}

/* Moves what can be moved. May free @c. */
static void conn_run(struct port_conn *c)
{
	int rc = c->fd < 0 ? -EPIPE : out_flush(c);

	if (rc == 0)
		rc = out_end(c);
	if (rc == 0)
		rc = in_pass(c);
	if (rc == 0 && !(c->shut && !c->run))
		rc = client_watch(c);
	else
		rc = -EPIPE;
	if (rc < 0)
		conn_end(c);
}

/* The client has gone: what it has sent still arrives, as far as there is room
 * for it now. */
static void client_gone(struct port_conn *c)
{
	size_t unsent = buf_len(&c->out);

	if (in_pass(c) < 0 || !c->run) {
		conn_end(c);
		return;
	}
	if (!c->eof && run_stdin_room(c->run) == 0) {
		/* More waits: it goes on when there is room. */
		loop_mod(c->io, 0);
		return;
	}
	client_close(c);
	run_watch_credit(c->watch, (uint32_t)unsent);
	/* A server that has ended cannot send for ever. */
	loop_timer_set(c->timer, c->ended ? idle_ms : linger_ms);
}

static void on_client(void *arg, uint32_t events)
{
	if (events & (EPOLLHUP | EPOLLERR))
		client_gone(arg);
	else
		conn_run(arg);
}

/* ---- the sandbox ---- */

static void on_started(void *arg, uint32_t pid)
{
	(void)arg;
	(void)pid;
}

static void on_stdin_credit(void *arg)
{
	struct port_conn *c = arg;

	/* Watches again, also a client that has gone. */
	if (c->fd >= 0)
		conn_run(c);
}

/* Takes the count, and refuses more. */
static bool count_take(struct port_conn *c, struct slice data)
{
	if (data.len > COUNT_LEN - c->n_count)
		return false;
	memcpy(c->count + c->n_count, data.ptr, data.len);
	c->n_count += data.len;
	return c->n_count < COUNT_LEN || count_of(c) >= c->got;
}

static void on_output(void *arg, enum link_type stream, struct slice data)
{
	struct port_conn *c = arg;
	bool bad = false;

	if (stream == LINK_STDERR) {
		bad = !count_take(c, data);
	} else {
		c->got += data.len;
		bad = c->ended ||
		      (c->n_count == COUNT_LEN && c->got > count_of(c)) ||
		      (c->fd >= 0 &&
		       buf_append(&c->out, data.ptr, data.len) < 0);
	}
	if (bad) {
		conn_end(c);
		return;
	}
	if (stream == LINK_STDERR || c->fd < 0)
		run_watch_credit(c->watch, (uint32_t)data.len);
	if (c->fd >= 0)
		conn_run(c);
}

static void on_exited(void *arg, const struct link_exit *x)
{
	struct port_conn *c = arg;

	(void)x; /* the count says more: nothing listens there, or it was cut */
	run_over(c);
	if (c->fd < 0)
		conn_end(c);
	else
		conn_run(c);
}

static const struct run_watch_ops conn_ops = {
	.started = on_started,
	.output = on_output,
	.stdin_credit = on_stdin_credit,
	.exited = on_exited,
};

/* ---- its beginning ---- */

static int conn_exec(struct port_conn *c, uint16_t port, struct err *err)
{
	struct run_options o = {
		.connect = true,
		.use_stdin = true,
		.cwd = strdup("/"),
	};
	char text[8];
	int rc;

	snprintf(text, sizeof(text), "%u", (unsigned)port);
	rc = o.cwd && strv_push(&o.argv, text) == 0 ?
		     instance_exec(c->in, &o, &c->run, err) :
		     err_nomem(err);
	run_options_done(&o);
	if (rc < 0)
		return rc;
	c->watch = run_watch_add(c->run, &conn_ops, c);
	return c->watch ? 0 : err_nomem(err);
}

void port_conn_begin(struct instance *in, int fd, uint16_t port)
{
	struct port_conn *c = calloc(1, sizeof(*c));
	struct err err = { 0 };

	if (!c) {
		close(fd);
		return;
	}
	*c = (struct port_conn){ .is = in->is, .in = in, .fd = fd };
	buf_init(&c->out, LINK_WINDOW);
	LIST_INSERT_HEAD(&in->is->port_conns, c, link);
	in->port_conns++;
	c->timer = loop_timer_new(in->is->loop, on_time, c);
	c->io = loop_add(in->is->loop, fd, EPOLLIN, on_client, c);
	if (!c->timer || !c->io || in->port_conns > PORT_CONNS_MAX ||
	    conn_exec(c, port, &err) < 0) {
		if (err.code < 0)
			log_debug("a connection to port %u: %s", (unsigned)port,
				  err.msg);
		conn_end(c);
		return;
	}
	/* Many that say nothing must not keep others out for long. */
	loop_timer_set(c->timer, first_ms);
}
