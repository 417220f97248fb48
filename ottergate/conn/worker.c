/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.c - the loop of one worker
 *
 * Theory of operation: a round is epoll_wait(), the handlers, the timers, the
 * deferred calls, the turns of the sandboxes (share.c), and at last freeing
 * memory that nothing can refer to any more. A connection's handler only
 * records what came and queues the connection, so a round is short however much
 * came. Calls deferred by deferred calls run in the next round, which then does
 * not wait, so that a busy listener cannot keep the others from their turn. If
 * such calls are pending, memory is freed one round later, since they may refer
 * to it. With no timer armed and no event, a worker sleeps without a timeout.
 */
#include "ottergate/conn/worker.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lib/log.h"
#include "lib/loop.h"
#include "ottergate/conn/conn_impl.h"
#include "ottergate/dns/server.h"
#include "ottergate/conn/relay_pipe.h"
#include "ottergate/dns/resolve.h"
#include "ottergate/conn/share.h"
#include "ottergate/conn/worker_impl.h"

/* --- services for handlers ------------------------------------------------ */

int worker_watch(struct worker *w, struct ev *ev)
{
	struct epoll_event e = {
		.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
		.data.ptr = ev,
	};

	return epoll_ctl(w->epfd, EPOLL_CTL_ADD, ev->fd, &e) < 0 ? -errno : 0;
}

void worker_free_later(struct worker *w, void *mem)
{
	struct free_item *item = mem;

	item->next = w->impl->frees;
	w->impl->frees = item;
}

void worker_defer(struct worker *w, void (*fn)(struct worker *w, void *arg),
		  void *arg)
{
	struct deferred_list *l = &w->impl->deferred;

	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 256;
		struct deferred *v = realloc(l->v, cap * sizeof(*v));

		/* Without the call a connection would be lost; calling it now
		 * would recurse into its caller. Neither is safe; restarting
		 * the gateway is. */
		if (!v) {
			log_error("out of memory");
			abort();
		}
		l->v = v;
		l->cap = cap;
	}
	l->v[l->n++] = (struct deferred){ .fn = fn, .arg = arg };
}

uint64_t worker_realtime(struct worker *w)
{
	struct worker_impl *im = w->impl;
	struct timespec ts;

	if (im->realtime_ms == 0) {
		clock_gettime(CLOCK_REALTIME, &ts);
		im->realtime_ms = (uint64_t)ts.tv_sec * 1000 +
				  (uint64_t)ts.tv_nsec / 1000000;
	}
	return im->realtime_ms;
}

/* --- the round ------------------------------------------------------------ */

static void free_list(struct free_item *item)
{
	while (item) {
		struct free_item *next = item->next;

		free(item);
		item = next;
	}
}

static void worker_reap(struct worker *w)
{
	struct worker_impl *im = w->impl;

	free_list(im->old_frees);
	im->old_frees = im->frees;
	im->frees = NULL;
	if (im->deferred.n == 0) {
		free_list(im->old_frees);
		im->old_frees = NULL;
	}
}

static void worker_run_deferred(struct worker *w)
{
	struct worker_impl *im = w->impl;
	struct deferred_list now = im->deferred;

	im->deferred = im->running_deferred;
	for (size_t i = 0; i < now.n; i++)
		now.v[i].fn(w, now.v[i].arg);
	now.n = 0;
	im->running_deferred = now;
}

static void worker_round(struct worker *w)
{
	struct worker_impl *im = w->impl;
	struct epoll_event v[WORKER_EVENTS];
	bool busy = im->deferred.n || shares_wait(w->shares);
	int wait = busy ? 0 : wheel_wait(&w->wheel, w->now_ms);
	int n = epoll_wait(w->epfd, v, WORKER_EVENTS, wait);

	w->now_ms = clock_ms();
	w->round++;
	im->realtime_ms = 0;
	for (int i = 0; i < n; i++) {
		struct ev *ev = v[i].data.ptr;

		/* closed by an earlier handler */
		if (ev->fd >= 0)
			ev->fn(w, ev, v[i].events);
	}
	wheel_run(&w->wheel, w->now_ms);
	if (im->deferred.n)
		worker_run_deferred(w);
	shares_run(w->shares, w);
	if (im->frees || im->old_frees)
		worker_reap(w);
}

