/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve.c - vaultd's socket: connections, decisions, limits
 *
 * Theory of operation, for each connection:
 *
 *   accepted: SO_PEERCRED taken, that process pinned, a nonce sent
 *   one message: the request, whole, with its sender's credentials
 *   judged, answered, recorded, closed
 *
 * The socket is 0600 of uid 990, so only our setuid clients can connect. The
 * agent can start thousands of them and stop them half-way: a connection that
 * sends no request before the deadline is dropped, and the oldest without one
 * makes room for the next, so that a client that asks at once is served.
 */
#include "vault/serve.h"

#include <assert.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <time.h>

#include "vault/peer.h"
#include "vault/record.h"

/* a round; requests of accepted connections are read in between */
#define ACCEPTS 8
#define AUDIT_RATE 50u
#define AUDIT_BURST 200u
#define OWN_FDS 16u /* listener, epoll, /proc, one text, 0 to 2 */

/* For each connection itself and its process, and one chain. */
static_assert(2 * SERVE_CONNS_MAX + ATTEST_HOPS + OWN_FDS <= SERVE_FILES_MAX,
	      "vaultd never lacks a descriptor");

struct bucket {
	uint64_t filled_ms;
	uint32_t rate, max; /* tokens a second, and at most */
	uint64_t milli; /* thousandths of a token */
};

struct conn {
	struct vault_serve *sv;
	int fd; /* -1: free */
	int pinned; /* attest_pin() of the connecting process */
	uint64_t seq;
	struct loop_io *io;
	struct loop_timer *deadline;
	struct ucred cred;
	uint8_t nonce[VAULT_NONCE];
};

struct vault_serve {
	struct loop *loop;
	struct loop_io *io;
	int listener, log_fd, procfd;
	const struct grant *grant;
	uint64_t seq, skipped;
	struct bucket requests, audits;
	struct conn conn[SERVE_CONNS_MAX];
};

static bool bucket_take(struct bucket *b)
{
	const uint64_t now = clock_ms(), full = UINT64_C(1000) * b->max;

	b->milli += (now - b->filled_ms) * b->rate;
	if (b->milli > full)
		b->milli = full;
	b->filled_ms = now;
	if (b->milli < 1000)
		return false;
	b->milli -= 1000;
	return true;
}

static void conn_close(struct conn *c)
{
	loop_del(c->io);
	loop_timer_clear(c->deadline);
	c->io = NULL;
	fd_closep(&c->fd);
	fd_closep(&c->pinned);
}

static void conn_deadline(void *arg)
{
	conn_close(arg);
}

/* ---- the decision ---- */

static bool secret_fits(const struct grant_secret *s,
			const struct vault_request *r)
{
	uint16_t i;

	switch (r->op) {
	case VAULT_OP_GH:
		return s->uses & GRANT_GH;
	case VAULT_OP_GLAB:
		return s->uses & GRANT_GLAB;
	case VAULT_OP_GIT:
		break;
	}
	if (!(s->uses & GRANT_GIT) || strcmp(r->proto, "https") != 0)
		return false;
	for (i = 0; i < s->n_hosts; i++) {
		if (strcmp(s->hosts[i], r->host) == 0)
			return true;
	}
	return false;
}

static const struct grant_secret *secret_find(const struct grant *g,
					      const struct vault_request *r)
{
	size_t i;

	for (i = 0; i < g->n; i++) {
		if (secret_fits(&g->v[i], r))
			return &g->v[i];
	}
	return NULL;
}

/* Not time(2): the filter allows one clock only. */
static uint64_t clock_wall(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_REALTIME, &now) < 0 || now.tv_sec < SERVE_SKEW)
		return 0;
	return (uint64_t)now.tv_sec - SERVE_SKEW;
}

static int surrogate_make(const struct grant *g, const struct grant_secret *s,
			  struct vault_answer *a)
{
	const uint64_t now = clock_wall();
	uint8_t nonce[SURROGATE_NONCE];

