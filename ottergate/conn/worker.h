/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.h - one thread, one epoll, its share of the connections
 *
 * Workers share nothing that is written on the hot path but the atomics of
 * `struct agent` and of `struct counters`. Listeners are SO_REUSEPORT, one
 * of each kind a worker. The control thread talks to a worker by its mailbox
 * (eventfd): a new table, "close what is gone", "list connections", stop.
 *
 * Each descriptor is registered once, edge-triggered, for both directions;
 * events point to a `struct ev`. A handler may free its own object only by
 * worker_free_later(): the round's event array may still name it. What a
 * sandbox has to be done is not done by the handler, but in its turn (share.h).
 */
#ifndef OTTERGATE_CONN_WORKER_H
#define OTTERGATE_CONN_WORKER_H

#include <stdatomic.h>
#include <sys/epoll.h>

#include "ottergate/audit/audit.h"
#include "ottergate/conn/table.h"
#include "lib/wheel.h"

struct worker;
struct resolver;
struct conn;
struct shares;
struct share_clocks;

struct ev {
	void (*fn)(struct worker *w, struct ev *ev, uint32_t events);
	int fd; /* -1: none */
	uint32_t pending; /* events that wait for their task's turn */
};

/* Relaxed atomics, summed by metrics.c. Append only. */
#define COUNTER_TABLE(X)                                                    \
	X(ACCEPTED, "connections_total", "Connections accepted")            \
	X(ALLOWED, "allowed_total", "Requests allowed")                     \
	X(DENIED, "denied_total", "Requests denied")                        \
	X(DNS, "dns_queries_total", "DNS questions answered")               \
	X(DNS_DROPPED, "dns_dropped_total", "DNS packets not answered")     \
	X(BYTES_UP, "bytes_up_total", "Bytes from sandboxes")               \
	X(BYTES_DOWN, "bytes_down_total", "Bytes to sandboxes")             \
	X(SPLICED, "bytes_spliced_total", "Bytes moved without a copy")     \
	X(RESOLVED, "resolutions_total", "Upstream name lookups")           \
	X(RESOLVE_FAILED, "resolutions_failed_total", "Failed lookups")     \
	X(DIALLED, "dials_total", "Upstream connections tried")             \
	X(DIAL_FAILED, "dials_failed_total", "Upstream connections failed") \
	X(THROTTLED, "throttled_total", "Times a direction had to rest")    \
	X(NO_FILES, "accept_failed_total",                                  \
	  "Connections dropped for want of descriptors or memory")          \
	X(ASKED, "asks_total", "Questions of programs before they connect") \
	X(UDP_DENIED, "udp_asks_denied_total",                              \
	  "Of these, about UDP that is not DNS")
#define COUNTER_ENUM(id, name, help) COUNTER_##id,
enum counter { COUNTER_TABLE(COUNTER_ENUM) COUNTERS };
#undef COUNTER_ENUM

enum listener_kind {
	LISTEN_TRANSPARENT, /* redirected TCP: SO_ORIGINAL_DST */
	LISTEN_FIXED, /* TLS for one port, no redirect (bench, tests) */
	LISTEN_PROXY, /* explicit, 3128 */
	LISTEN_DNS_UDP,
	LISTEN_DNS_TCP,
};

struct listener {
	struct ev ev; /* first: its handler casts back */
	enum listener_kind kind;
	uint16_t port; /* LISTEN_FIXED: the port it stands for */
	bool deferred; /* DNS: goes on after the round */
};

struct worker_opts { /* shared by all, borrowed */
	struct addr self; /* 172.20.0.53 */
	size_t buffer_kib; /* of a relay step */
	struct ssl_ctx_st *tls; /* itls_upstream_ctx(); NULL: no inspection */
	const struct share_clocks *clocks; /* of turns; NULL: the system's */
};

struct worker {
	unsigned index;
	int epfd;
	uint64_t now_ms; /* CLOCK_MONOTONIC of this round */
	uint64_t round; /* its number */
	struct wheel wheel;
	struct table *table; /* a reference */
	const struct worker_opts *opts;
	struct resolver *resolver;
	struct shares *shares; /* whose turn it is: share.h */
	struct audit_ring *audit;
	struct conn *conns; /* list of all, for sweeps */
	size_t n_conns;
	uint64_t next_conn; /* number, unique with index */
	_Atomic uint64_t counters[COUNTERS];
	struct worker_impl *impl;
};

static inline void worker_count(struct worker *w, enum counter c, uint64_t n)
{
	/* One writer: no locked instruction is needed. */
	atomic_store_explicit(
		&w->counters[c],
		atomic_load_explicit(&w->counters[c], memory_order_relaxed) + n,
		memory_order_relaxed);
}

/* Registers @ev for both directions, edge-triggered. */
int worker_watch(struct worker *w, struct ev *ev);
/*
 * free(@mem), at least a pointer long, when no event and no deferred call of
 * this round can name it any more. Its first pointer's worth of bytes is
 * overwritten at once, so this cannot fail; ev->fd at its place is not.
 */
void worker_free_later(struct worker *w, void *mem);
/* @fn(@arg) after the round's events and timers, once; for work that must not
 * recurse or take too long. From within @fn: in the next round. */
void worker_defer(struct worker *w, void (*fn)(struct worker *w, void *arg),
		  void *arg);
/* CLOCK_REALTIME in ms, read at most once a round. */
uint64_t worker_realtime(struct worker *w);

/* --- control thread's side ---------------------------------------------- */

#define WORKERS_MAX 256u

struct workers;
struct workers_opts {
	unsigned count; /* threads; 0: one a CPU this process may use */
	struct worker_opts worker;
	/* count sockets of each kind, [worker * n_kinds + kind]; taken,
	 * whatever happens */
	const struct listener *listeners;
	size_t n_listeners; /* a worker */
	struct audit *audit;
	const char *const *dns_servers; /* NULL-terminated; NULL: system */
};
/* CPUs that this process may use. */
unsigned workers_cpus(void);
int workers_start(const struct workers_opts *opts, struct table *first,
		  struct workers **ret, struct err *err);
/* Each worker takes @t (a reference each) and closes what it no longer
 * allows; returns when all have done so. */
void workers_swap(struct workers *ws, struct table *t);
void workers_stop(struct workers *ws); /* ends and joins; NULL is fine */
unsigned workers_count(const struct workers *ws);
uint64_t workers_counter(const struct workers *ws, enum counter c);
/* One JSON object each of the connections now open, @agent NULL: all. @fn is
 * called by the control thread. */
void workers_connections(struct workers *ws, const char *agent,
			 void (*fn)(void *arg, const char *json, size_t len),
			 void *arg);

#endif
