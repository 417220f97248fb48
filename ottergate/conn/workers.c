/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workers.c - the control thread's side of the workers
 *
 * There is one control thread: it posts a mail to every worker, then waits, so
 * a mailbox holds one letter and needs no lock; the eventfd and the semaphore
 * order the memory.
 */
#include "ottergate/conn/worker_impl.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/log.h"
#include "lib/slice.h"

#define BUFFER_KIB_DEFAULT 64u
#define NS_PER_S 1000000000L
#define PUMP_NS 2000000L

struct workers {
	struct workers_opts opts; /* workers borrow .worker of it */
	unsigned n;
	struct worker *v;
};

unsigned workers_cpus(void)
{
	cpu_set_t set;
	int n;

	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return 1;
	n = CPU_COUNT(&set);
	return n > 0 ? (unsigned)n : 1;
}

/* Signals belong to the control thread. A SIGPIPE of a splice() stays
 * pending. */
static int worker_start(struct worker *w, struct err *err)
{
	struct worker_impl *im = w->impl;
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&im->thread, NULL, worker_main, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	im->running = rc == 0;
	if (rc)
		return err_set(err, -rc, "start worker %u: %s", w->index,
			       err_text(-rc));
	return 0;
}

static void worker_post(struct worker *w, enum mail_kind kind)
{
	const uint64_t one = 1;

	w->impl->mail.kind = kind;
	/* the counter is small: this write does not fail */
	if (write(w->impl->mailbox.fd, &one, sizeof(one)) != sizeof(one))
		log_error("worker %u cannot be reached", w->index);
}

/* A sweep that closes thousands of connections fills the rings that this very
 * thread has to empty. */
static void worker_wait(const struct workers *ws, struct worker *w)
{
	struct timespec until;

	for (;;) {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += PUMP_NS;
		if (until.tv_nsec >= NS_PER_S) {
			until.tv_nsec -= NS_PER_S;
			until.tv_sec++;
		}
		if (sem_clockwait(&w->impl->mail.done, CLOCK_MONOTONIC,
				  &until) == 0)
			return;
		if (ws->opts.audit)
			audit_pump(ws->opts.audit);
	}
}

/* Closes the sockets that no worker of @ws owns. */
static void listeners_close(const struct workers_opts *opts, unsigned n,
			    const struct workers *ws)
{
	for (unsigned i = 0; i < n; i++) {
		const struct worker_impl *im = ws && i < ws->n ? ws->v[i].impl :
								 NULL;

		for (size_t k = 0; k < opts->n_listeners; k++) {
			int fd = opts->listeners[i * opts->n_listeners + k]
					 .ev.fd;

			if (!im || !im->n_listeners)
				fd_closep(&fd);
		}
	}
}

int workers_start(const struct workers_opts *opts, struct table *first,
		  struct workers **ret, struct err *err)
{
	unsigned n = opts->count ? opts->count : workers_cpus();
	struct workers *ws;
	int rc = 0;

	if (n > WORKERS_MAX) {
		listeners_close(opts, n, NULL);
		return err_set(err, -EINVAL, "at most %u workers", WORKERS_MAX);
	}
	ws = calloc(1, sizeof(*ws));
	if (!ws || !(ws->v = calloc(n, sizeof(*ws->v)))) {
		listeners_close(opts, n, NULL);
		free(ws);
		return err_nomem(err);
	}
	ws->opts = *opts;
	if (ws->opts.worker.buffer_kib == 0)
		ws->opts.worker.buffer_kib = BUFFER_KIB_DEFAULT;
	while (rc == 0 && ws->n < n) {
		struct worker *w = &ws->v[ws->n];

		rc = worker_init(w, &ws->opts, ws->n, n, err);
		ws->n++;
		w->table = table_ref(first);
		if (rc == 0)
			rc = worker_start(w, err);
	}
	if (rc < 0) {
		listeners_close(opts, n, ws);
		workers_stop(ws);
		return rc;
	}
	*ret = ws;
	return 0;
}

void workers_swap(struct workers *ws, struct table *t)
{
	for (unsigned i = 0; i < ws->n; i++) {
		ws->v[i].impl->mail.table = table_ref(t);
		worker_post(&ws->v[i], MAIL_SWAP);
	}
	for (unsigned i = 0; i < ws->n; i++)
		worker_wait(ws, &ws->v[i]);
}

void workers_stop(struct workers *ws)
{
	if (!ws)
		return;
	for (unsigned i = 0; i < ws->n; i++)
		if (ws->v[i].impl && ws->v[i].impl->running)
			worker_post(&ws->v[i], MAIL_STOP);
	for (unsigned i = 0; i < ws->n; i++) {
		if (ws->v[i].impl && ws->v[i].impl->running)
			pthread_join(ws->v[i].impl->thread, NULL);
		worker_done(&ws->v[i]);
	}
	free(ws->v);
	free(ws);
}

unsigned workers_count(const struct workers *ws)
{
	return ws->n;
}

uint64_t workers_counter(const struct workers *ws, enum counter c)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < ws->n; i++)
		sum += atomic_load_explicit(&ws->v[i].counters[c],
					    memory_order_relaxed);
	return sum;
}

uint64_t workers_connections(struct workers *ws, const char *agent, size_t max,
			     void (*fn)(void *arg, const char *json,
					size_t len),
			     void *arg)
{
	uint64_t left_out = 0;

	for (unsigned i = 0; i < ws->n; i++) {
		struct mail *m = &ws->v[i].impl->mail;
		struct slice list, one;

		buf_init(&m->out, max);
		m->left_out = 0;
		m->agent = agent;
		worker_post(&ws->v[i], MAIL_LIST);
		worker_wait(ws, &ws->v[i]);
		list = buf_slice(&m->out);
		while (slice_lstr(&list, max, &one) == 0)
			fn(arg, (const char *)one.ptr, one.len);
		left_out += m->left_out;
		buf_done(&m->out);
	}
	return left_out;
}