	randombytes_buf(nonce, sizeof(nonce));
	memcpy(a->user, s->user, sizeof(a->user));
	a->expiry = (now / SURROGATE_STEP + 2) * SURROGATE_STEP;
	return surrogate_mint(&g->key, s->id, s->kind, SURROGATE_EPOCH, now,
			      nonce, a->surrogate);
}

/* Decides; fills the answer and the audit record. */
static void decide(struct conn *c, const struct ucred *sent,
		   const struct vault_request *r, struct attest *at,
		   struct vault_answer *a, struct record *log)
{
	const struct grant *g = c->sv->grant;
	const struct grant_secret *s;

	a->status = VAULT_DENIED;
	if (sodium_memcmp(r->nonce, c->nonce, VAULT_NONCE) != 0) {
		log->why = "the nonce is another's";
		return;
	}
	if (peer_agree(&c->cred, sent) < 0) {
		log->why = "the kernel names two callers";
		return;
	}
	if (!bucket_take(&c->sv->requests)) {
		a->status = VAULT_BUSY;
		return;
	}
	if (attest_take(at, c->sv->procfd, c->cred.pid, fd_take(&c->pinned),
			&log->why) < 0)
		return;
	s = secret_find(g, r);
	if (!s) {
		a->status = VAULT_NONE;
		return;
	}
	if (surrogate_make(g, s, a) < 0 || attest_again(at, &log->why) < 0) {
		*a = (struct vault_answer){ .status = VAULT_DENIED };
		return;
	}
	a->status = VAULT_OK;
	log->secret = s->id;
}

/* If the reader is slow, lines are lost, but no answers. */
static void record_write(struct vault_serve *sv, struct record *log)
{
	struct buf line;
	ssize_t n = -1;

	if (!bucket_take(&sv->audits)) {
		sv->skipped++;
		return;
	}
	log->skipped = sv->skipped;
	buf_init(&line, RECORD_LINE_MAX);
	if (record_put(&line, log) == 0)
		n = write(sv->log_fd, buf_slice(&line).ptr, buf_len(&line));
	sv->skipped = n > 0 ? 0 : sv->skipped + 1;
	buf_done(&line);
}

