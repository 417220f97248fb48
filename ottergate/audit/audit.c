/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit.c - rings of the workers, and the control thread that writes them
 *
 * Theory of operation
 *
 * A ring has one producer and one consumer. The producer publishes a record by
 * storing `head` with release, the consumer returns the place by storing `tail`
 * likewise; neither ever waits.
 *
 * Waking the consumer costs a system call, so it is done once for many records:
 * a producer that finds `kicked` unset sets it and writes to the eventfd; the
 * control thread then waits BATCH_MS, unsets `kicked` and only then looks. A
 * record put before that is seen; one put after it kicks again. Both sides
 * exchange the flag (a read-modify-write), so that neither can miss what the
 * other did before. A ring that becomes half full always kicks and is emptied
 * at once.
 *
 * Lines are collected in one buffer and written with one write(). If that
 * fails, the buffer is kept and tried again every second: only what no longer
 * fits into the rings is lost, and with `on_full: deny` not even that, because
 * nothing new is allowed meanwhile (K11).
 */
#include "ottergate/audit/audit.h"

#include <assert.h>
#include <sodium.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "lib/log.h"
#include "ottergate/audit/audit_impl.h"

#define BATCH_MS 20u
#define RETRY_MS 1000u
#define BATCH_BYTES (256u * 1024)
#define RING_MASK (AUDIT_RING - 1)
#define LINE 64 /* bytes of a cache line */
#define KICK_BATCH 1u
#define KICK_NOW (UINT64_C(1) << 32)

static_assert((AUDIT_RING & RING_MASK) == 0, "a power of two");
static_assert(sizeof(struct audit_record) < 1024, "copied for each decision");

/* Read by workers, written by the control thread only. */
struct shared {
	atomic_uint events; /* mask; 0: no file and no follower */
	atomic_bool on_full_deny;
	/* the file cannot be written, and on_full is deny */
	atomic_bool refuse;
	int kick; /* eventfd */
};

struct audit_ring {
	_Alignas(LINE) _Atomic uint64_t head; /* the producer's */
	atomic_bool kicked;
	_Atomic uint64_t dropped;
	_Alignas(LINE) _Atomic uint64_t tail; /* the consumer's */
	const struct shared *shared;
	struct audit_ring *next; /* list of all rings, for the consumer */
	struct audit_record *v; /* AUDIT_RING records */
};

struct audit_follow {
	struct audit *audit;
	struct audit_follow *next, **link;
	audit_line_fn fn;
	void *arg;
	bool dead; /* removed while lines are distributed */
};

struct audit {
	struct shared shared;
	struct audit_ring *rings;
	struct loop_io *io;
	struct loop_timer *timer; /* for the next batch, or the retry */
	struct audit_follow *follows;
	bool handing; /* lines are being distributed */
	struct audit_chain chain;
	struct audit_clock clock;
	struct audit_file file; /* path NULL: no file */
	uint64_t max_bytes;
	uint32_t files, events;
	struct audit_stats stats;
	bool armed, full;
	size_t done, len; /* of the batch: bytes written and collected */
	char *batch;
};

/* --- workers' side ------------------------------------------------------- */

bool audit_wants(const struct audit_ring *r, enum audit_event e)
{
	return atomic_load_explicit(&r->shared->events, memory_order_relaxed) >>
		       e &
	       1;
}

static void ring_kick(struct audit_ring *r, uint64_t how)
{
	/* Cannot fail: it would block only if the counter were near 2^64. */
	ssize_t n = write(r->shared->kick, &how, sizeof(how));

	(void)n;
}

/* Counts a lost record. Returns false if that must stop the connection. */
static bool ring_drop(struct audit_ring *r)
{
	atomic_fetch_add_explicit(&r->dropped, 1, memory_order_relaxed);
	return !atomic_load_explicit(&r->shared->on_full_deny,
				     memory_order_relaxed);
}

bool audit_put(struct audit_ring *r, const struct audit_record *rec)
{
	uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	bool refuse =
		atomic_load_explicit(&r->shared->refuse, memory_order_relaxed);
	uint64_t used;

	if (!audit_wants(r, rec->event))
		return !refuse;
	if (refuse && rec->event == AUDIT_ALLOW)
		return ring_drop(r);
	used = head - atomic_load_explicit(&r->tail, memory_order_acquire);
	if (used == AUDIT_RING)
		return ring_drop(r);
	/* The name is the last member, and mostly short. */
	memcpy(&r->v[head & RING_MASK], rec,
	       offsetof(struct audit_record, name) +
		       (rec->name_len < sizeof(rec->name) ? rec->name_len :
							    sizeof(rec->name)));
	atomic_store_explicit(&r->head, head + 1, memory_order_release);
	if (!atomic_exchange_explicit(&r->kicked, true, memory_order_acq_rel))
		ring_kick(r, KICK_BATCH);
	else if (used == AUDIT_RING / 2)
		ring_kick(r, KICK_NOW);
	return !refuse;
}

