/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.c - answers on port 53, over UDP and TCP
 *
 * Answers to a question:
 *
 *   unknown source                 none, counted
 *   a response, less than a header none, counted
 *   past LIMIT_DNS_PACKETS, UDP    none, counted
 *   past the limit of the policy,  REFUSED
 *     or past LIMIT_ASKS
 *   broken, or not one question    FORMERR; other opcodes NOTIMP
 *   EDNS of another version        BADVERS
 *   class other than IN            REFUSED
 *   A of a host name               its address (lease.h), or the gateway's own
 *   PTR of an address, by a        NODATA, and the policy's verdict on an
 *     program that asks              address and port (ask.h)
 *   everything else                NODATA
 *
 * "Everything else" includes the root and names that are no host names: a
 * resolver library accepts NODATA as final and reports it at once, while
 * FORMERR and SERVFAIL make it retry elsewhere. The answer never reveals
 * whether the policy allows a name (D9), and nothing is ever asked upstream
 * (D1).
 *
 * UDP needs no memory but the stack: a batch is read, answered and sent before
 * the next. Its cost is charged to the sandboxes that asked (share.h), and
 * packets of a sandbox beyond LIMIT_DNS_PACKETS are dropped before they cost an
 * answer, so the socket is emptied faster than one sandbox can fill it. Replies
 * leave from the bound address; for questions that were redirected here
 * conntrack restores the asked one. A TCP connection holds one question at a
 * time, waits for its sandbox's turn, and is limited for each sandbox, so that
 * one sandbox cannot take all of them.
 */
#include "ottergate/dns/server.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "ottergate/dns/ask.h"
#include "ottergate/dns/lease.h"
#include "ottergate/conn/share.h"
#include "ottergate/conn/worker_impl.h"

/* None of our clients pads a UDP question beyond this; the kernel truncates
 * longer ones, which are dropped. */
#define UDP_SLOT 1024u
#define UDP_ROUNDS 8u /* batches before other events get their turn */
#define TCP_ACCEPTS 64u /* the same, in connections */

_Static_assert(UDP_ROUNDS *DNS_BATCH <= SHARE_BILL_MAX, "all of them pay");

struct dns_tcp {
	struct ev ev; /* first: the handler casts back */
	struct wheel_timer timer;
	struct worker *worker;
	struct task task;
	struct dns_tcp *next, **link;
	struct addr source;
	uint16_t have; /* bytes of in */
	uint16_t out_start, out_end; /* the unsent rest */
	uint8_t in[2 + DNS_QUESTION_MAX];
	uint8_t out[2 + DNS_MSG_MAX];
};

/* Of this worker's thread only. */
static _Thread_local struct dns_tcp *tcp_conns;

/* --- one question -------------------------------------------------------- */

/* Judges the name for the audit only; the answer does not depend on it. */
static bool reply_audit(struct worker *w, const struct table_entry *te,
			const struct dns_question *q, enum reason why)
{
	struct audit_record rec = {
		.time_ms = worker_realtime(w),
		.event = AUDIT_DNS,
		.path = PATH_DNS,
		.source = te->agent->address,
		.generation = (uint16_t)table_generation(w->table),
	};

	if (why == REASON_ALLOWED && worker_expired(w, te->policy)) {
		why = REASON_EXPIRED;
	} else if (why == REASON_ALLOWED) {
		struct request rq = { .path = PATH_DNS, .name = &q->name };
		struct verdict v = decide(te->policy, &rq);

		why = v.reason;
		rec.use = (uint8_t)v.use;
		rec.observed = v.observed;
		audit_rule(&rec, v.rule);
	}
	rec.reason = (uint8_t)why;
	snprintf(rec.agent, sizeof(rec.agent), "%s", te->agent->id);
	rec.name_len = q->name.len;
	memcpy(rec.name, q->name.s, q->name.len);
	return audit_put(w->audit, &rec);
}

/* Returns the address that a program asks about; family 0 if this is no such
 * question or its answer would not fit. */
static struct addr asked_about(const struct dns_question *q, size_t size)
{
	if (!q->ask.protocol || q->type != DNS_TYPE_PTR ||
	    q->class != DNS_CLASS_IN || size < DNS_ASK_MAX)
		return (struct addr){ .family = 0 };
	return dns_ptr_address(&q->name);
}