static void answer_send(const struct conn *c, const struct vault_answer *a)
{
	struct buf out;

	buf_init(&out, VAULT_ANSWER_MAX);
	/* A new socket has room for the nonce; one without room is dropped. */
	if (vault_put_answer(&out, a) == 0 &&
	    send(c->fd, buf_slice(&out).ptr, buf_len(&out),
		 MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		errno = 0;
	if (buf_len(&out) > 0)
		sodium_memzero(out.mem, out.cap);
	buf_done(&out);
}

static void conn_ready(void *arg, uint32_t events)
{
	static struct attest at; /* large; one request at a time */
	struct conn *c = arg;
	uint8_t data[VAULT_REQUEST_MAX + 1];
	struct vault_answer answer = { .status = VAULT_DENIED };
	struct vault_request request;
	struct record log = { .caller = &at };
	struct ucred sent = { 0 };
	ssize_t n;

	(void)events;
	n = peer_receive(c->fd, data, sizeof(data), &sent);
	if (n == -EAGAIN)
		return;
	if (n == 0 || (n < 0 && n != -EPROTO)) {
		conn_close(c); /* it disconnected without a request */
		return;
	}
	at = (struct attest){ .pid = c->cred.pid, .uid = c->cred.uid };
	if (n < 0) {
		log.why = "no credentials came along";
	} else if (vault_get_request(slice_of(data, (size_t)n), &request) < 0) {
		log.why = "the request is malformed";
	} else {
		log.request = &request;
		decide(c, &sent, &request, &at, &answer, &log);
	}
	log.status = answer.status;
	log.expiry = answer.expiry;
	answer_send(c, &answer);
	record_write(c->sv, &log);
	sodium_memzero(&answer, sizeof(answer));
	attest_done(&at);
	conn_close(c);
}

/* ---- connections ---- */

/* Returns a free place, after dropping the oldest connection if necessary. */
static struct conn *conn_place(struct vault_serve *sv)
{
	struct conn *oldest = &sv->conn[0], *c;

	for (c = sv->conn; c < sv->conn + SERVE_CONNS_MAX; c++) {
		if (c->fd < 0)
			return c;
		if (c->seq < oldest->seq)
			oldest = c;
	}
	conn_close(oldest);
	return oldest;
}

static bool pid_has_enough(const struct vault_serve *sv, pid_t pid)
{
	const struct conn *c;
	unsigned int n = 0;

	for (c = sv->conn; c < sv->conn + SERVE_CONNS_MAX; c++)
		n += c->fd >= 0 && c->cred.pid == pid;
	return n >= SERVE_CONNS_PER_PID;
}

static void conn_open(struct vault_serve *sv, int fd)
{
	struct ucred cred;
	struct conn *c;

	if (peer_connected(fd, &cred) < 0 || pid_has_enough(sv, cred.pid)) {
		close(fd);
		return;
	}
	c = conn_place(sv);
	c->fd = fd;
	c->seq = sv->seq++;
	c->cred = cred;
	/* Even a process that has ended already gets a nonce, and is refused
	 * when it asks, like all others. */
	c->pinned = attest_pin(sv->procfd, cred.pid);
	randombytes_buf(c->nonce, sizeof(c->nonce));
	c->io = loop_add(sv->loop, fd, EPOLLIN, conn_ready, c);
	if (!c->io || send(fd, c->nonce, sizeof(c->nonce),
			   MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof(c->nonce)) {
		conn_close(c);
		return;
	}
	loop_timer_set(c->deadline, SERVE_DEADLINE_MS);
}

static void serve_accept(void *arg, uint32_t events)
{
	struct vault_serve *sv = arg;
	int i, fd;

	(void)events;
	for (i = 0; i < ACCEPTS; i++) {
		fd = accept4(sv->listener, NULL, NULL,
			     SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			return;
		conn_open(sv, fd);
	}
}

int vault_serve_new(struct loop *l, int listener, int log_fd,
		    const struct grant *grant, struct vault_serve **ret)
{
	struct vault_serve *sv = calloc(1, sizeof(*sv));
	struct conn *c;
	int rc;

	if (!sv)
		return -ENOMEM;
	sv->loop = l;
	sv->listener = listener;
	sv->log_fd = log_fd;
	sv->grant = grant;
	sv->requests = (struct bucket){ .filled_ms = clock_ms(),
					.rate = SERVE_RATE,
					.max = SERVE_BURST,
					.milli = 1000u * SERVE_BURST };
	sv->audits = (struct bucket){ .filled_ms = clock_ms(),
				      .rate = AUDIT_RATE,
				      .max = AUDIT_BURST,
				      .milli = 1000u * AUDIT_BURST };
	for (c = sv->conn; c < sv->conn + SERVE_CONNS_MAX; c++) {
		c->sv = sv;
		c->fd = -1;
		c->pinned = -1;
	}
	sv->procfd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (sv->procfd < 0) {
		rc = -errno;
		vault_serve_free(sv);
		return rc;
	}
	for (c = sv->conn; c < sv->conn + SERVE_CONNS_MAX; c++) {
		c->deadline = loop_timer_new(l, conn_deadline, c);
		if (!c->deadline) {
			vault_serve_free(sv);
			return -ENOMEM;
		}
	}
	sv->io = loop_add(l, listener, EPOLLIN, serve_accept, sv);
	if (!sv->io) {
		vault_serve_free(sv);
		return -ENOMEM;
	}
	*ret = sv;
	return 0;
}

void vault_serve_free(struct vault_serve *sv)
{
	struct conn *c;

	if (!sv)
		return;
	for (c = sv->conn; c < sv->conn + SERVE_CONNS_MAX; c++) {
		if (c->fd >= 0)
			conn_close(c);
		loop_timer_free(c->deadline);
	}
	loop_del(sv->io);
	fd_closep(&sv->procfd);
	free(sv);
}
