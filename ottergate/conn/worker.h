/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.h - one thread with its epoll and its connections
 *
 * On the hot path workers share no written data but the atomics of `struct
 * agent` and of `struct counters`. Each worker has a SO_REUSEPORT listener of
 * each kind. The control thread uses a worker's mailbox (eventfd): a new table,
 * "close what is no longer allowed", "list connections", stop.
 *
 * Each descriptor is registered once, edge-triggered, for both directions;
 * events point to a `struct ev`. A handler must free its own object by
 * worker_free_later(), because the round's events may still refer to it. Work
 * for a sandbox is not done by the handler, but in the sandbox's turn
 * (share.h).
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
	uint32_t pending; /* events that wait for the sandbox's turn */
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
	uint16_t port; /* LISTEN_FIXED: the port to decide on */
	bool deferred; /* DNS: a deferred call will go on with it */
};

struct worker_opts { /* shared by all, borrowed */
	struct addr self; /* 172.20.0.53 */
	size_t buffer_kib; /* of a relay step; 0: 64 */
	struct ssl_ctx_st *tls; /* itls_upstream_ctx(); NULL: no inspection */
	const struct share_clocks *clocks; /* for turns; NULL: the system's */
	const char *edge; /* folder of ac-edge's sockets; NULL: none */
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
	struct audit_ring *audit; /* NULL: no audit */
	struct conn *conns; /* list of all */
	size_t n_conns;
	uint64_t next_conn; /* number, unique together with index */
	_Atomic uint64_t counters[COUNTERS];
	struct worker_impl *impl;
};

/* Adds @n to a counter; called in the thread of @w only. */
static inline void worker_count(struct worker *w, enum counter c, uint64_t n)
{
	/* One writer: no locked instruction is needed. */
	atomic_store_explicit(
		&w->counters[c],
		atomic_load_explicit(&w->counters[c], memory_order_relaxed) + n,
		memory_order_relaxed);
}

/* Registers @ev for both directions, edge-triggered. Returns 0 or -errno. */
int worker_watch(struct worker *w, struct ev *ev);
/*
 * Calls free(@mem) when no event and no deferred call of this round can refer
 * to it any more. Cannot fail: it overwrites the first pointer of @mem at once
 * instead of allocating. If @mem begins with a struct ev, its fd is kept and
 * must be -1.
 */
void worker_free_later(struct worker *w, void *mem);
/* Calls @fn(@arg) once after the round's events and timers, for work that must
 * not recurse or take too long; from within @fn, in the next round. Aborts when
 * out of memory. */
void worker_defer(struct worker *w, void (*fn)(struct worker *w, void *arg),
		  void *arg);
/* Returns CLOCK_REALTIME in ms, read at most once a round. */
uint64_t worker_realtime(struct worker *w);

/* --- control thread's side ---------------------------------------------- */

#define WORKERS_MAX 256u
#define WORKER_LIST_MAX (32u * 1024 * 1024) /* bytes of a connection list */

struct workers;
struct workers_opts {
	/* threads; 0: one for each CPU that this process may use */
	unsigned count;
	struct worker_opts worker;
	/* Of all workers: [worker * n_listeners + kind]. The table is borrowed
	 * for the call. The sockets are the workers' from then on; they are
	 * closed if starting fails. */
	const struct listener *listeners;
	size_t n_listeners; /* of each worker */
	struct audit *audit;
	const char *const *dns_servers; /* NULL-terminated; NULL: system */
};
/* Returns the number of CPUs that this process may use. */
unsigned workers_cpus(void);
/* Starts the workers with the table @first, of which each takes a reference.
 * @opts is copied; its pointers but listeners are borrowed until
 * workers_stop(), by which the caller ends *@ret. Returns 0, or a negative
 * errno with @err: -EINVAL beyond WORKERS_MAX. */
int workers_start(const struct workers_opts *opts, struct table *first,
		  struct workers **ret, struct err *err);
/* Gives each worker @t, of which it takes a reference, and makes it close what
 * is no longer allowed. Returns when all have done so. */
void workers_swap(struct workers *ws, struct table *t);
/* Stops and joins all workers and frees @ws. NULL is fine. */
void workers_stop(struct workers *ws);
/* Returns the number of workers. */
unsigned workers_count(const struct workers *ws);
/* Returns the sum of a counter over all workers. */
uint64_t workers_counter(const struct workers *ws, enum counter c);
/* Calls @fn in this thread with one JSON object, valid during the call, for
 * each open connection of @agent; NULL: of all. @max: bytes of what one worker
 * tells. Returns the number of connections left out, since there was no more
 * room or memory. */
uint64_t workers_connections(struct workers *ws, const char *agent, size_t max,
			     void (*fn)(void *arg, const char *json,
					size_t len),
			     void *arg);

#endif