/* Answers a whole question of a known sandbox within its limits. */
static size_t reply_question(struct worker *w, const struct table_entry *te,
			     const struct dns_question *q, uint8_t *out)
{
	uint32_t ttl = agent_policy_dns_ttl(te->policy);
	enum reason why = REASON_ALLOWED;
	struct addr a = { .family = 0 };
	unsigned rcode = DNS_NOERROR;

	if (q->edns_version)
		return dns_answer_write(q, DNS_BADVERS, NULL, 0, out);
	if (q->class != DNS_CLASS_IN)
		return dns_answer_write(q, DNS_REFUSED, NULL, 0, out);
	if (q->name.len == 0) {
		why = REASON_BAD_NAME;
	} else if (q->type != DNS_TYPE_A) {
		why = REASON_DNS_TYPE;
	} else {
		a = lease_take(te->agent, te->policy, &q->name);
		if (a.family != 4)
			a = w->opts->self;
	}
	if (w->audit && audit_wants(w->audit, AUDIT_DNS) &&
	    !reply_audit(w, te, q, why))
		rcode = DNS_REFUSED; /* on_full: deny */
	return dns_answer_write(q, rcode, &a, ttl, out);
}

/* Returns the length of the answer, 0 for none. @out has at least DNS_MSG_MAX
 * bytes, and DNS_ASK_MAX for programs that ask. */
static size_t reply_make(struct worker *w, const struct table_entry *te,
			 struct slice msg, uint8_t *out, size_t size)
{
	struct addr about = { .family = 0 };
	struct dns_question q;
	enum reason limit;
	int rc;

	rc = dns_question_read(msg, &q);
	if (rc == -EPROTO) {
		worker_count(w, COUNTER_DNS_DROPPED, 1);
		return 0;
	}
	worker_count(w, COUNTER_DNS, 1);
	if (rc == 0)
		about = asked_about(&q, size);
	limit = about.family ?
			usage_ask(&te->agent->usage, w->now_ms) :
			usage_dns(&te->agent->usage,
				  agent_policy_limits(te->policy), w->now_ms);
	if (limit != REASON_ALLOWED)
		return rc < 0 ? dns_error_write(q.id, q.opcode, DNS_REFUSED,
						out) :
				dns_answer_write(&q, DNS_REFUSED, NULL, 0, out);
	if (rc < 0)
		return dns_error_write(
			q.id, q.opcode,
			rc == -EOPNOTSUPP ? DNS_NOTIMP : DNS_FORMERR, out);
	/* No audit line of its own: it is not a look-up. */
	if (about.family)
		return ask_answer(w, te, &q, &about, out);
	return reply_question(w, te, &q, out);
}

/* --- UDP ----------------------------------------------------------------- */

struct udp_batch {
	struct mmsghdr in[DNS_BATCH], out[DNS_BATCH];
	struct iovec in_iov[DNS_BATCH], out_iov[DNS_BATCH];
	struct sockaddr_in from[DNS_BATCH];
	uint8_t question[DNS_BATCH][UDP_SLOT];
	uint8_t answer[DNS_BATCH][DNS_ASK_MAX];
};

static int udp_receive(int fd, struct udp_batch *b)
{
	for (unsigned i = 0; i < DNS_BATCH; i++) {
		b->in_iov[i] = (struct iovec){ b->question[i], UDP_SLOT };
		b->in[i] = (struct mmsghdr){
			.msg_hdr = { .msg_name = &b->from[i],
				     .msg_namelen = sizeof(b->from[i]),
				     .msg_iov = &b->in_iov[i],
				     .msg_iovlen = 1 },
		};
	}
	return recvmmsg(fd, b->in, DNS_BATCH, MSG_DONTWAIT, NULL);
}

/* A datagram that cannot be sent is lost, like any other; the client asks
 * again. One bad destination must not stop the others. */
static void udp_send(struct worker *w, int fd, struct udp_batch *b, unsigned n)
{
	unsigned at = 0;

	while (at < n) {
		int rc = sendmmsg(fd, b->out + at, n - at, MSG_DONTWAIT);

		if (rc > 0) {
			at += (unsigned)rc;
			continue;
		}
		if (rc < 0 && errno == EINTR)
			continue;
		worker_count(w, COUNTER_DNS_DROPPED, 1);
		at++;
	}
}

