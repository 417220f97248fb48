/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.h - one epoll loop per daemon: descriptors, timers, signals
 *
 * Callbacks run from loop_run() only, never from inside another loop call.
 * A callback may remove any source, its own included: removed sources are
 * freed after the round, and get no further callback.
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

struct loop *loop_new(void);
void loop_free(struct loop *l); /* NULL is fine; frees all sources */

/* Watches @fd (borrowed, must stay open until loop_del()). EPOLLIN and
 * friends, level-triggered. NULL with errno on failure. With no events the
 * source is paused: nothing is reported, not even EPOLLHUP. */
struct loop_io *loop_add(struct loop *l, int fd, uint32_t events, loop_io_fn fn,
			 void *arg);
int loop_mod(struct loop_io *io, uint32_t events);
void loop_del(struct loop_io *io); /* NULL is fine */
/* The same, where *@fd, its descriptor, is closed and set to -1 as well. It
 * saves a system call, and wants a file that no other descriptor, in any
 * process, leads to: else the kernel would go on watching it. */
void loop_del_close(struct loop_io *io, int *fd);

/* A one-shot timer, not armed yet. */
struct loop_timer *loop_timer_new(struct loop *l, loop_timer_fn fn, void *arg);
void loop_timer_set(struct loop_timer *t, uint64_t ms); /* from now */
void loop_timer_clear(struct loop_timer *t);
void loop_timer_free(struct loop_timer *t); /* NULL is fine */

/* Blocks the signals of @set and delivers them by signalfd. */
int loop_signals(struct loop *l, const sigset_t *set, loop_signal_fn fn,
		 void *arg);

/* Runs until loop_stop(). Returns the value given there, or -errno. */
int loop_run(struct loop *l);
void loop_stop(struct loop *l, int code);

/* CLOCK_MONOTONIC in milliseconds / nanoseconds. */
uint64_t clock_ms(void);
uint64_t clock_ns(void);

#endif