/* --- mail ----------------------------------------------------------------- */

/* Ends a LIST or SWAP after its last connection. */
static void worker_mail_done(struct worker *w)
{
	struct mail *m = &w->impl->mail;

	m->kind = MAIL_NONE;
	sem_post(&m->done);
}

static void list_one(struct worker *w, struct conn *c)
{
	struct mail *m = &w->impl->mail;
	struct slice s;
	struct buf json;

	if (m->agent && (!c->agent || strcmp(c->agent->id, m->agent) != 0))
		return;
	buf_init(&json, 16 * 1024);
	if (conn_json(c, &json) < 0) {
		m->left_out++;
	} else {
		s = buf_slice(&json);
		if (buf_put_lstr(&m->out, s.ptr, s.len) < 0)
			m->left_out++;
	}
	buf_done(&json);
}

static void worker_sweep(struct worker *w, void *arg)
{
	struct worker_impl *im = w->impl;

	(void)arg;
	for (unsigned i = 0; im->sweep && i < WORKER_SWEEP; i++) {
		struct conn *c = im->sweep;

		im->sweep = c->next;
		if (im->mail.kind == MAIL_LIST)
			list_one(w, c);
		else
			conn_recheck(c);
	}
	if (im->sweep)
		worker_defer(w, worker_sweep, NULL);
	else
		worker_mail_done(w);
}

static bool table_has(void *arg, const struct agent *a)
{
	const struct table_entry *e = table_find(arg, &a->address);

	return e && e->agent == a;
}

/* New connections are decided by the new table from here on, and are in the
 * list before those that have to be checked. */
static void worker_mail(struct worker *w, struct ev *ev, uint32_t events)
{
	struct worker_impl *im = w->impl;
	struct mail *m = &im->mail;
	uint64_t n;

	(void)events;
	if (read(ev->fd, &n, sizeof(n)) != sizeof(n))
		return;
	switch (m->kind) {
	case MAIL_NONE:
		return;
	case MAIL_STOP:
		im->stop = true;
		return;
	case MAIL_SWAP:
		table_unref(w->table);
		w->table = m->table;
		m->table = NULL;
		shares_purge(w->shares, table_has, w->table);
		break;
	case MAIL_LIST:
		break;
	}
	im->sweep = w->conns;
	worker_sweep(w, NULL);
}

/* --- life ----------------------------------------------------------------- */

static void (*listener_fn(enum listener_kind kind))(struct worker *w,
						    struct ev *ev,
						    uint32_t events)
{
	switch (kind) {
	case LISTEN_DNS_UDP:
		return dns_udp_ready;
	case LISTEN_DNS_TCP:
		return dns_tcp_accept;
	case LISTEN_TRANSPARENT:
	case LISTEN_FIXED:
	case LISTEN_PROXY:
		break;
	}
	return conn_accept;
}

/* DNS drains its sockets, so an edge suffices and a sent packet wakes no
 * worker. Connections are level-triggered: the last accept4() of a round would
 * only find that there are no more, and costs as much as a successful one. */
static int worker_listen(struct worker *w, struct listener_slot *s)
{
	struct listener *l = &s->listener;
	bool dns = l->kind == LISTEN_DNS_UDP || l->kind == LISTEN_DNS_TCP;
	struct epoll_event e = {
		.events = EPOLLIN | (dns ? (uint32_t)EPOLLET : 0),
		.data.ptr = &l->ev,
	};

	l->ev.fn = listener_fn(l->kind);
	s->worker = w;
	s->burst = 1;
	return epoll_ctl(w->epfd, EPOLL_CTL_ADD, l->ev.fd, &e) < 0 ? -errno : 0;
}