/* Returns the sandbox of the packet if it is to be read, else NULL. */
static const struct table_entry *
udp_source(struct worker *w, const struct mmsghdr *m, struct share_bill *bill)
{
	const struct msghdr *h = &m->msg_hdr;
	const struct table_entry *te = NULL;
	struct addr source;

	if (h->msg_namelen == sizeof(struct sockaddr_in)) {
		source = addr_of(h->msg_name);
		te = table_find(w->table, &source);
	}
	share_bill_add(bill, te ? te->agent : NULL);
	if (te && !(h->msg_flags & MSG_TRUNC) &&
	    usage_packet(&te->agent->usage, agent_policy_limits(te->policy),
			 w->now_ms))
		return te;
	worker_count(w, COUNTER_DNS_DROPPED, 1);
	return NULL;
}

static void udp_answer(struct worker *w, int fd, struct udp_batch *b,
		       unsigned n, struct share_bill *bill)
{
	unsigned replies = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct table_entry *te = udp_source(w, &b->in[i], bill);
		size_t len = 0;

		if (te)
			len = reply_make(w, te,
					 slice_of(b->question[i],
						  b->in[i].msg_len),
					 b->answer[replies], DNS_ASK_MAX);
		if (len == 0)
			continue;
		b->out_iov[replies] = (struct iovec){ b->answer[replies], len };
		b->out[replies] = (struct mmsghdr){
			.msg_hdr = { .msg_name = &b->from[i],
				     .msg_namelen = sizeof(b->from[i]),
				     .msg_iov = &b->out_iov[replies],
				     .msg_iovlen = 1 },
		};
		replies++;
	}
	udp_send(w, fd, b, replies);
}

/* Continues with the listener after the round; once, however many edges
 * come. */
static void again(struct worker *w, struct ev *listener,
		  void (*fn)(struct worker *w, void *arg))
{
	struct listener *l = (struct listener *)listener;

	if (l->deferred)
		return;
	l->deferred = true;
	worker_defer(w, fn, l);
}

static void udp_again(struct worker *w, void *arg)
{
	struct listener *l = arg;

	l->deferred = false;
	dns_udp_ready(w, &l->ev, EPOLLIN);
}

void dns_udp_ready(struct worker *w, struct ev *listener, uint32_t events)
{
	struct share_bill bill;
	struct udp_batch b;
	unsigned rounds = 0;
	int n = 0;

	(void)events;
	share_bill_begin(w->shares, &bill);
	while (rounds < UDP_ROUNDS) {
		n = udp_receive(listener->fd, &b);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		udp_answer(w, listener->fd, &b, (unsigned)n, &bill);
		rounds++;
		/* After a batch that is not full, a new packet is a new
		 * edge. */
		if ((unsigned)n < DNS_BATCH)
			break;
	}
	share_bill_end(w->shares, &bill);
	if (rounds == UDP_ROUNDS && (unsigned)n == DNS_BATCH)
		again(w, listener, udp_again);
}

/* --- TCP: RFC 7766, two bytes of length before each message --------------- */

static void tcp_close(struct dns_tcp *t)
{
	if (t->ev.fd < 0)
		return;
	fd_closep(&t->ev.fd);
	wheel_clear(&t->timer, &t->worker->wheel);
	*t->link = t->next;
	if (t->next)
		t->next->link = t->link;
	task_done(&t->task);
	worker_free_later(t->worker, t);
}

static void tcp_timeout(struct wheel_timer *timer)
{
	tcp_close((struct dns_tcp *)((char *)timer -
				     offsetof(struct dns_tcp, timer)));
}

