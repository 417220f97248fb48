/* SPDX-License-Identifier: Apache-2.0 */
/*
 * socket.c - answers on the admin socket
 *
 * Theory of operation
 *
 * One request on each connection. The file's mode keeps others out, and the
 * peer's credentials are checked too: root, or the user who runs this. No
 * sandbox can see the socket.
 *
 *   READ → answered at once → FLUSH → closed
 *        ↘ WAIT: a reload or a bind is running, changes wait for its end
 *        ↘ BINDING: answered when the policy is compiled and bound
 *        ↘ ASKED → RELOADING: answered when that reload has ended
 *        ↘ FOLLOW: lines until the client leaves, or lags too far behind
 *
 * An answer is collected in a bounded buffer and sent as the client reads.
 * Decisions that workers made before a request are in the audit's file before
 * its answer, so that a client may read the file after any request.
 *
 * Requests and answers with real tokens or keys are kept in one piece of memory
 * from the beginning, which is wiped.
 */
#include "ottergate/admin/admin_impl.h"

#include <sodium.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/log.h"
#include "lib/sock.h"

#define CONNS_MAX 16u
#define REQUEST_MS 10000u
#define READ_SIZE (64u * 1024)
#define HEAD_SIZE 5u /* u32 length, u8 verb */

void admin_buf_wipe(struct buf *b)
{
	if (b->mem)
		sodium_memzero(b->mem, b->cap);
	buf_done(b);
}

static void buf_end(struct admin_conn *c, struct buf *b)
{
	if (c->secret)
		admin_buf_wipe(b);
	else
		buf_done(b);
}

static void conn_free(struct admin_conn *c)
{
	if (c->follow)
		audit_unfollow(c->follow);
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	c->server->n_conns--;
	loop_del(c->io);
	loop_timer_free(c->timer);
	fd_closep(&c->fd);
	buf_end(c, &c->in);
	buf_end(c, &c->out);
	free(c);
}

void admin_conn_frame(struct admin_conn *c, enum admin_kind kind,
		      struct slice payload)
{
	if (!c->broken && admin_frame_put(&c->out, kind, payload) < 0)
		c->broken = true;
}

void admin_conn_text(struct admin_conn *c, struct slice text)
{
	struct slice piece;

	while (text.len > 0) {
		size_t n = text.len < ADMIN_FRAME_MAX ? text.len :
							ADMIN_FRAME_MAX;

		if (slice_take(&text, n, &piece) < 0)
			return;
		admin_conn_frame(c, ADMIN_DATA, piece);
	}
}

/* A client that sends more than one request, or leaves, is disconnected. One
 * that has only closed its sending side may still read its answer. */
void admin_conn_wait(struct admin_conn *c)
{
	uint32_t out = buf_len(&c->out) > 0 ? EPOLLOUT : 0;

	loop_mod(c->io, c->state == ADMIN_FLUSH ? EPOLLOUT :
						  EPOLLIN | EPOLLRDHUP | out);
}

/* Sends what is queued; frees @c when all is sent or the client has left. */
static void conn_flush(struct admin_conn *c)
{
	while (buf_len(&c->out) > 0) {
		struct slice s = buf_slice(&c->out);
		ssize_t n = send(c->fd, s.ptr, s.len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n <= 0) {
			conn_free(c);
			return;
		}
		if (c->secret)
			sodium_memzero(c->out.mem + c->out.start, (size_t)n);
		buf_consume(&c->out, (size_t)n);
	}
	if (c->state == ADMIN_FLUSH && buf_len(&c->out) == 0)
		conn_free(c);
	else
		admin_conn_wait(c);
}

/* Ends the answer, with a failure if @err has a code. */
static void conn_end(struct admin_conn *c, const struct err *err)
{
	if (c->broken) { /* what fitted is no whole answer */
		buf_end(c, &c->out);
		buf_init(&c->out, ADMIN_ANSWER_MAX);
		c->broken = false;
		admin_conn_frame(c, ADMIN_ERROR,
				 slice_str("the answer is too long, or out of "
					   "memory"));
	} else if (err->code < 0) {
		admin_conn_frame(c, ADMIN_ERROR, slice_str(err->msg));
	} else {
		admin_conn_frame(c, ADMIN_END, slice_of(NULL, 0));
	}
	c->state = ADMIN_FLUSH;
	buf_end(c, &c->in);
	conn_flush(c);
}

/* --- connections --------------------------------------------------------- */

/* Handles a complete request; may free @c. */
static void conn_request(struct admin_conn *c)
{
	struct slice in = buf_slice(&c->in);
	struct admin_request rq;
	struct err err = { 0 };
	int rc = admin_request_read(&in, &rq);

	if (rc == -EAGAIN)
		return;
	loop_timer_clear(c->timer);
	audit_pump(c->server->gate->audit);
	if (rc < 0)
		err_set(&err, rc, "the request is malformed");
	else
		rc = admin_answers[rq.verb](c, &rq, &err);
	if (rc < 0 && err.code == 0)
		err_set(&err, rc, "%s", err_text(rc));
	if (rc < 0 || c->state == ADMIN_READ)
		conn_end(c, &err);
}