static int worker_listeners(struct worker *w, const struct workers_opts *opts)
{
	struct worker_impl *im = w->impl;

	im->listeners = calloc(opts->n_listeners + 1, sizeof(*im->listeners));
	if (!im->listeners)
		return -ENOMEM;
	im->n_listeners = opts->n_listeners;
	for (size_t i = 0; i < opts->n_listeners; i++)
		im->listeners[i].listener =
			opts->listeners[w->index * opts->n_listeners + i];
	for (size_t i = 0; i < opts->n_listeners; i++) {
		int rc = worker_listen(w, &im->listeners[i]);

		if (rc < 0)
			return rc;
	}
	return 0;
}

static int worker_fds(struct worker *w)
{
	struct worker_impl *im = w->impl;

	w->epfd = epoll_create1(EPOLL_CLOEXEC);
	im->mailbox = (struct ev){
		.fn = worker_mail,
		.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
	};
	if (w->epfd < 0 || im->mailbox.fd < 0)
		return -errno;
	im->reserve = fcntl(im->mailbox.fd, F_DUPFD_CLOEXEC, 0);
	if (im->reserve < 0)
		return -errno;
	return worker_watch(w, &im->mailbox);
}

int worker_init(struct worker *w, const struct workers_opts *opts,
		unsigned index, unsigned count, struct err *err)
{
	struct worker_impl *im = calloc(1, sizeof(*im));
	int rc;

	*w = (struct worker){ .index = index, .epfd = -1, .impl = im };
	if (!im)
		return err_nomem(err);
	im->mailbox.fd = im->reserve = -1;
	sem_init(&im->mail.done, 0, 0);
	w->opts = &opts->worker;
	w->now_ms = clock_ms();
	wheel_init(&w->wheel, w->now_ms);
	im->max_conns = LIMIT_CONNS_TOTAL / count;
	im->copy_size = opts->worker.buffer_kib * 1024;
	im->copy = malloc(im->copy_size);
	w->shares = shares_new(opts->worker.clocks);
	if (!im->copy || !w->shares)
		return err_nomem(err);
	rc = worker_fds(w);
	if (rc == 0)
		rc = worker_listeners(w, opts);
	if (rc < 0)
		return err_set(err, rc, "worker %u: %s", index, err_text(rc));
	if (opts->audit) {
		w->audit = audit_ring_new(opts->audit);
		if (!w->audit)
			return err_nomem(err);
	}
	return resolver_new(w, opts->dns_servers, &w->resolver, err);
}

void worker_done(struct worker *w)
{
	struct worker_impl *im = w->impl;

	if (!im)
		return;
	resolver_free(w->resolver);
	worker_reap(w);
	worker_reap(w);
	shares_free(w->shares);
	relay_pipes_free(im);
	for (size_t i = 0; i < im->n_listeners; i++)
		fd_closep(&im->listeners[i].listener.ev.fd);
	free(im->listeners);
	free(im->deferred.v);
	free(im->running_deferred.v);
	free(im->copy);
	fd_closep(&im->reserve);
	fd_closep(&im->mailbox.fd);
	fd_closep(&w->epfd);
	table_unref(w->table);
	sem_destroy(&im->mail.done);
	free(im);
	w->impl = NULL;
}

/* Closes everything, then runs what the closing deferred. */
static void worker_end(struct worker *w)
{
	while (w->conns)
		conn_close(w->conns);
	dns_tcp_end(w);
	for (unsigned i = 0; w->impl->deferred.n && i < 16; i++)
		worker_run_deferred(w);
}

void *worker_main(void *arg)
{
	struct worker *w = arg;
	char name[16];

	snprintf(name, sizeof(name), "gate-%u", w->index);
	pthread_setname_np(pthread_self(), name);
	while (!w->impl->stop)
		worker_round(w);
	worker_end(w);
	worker_mail_done(w);
	return NULL;
}