/* Returns 0 when all is sent, -EAGAIN, or why the connection must end. */
static int tcp_flush(struct dns_tcp *t)
{
	while (t->out_start < t->out_end) {
		ssize_t n = send(t->ev.fd, t->out + t->out_start,
				 t->out_end - t->out_start,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		t->out_start = (uint16_t)(t->out_start + n);
	}
	return 0;
}

/* Answers the first whole message in @t->in. Returns -EAGAIN if there is
 * none. */
static int tcp_message(struct dns_tcp *t)
{
	struct slice in = slice_of(t->in, t->have), msg;
	struct worker *w = t->worker;
	const struct table_entry *te;
	uint16_t want;
	size_t len;

	if (slice_u16(&in, &want) < 0)
		return -EAGAIN;
	if (want == 0 || want > DNS_QUESTION_MAX)
		return -EBADMSG;
	if (slice_take(&in, want, &msg) < 0)
		return -EAGAIN;
	te = table_find(w->table, &t->source);
	len = te ? reply_make(w, te, msg, t->out + 2, DNS_MSG_MAX) : 0;
	if (len == 0)
		return -EBADMSG;
	t->out[0] = (uint8_t)(len >> 8);
	t->out[1] = (uint8_t)len;
	t->out_start = 0;
	t->out_end = (uint16_t)(2 + len);
	t->have = (uint16_t)in.len;
	memmove(t->in, in.ptr, in.len);
	wheel_set(&w->wheel, &t->timer, w->now_ms, DNS_TCP_IDLE_MS);
	return 0;
}

static int tcp_read(struct dns_tcp *t)
{
	ssize_t n = recv(t->ev.fd, t->in + t->have, sizeof(t->in) - t->have,
			 MSG_DONTWAIT);

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -ECONNRESET;
	t->have = (uint16_t)(t->have + n);
	return 0;
}

/*
 * Each turn sends, answers or reads, until the socket has nothing to read and
 * no room to write. The next question is read only after the last answer was
 * sent, so a client that does not read is not read from. Turns are counted, so
 * that an endless sender lets the others have theirs.
 */
static void tcp_step(struct dns_tcp *t)
{
	for (unsigned i = 0; i < DNS_BATCH; i++) {
		int rc = tcp_flush(t);

		if (rc == -EAGAIN)
			return;
		if (rc == 0)
			rc = tcp_message(t);
		if (rc == -EAGAIN)
			rc = tcp_read(t);
		if (rc == -EAGAIN)
			return;
		if (rc < 0) {
			tcp_close(t);
			return;
		}
	}
	task_queue(t->worker->shares, &t->task);
}

static void tcp_turn(struct worker *w, struct task *task)
{
	(void)w;
	tcp_step((struct dns_tcp *)((char *)task -
				    offsetof(struct dns_tcp, task)));
}

static void tcp_ready(struct worker *w, struct ev *ev, uint32_t events)
{
	struct dns_tcp *t = (struct dns_tcp *)ev;

	(void)events;
	if (t->ev.fd >= 0)
		task_queue(w->shares, &t->task);
}

/* Checks the limits before reading: a connection too many is closed unread. */
static bool tcp_may(const struct addr *source)
{
	unsigned all = 0, own = 0;

	for (const struct dns_tcp *t = tcp_conns; t; t = t->next) {
		all++;
		own += addr_eq(&t->source, source);
	}
	return all < DNS_TCP_MAX && own < DNS_TCP_SOURCE_MAX;
}

static void tcp_new(struct worker *w, int sock, const struct addr *source)
{
	const struct table_entry *te = table_find(w->table, source);
	SCOPED_FD fd = sock;
	struct dns_tcp *t;

	if (!te || !tcp_may(source) || !(t = malloc(sizeof(*t)))) {
		worker_count(w, COUNTER_DNS_DROPPED, 1);
		return;
	}
	t->ev = (struct ev){ .fn = tcp_ready, .fd = fd };
	t->timer = (struct wheel_timer){ .fn = tcp_timeout };
	t->worker = w;
	t->source = *source;
	t->have = t->out_start = t->out_end = 0;
	if (worker_watch(w, &t->ev) < 0) {
		free(t);
		return;
	}
	fd_take(&fd);
	task_init(w->shares, &t->task, te->agent, tcp_turn);
	t->next = tcp_conns;
	t->link = &tcp_conns;
	if (t->next)
		t->next->link = &t->next;
	tcp_conns = t;
	wheel_set(&w->wheel, &t->timer, w->now_ms, DNS_TCP_IDLE_MS);
}

static void tcp_accept_again(struct worker *w, void *arg)
{
	struct listener *l = arg;

	l->deferred = false;
	dns_tcp_accept(w, &l->ev, EPOLLIN);
}

void dns_tcp_accept(struct worker *w, struct ev *listener, uint32_t events)
{
	(void)events;
	for (unsigned i = 0; i < TCP_ACCEPTS; i++) {
		struct sockaddr_in from = { 0 };
		socklen_t len = sizeof(from);
		struct addr source;
		int fd = accept4(listener->fd, (struct sockaddr *)&from, &len,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		/* Out of descriptors: the next connection is a new edge, and
		 * then the waiting ones are accepted too. */
		if (fd < 0)
			return;
		source = addr_of((const struct sockaddr *)&from);
		tcp_new(w, fd, &source);
	}
	again(w, listener, tcp_accept_again);
}

void dns_tcp_end(struct worker *w)
{
	(void)w;
	while (tcp_conns)
		tcp_close(tcp_conns);
}
