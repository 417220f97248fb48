/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.h - one epoll loop per daemon: descriptors, timers, signals
 *
 * Callbacks run only from loop_run(), never from inside another loop call. A
 * callback may remove any source, its own included: a removed source gets no
 * further callback and is freed after the round.
 */
#ifndef LIB_LOOP_H
#define LIB_LOOP_H

#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "lib/attr.h"

struct loop;
struct loop_io;
struct loop_timer;

typedef void (*loop_io_fn)(void *arg, uint32_t events);
typedef void (*loop_timer_fn)(void *arg);
typedef void (*loop_signal_fn)(void *arg, int signo);

/* Returns an empty loop, or NULL with errno set. */
struct loop *loop_new(void);
/* Frees the loop and all its sources; their descriptors stay open. NULL is
 * fine. */
void loop_free(struct loop *l);

/*
 * Watches @fd, level-triggered; it stays the caller's and must remain open
 * until loop_del(). @events is EPOLLIN and the like; 0 pauses the source:
 * nothing is reported, not even EPOLLHUP. Returns a source that the loop owns,
 * or NULL with errno set.
 */
struct loop_io *loop_add(struct loop *l, int fd, uint32_t events, loop_io_fn fn,
			 void *arg);
/* Changes the events of @io. Returns 0 or -errno, -EBADF if it was removed. */
int loop_mod(struct loop_io *io, uint32_t events);
/* Stops watching; @io is invalid from now on. NULL is fine. To be called before
 * the descriptor is closed: the kernel watches an open file for as long as any
 * process has it. */
void loop_del(struct loop_io *io);

/* Returns a one-shot timer, not armed, which the loop owns; NULL when out of
 * memory. */
struct loop_timer *loop_timer_new(struct loop *l, loop_timer_fn fn, void *arg);
/* Arms @t to fire in @ms milliseconds, replacing an earlier time. */
void loop_timer_set(struct loop_timer *t, uint64_t ms);
/* Disarms @t, if it is armed. */
void loop_timer_clear(struct loop_timer *t);
/* Disarms and removes @t; NULL is fine. */
void loop_timer_free(struct loop_timer *t);

/* Blocks the signals of @set and reports them by @fn, through a signalfd.
 * Returns 0 or -errno, -EBUSY on a second call. */
int loop_signals(struct loop *l, const sigset_t *set, loop_signal_fn fn,
		 void *arg);

/* Runs until loop_stop(). Returns the code given there, -errno if waiting
 * failed, or -EBUSY inside a callback. */
int loop_run(struct loop *l);
/* Makes loop_run() return @code; further callbacks of the round are skipped. */
void loop_stop(struct loop *l, int code);

/* Return CLOCK_MONOTONIC in milliseconds and in nanoseconds. */
uint64_t clock_ms(void);
uint64_t clock_ns(void);

#endif