/* Reserves room for a whole request with tokens before any of it is read. */
static void conn_room(struct admin_conn *c)
{
	uint8_t head[HEAD_SIZE] = { 0 };
	uint32_t len;
	struct slice s = slice_of(head, sizeof(head));

	if (buf_len(&c->in) > 0 ||
	    recv(c->fd, head, sizeof(head), MSG_PEEK) != sizeof(head) ||
	    slice_u32(&s, &len) < 0 || len > ADMIN_REQUEST_MAX ||
	    (head[4] != ADMIN_SECRETS && head[4] != ADMIN_CA))
		return;
	c->secret = true;
	/* If this fails, so does the reading below. */
	if (!buf_reserve(&c->in, HEAD_SIZE + len + READ_SIZE))
		c->broken = true;
}

/* Reads from the client; may free @c. */
static void conn_read(struct admin_conn *c)
{
	uint8_t *to;
	ssize_t n;

	conn_room(c);
	to = buf_reserve(&c->in, READ_SIZE);
	n = to ? recv(c->fd, to, READ_SIZE, 0) : 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		buf_commit(&c->in, 0);
		return;
	}
	if (n <= 0) {
		conn_free(c);
		return;
	}
	buf_commit(&c->in, (size_t)n);
	conn_request(c);
}

static void conn_on_io(void *arg, uint32_t events)
{
	struct admin_conn *c = arg;

	if (events & (EPOLLHUP | EPOLLERR) || c->broken) {
		conn_free(c);
		return;
	}
	if (c->state == ADMIN_READ && events & EPOLLIN) {
		conn_read(c);
		return;
	}
	if (c->state != ADMIN_FLUSH && events & (EPOLLIN | EPOLLRDHUP)) {
		conn_free(c);
		return;
	}
	conn_flush(c);
}

static void conn_on_timer(void *arg)
{
	conn_free(arg);
}

static bool peer_may(int fd)
{
	uid_t uid = (uid_t)-1;

	return sock_peer(fd, NULL, &uid, NULL) == 0 &&
	       (uid == 0 || uid == geteuid());
}

/* Takes ownership of @fd. */
static void conn_new(struct admin_server *s, int fd)
{
	struct admin_conn *c = calloc(1, sizeof(*c));

	if (!c) {
		close(fd);
		return;
	}
	c->server = s;
	c->fd = fd;
	/* Room for one more piece than the longest request. */
	buf_init(&c->in, HEAD_SIZE + ADMIN_REQUEST_MAX + READ_SIZE);
	buf_init(&c->out, ADMIN_ANSWER_MAX);
	c->next = s->conns;
	c->link = &s->conns;
	if (c->next)
		c->next->link = &c->next;
	s->conns = c;
	s->n_conns++;
	c->timer = loop_timer_new(s->gate->loop, conn_on_timer, c);
	c->io = loop_add(s->gate->loop, fd, EPOLLIN | EPOLLRDHUP, conn_on_io,
			 c);
	if (!c->timer || !c->io)
		conn_free(c);
	else
		loop_timer_set(c->timer, REQUEST_MS);
}

static void server_on_accept(void *arg, uint32_t events)
{
	struct admin_server *s = arg;
	int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)events;
	if (fd < 0)
		return;
	if (s->n_conns < CONNS_MAX && peer_may(fd))
		conn_new(s, fd);
	else
		close(fd);
}

struct admin_server *admin_server_new(struct gate *g, int fd, struct err *err)
{
	struct admin_server *s = calloc(1, sizeof(*s));

	if (!s) {
		close(fd);
		err_nomem(err);
		return NULL;
	}
	s->gate = g;
	s->fd = fd;
	s->io = loop_add(g->loop, fd, EPOLLIN, server_on_accept, s);
	if (!s->io) {
		err_sys(err, "admin socket");
		admin_server_free(s);
		return NULL;
	}
	return s;
}

void admin_server_free(struct admin_server *s)
{
	if (!s)
		return;
	while (s->conns)
		conn_free(s->conns);
	loop_del(s->io);
	fd_closep(&s->fd);
	free(s);
}

void admin_server_reload_begins(struct admin_server *s)
{
	for (struct admin_conn *c = s->conns; c; c = c->next)
		if (c->state == ADMIN_ASKED)
			c->state = ADMIN_RELOADING;
}

/* Handles waiting requests again. The first may begin a job for which the
 * others wait. */
static void server_go_on(struct admin_server *s)
{
	struct admin_conn *c = s->conns, *next;

	for (; c; c = next) {
		next = c->next;
		if (c->state == ADMIN_WAIT) {
			c->state = ADMIN_READ;
			conn_request(c);
		}
	}
}

void admin_server_reload_ended(struct admin_server *s, const struct lint *lint,
			       const struct err *err)
{
	struct admin_conn *c = s->conns, *next;

	for (; c; c = next) {
		next = c->next;
		if (c->state == ADMIN_RELOADING) {
			admin_conn_lint(c, lint, NULL, err);
			conn_end(c, err);
		}
	}
	server_go_on(s);
}

void admin_server_bind_ended(struct admin_server *s, const char *id,
			     const struct lint *lint, const struct err *err)
{
	struct admin_conn *c = s->conns, *next;

	if (err->code >= 0)
		admin_note_change(s->gate, id, true);
	for (; c; c = next) {
		next = c->next;
		if (c->state == ADMIN_BINDING) {
			admin_conn_lint(c, lint, id, err);
			conn_end(c, err);
		}
	}
	server_go_on(s);
}