/* --- the control thread's ------------------------------------------------ */

static void shared_update(struct audit *a)
{
	bool read = a->file.path || a->follows;

	atomic_store(&a->shared.events, read ? a->events : 0);
	atomic_store(&a->shared.refuse,
		     a->full && atomic_load(&a->shared.on_full_deny));
}

static void follows_reap(struct audit *a)
{
	struct audit_follow *f = a->follows, *next;

	for (; f; f = next) {
		next = f->next;
		if (f->dead)
			audit_unfollow(f);
	}
}

/* Passes the lines of the batch to the followers; one may leave meanwhile. */
static void follows_call(struct audit *a)
{
	const char *line = a->batch, *end = a->batch + a->len;

	if (!a->follows)
		return;
	a->handing = true;
	while (line < end) {
		size_t left = (size_t)(end - line);
		const char *nl = memchr(line, '\n', left);

		for (struct audit_follow *f = a->follows; f; f = f->next)
			if (!f->dead)
				f->fn(f->arg, line, (size_t)(nl - line));
		line = nl + 1;
	}
	a->handing = false;
	follows_reap(a);
}

static int batch_write(struct audit *a)
{
	bool large = a->file.size + a->len > a->max_bytes;

	/* A new file would begin without a reserve: while this one has some
	 * left, it may exceed its maximum. */
	if (large && a->file.size + a->len < a->file.reserved &&
	    !audit_file_has_room(&a->file))
		large = false;
	if (a->file.fd < 0 ||
	    (a->done == 0 && a->max_bytes && large && a->file.size > 0)) {
		int rc = audit_file_rotate(&a->file, a->files);

		if (rc < 0)
			return rc;
	}
	audit_file_reserve(&a->file);
	while (a->done < a->len) {
		ssize_t n =
			write(a->file.fd, a->batch + a->done, a->len - a->done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		a->done += (size_t)n;
		a->file.size += (size_t)n;
	}
	return 0;
}

/* Writes the batch. Returns false if that failed; it is kept for a retry. */
static bool batch_flush(struct audit *a)
{
	int rc = a->len > 0 && a->file.path ? batch_write(a) : 0;

	if (rc < 0)
		a->stats.errors++;
	if (a->full != (rc < 0)) {
		a->full = rc < 0;
		shared_update(a);
		if (rc < 0)
			log_error("the audit cannot be written: %s",
				  err_text(rc));
		else
			log_info("the audit is written again");
	}
	if (rc < 0)
		return false;
	a->stats.bytes += a->len;
	follows_call(a);
	a->len = a->done = 0;
	return true;
}

/* Makes room for one more line, by writing the batch if necessary. */
static bool batch_room(struct audit *a)
{
	if (BATCH_BYTES - a->len >= AUDIT_LINE_MAX)
		return true;
	return batch_flush(a);
}

static void batch_seal(struct audit *a, size_t len)
{
	a->len += audit_chain_seal(&a->chain, a->batch + a->len, len);
	a->stats.lines++;
}

/* Takes out all records. Returns false if the file cannot be written. */
static bool ring_drain(struct audit *a, struct audit_ring *r)
{
	uint64_t head, tail;

	atomic_exchange_explicit(&r->kicked, false, memory_order_acq_rel);
	head = atomic_load_explicit(&r->head, memory_order_acquire);
	tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	for (; tail != head; tail++) {
		if (!batch_room(a))
			return false;
		batch_seal(a, audit_line_record(a->batch + a->len, &a->clock,
						&r->v[tail & RING_MASK]));
		atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
	}
	return true;
}

static void audit_drain(struct audit *a)
{
	bool fine = !a->full || batch_flush(a);

	a->armed = false;
	for (struct audit_ring *r = a->rings; r && fine; r = r->next)
		fine = ring_drain(a, r);
	if (fine && batch_flush(a))
		return;
	loop_timer_set(a->timer, RETRY_MS);
	a->armed = true;
}

static void audit_on_timer(void *arg)
{
	audit_drain(arg);
}

void audit_pump(struct audit *a)
{
	if (a->full)
		return; /* the retry timer is armed */
	loop_timer_clear(a->timer);
	audit_drain(a);
}

static void audit_on_kick(void *arg, uint32_t events)
{
	struct audit *a = arg;
	uint64_t how = 0;

	(void)events;
	if (read(a->shared.kick, &how, sizeof(how)) < 0)
		return;
	if (how >= KICK_NOW) {
		audit_pump(a);
	} else if (!a->armed && !a->full) {
		loop_timer_set(a->timer, BATCH_MS);
		a->armed = true;
	}
}

static uint64_t clock_real_ms(void)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void audit_note(struct audit *a, enum audit_event e, const char *agent,
		const char *detail)
{
	if (!(atomic_load(&a->shared.events) >> e & 1))
		return;
	audit_pump(a); /* lines are in the order of what happened */
	if (a->full || !batch_room(a)) {
		a->stats.dropped++;
		return;
	}
	batch_seal(a, audit_line_note(a->batch + a->len, &a->clock,
				      clock_real_ms(), e, agent, detail));
	if (!a->armed)
		loop_timer_set(a->timer, BATCH_MS);
	a->armed = true;
}

void audit_configure(struct audit *a, const struct audit_opts *opts)
{
	a->max_bytes = opts->max_bytes;
	a->files = opts->files;
	a->events = opts->events;
	atomic_store(&a->shared.on_full_deny, opts->on_full_deny);
	shared_update(a);
}

static int audit_open(struct audit *a, const struct audit_opts *opts,
		      struct err *err)
{
	int rc = opts->path ? audit_file_open(&a->file, opts->path, opts->files,
					      &a->chain, err) :
			      0;

	if (rc < 0)
		return rc;
	a->file.reserve = opts->reserve;
	audit_file_reserve(&a->file);
	audit_configure(a, opts);
	if (a->file.broken)
		audit_note(a, AUDIT_POLICY, "",
			   "\"audit\":\"the log before this one does not end "
			   "as it should; a new chain begins here\"");
	return 0;
}

struct audit *audit_new(struct loop *loop, const struct audit_opts *opts,
			struct err *err)
{
	struct audit *a = calloc(1, sizeof(*a));

	if (!a || sodium_init() < 0) {
		free(a);
		err_nomem(err);
		return NULL;
	}
	a->batch = malloc(BATCH_BYTES);
	a->shared.kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (a->shared.kick >= 0)
		a->io = loop_add(loop, a->shared.kick, EPOLLIN, audit_on_kick,
				 a);
	a->timer = loop_timer_new(loop, audit_on_timer, a);
	if (!a->batch || !a->io || !a->timer) {
		err_sys(err, "audit");
		audit_free(a);
		return NULL;
	}
	if (audit_open(a, opts, err) < 0) {
		audit_free(a);
		return NULL;
	}
	return a;
}

void audit_free(struct audit *a)
{
	if (!a)
		return;
	if (a->batch && a->timer)
		audit_drain(a);
	while (a->follows)
		audit_unfollow(a->follows);
	while (a->rings) {
		struct audit_ring *r = a->rings;

		a->rings = r->next;
		free(r->v);
		free(r);
	}
	loop_del(a->io);
	loop_timer_free(a->timer);
	fd_closep(&a->shared.kick);
	audit_file_close(&a->file);
	free(a->batch);
	free(a);
}

struct audit_ring *audit_ring_new(struct audit *a)
{
	struct audit_ring *r = aligned_alloc(LINE, sizeof(*r));

	if (!r)
		return NULL;
	memset(r, 0, sizeof(*r));
	r->shared = &a->shared;
	r->v = calloc(AUDIT_RING, sizeof(*r->v));
	if (!r->v) {
		free(r);
		return NULL;
	}
	r->next = a->rings;
	a->rings = r;
	return r;
}

struct audit_follow *audit_follow(struct audit *a, audit_line_fn fn, void *arg)
{
	struct audit_follow *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	*f = (struct audit_follow){ .audit = a, .fn = fn, .arg = arg };
	f->next = a->follows;
	f->link = &a->follows;
	if (f->next)
		f->next->link = &f->next;
	a->follows = f;
	shared_update(a);
	return f;
}

void audit_unfollow(struct audit_follow *f)
{
	struct audit *a = f->audit;

	f->dead = true;
	if (a->handing)
		return;
	*f->link = f->next;
	if (f->next)
		f->next->link = f->link;
	free(f);
	shared_update(a);
}

struct audit_stats audit_stats(const struct audit *a)
{
	struct audit_stats s = a->stats;

	s.full = a->full;
	for (const struct audit_ring *r = a->rings; r; r = r->next)
		s.dropped +=
			atomic_load_explicit(&r->dropped, memory_order_relaxed);
	return s;
}
