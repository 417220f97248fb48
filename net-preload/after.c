/* SPDX-License-Identifier: Apache-2.0 */
/*
 * after.c - reports allowed connections that then failed
 *
 * A ring of atomics, like the cache: no lock, no allocation. If two threads
 * write at once, one destination may be lost; then one line less is shown.
 */
#include "net-preload/after.h"

#include <stdatomic.h>

#include "net-preload/ask.h"
#include "net-preload/say.h"
#include "net-preload/sys.h"

#define SET (UINT64_C(1) << 48) /* 0 marks a free place */

static _Atomic uint32_t owner; /* the process that noted the places; 0: none */
static _Atomic bool never; /* the process confines itself */
static _Atomic unsigned next;
static _Atomic uint64_t places[AFTER_PLACES]; /* address and port */

static uint64_t place_of(const struct dest *d)
{
	return SET | (uint64_t)d->address << 16 | d->port;
}

static uint32_t own_pid(void)
{
	return (uint32_t)syscall(SYS_getpid);
}

static bool is_noted(uint64_t place)
{
	for (unsigned i = 0; i < AFTER_PLACES; i++) {
		if (atomic_load_explicit(&places[i], memory_order_relaxed) ==
		    place)
			return true;
	}
	return false;
}

/* Empties the table for this process: a child by fork(2) has a copy of its
 * parent's. A child by vfork(2) empties the parent's own table; the parent then
 * reports nothing. */
static void own(uint32_t pid)
{
	for (unsigned i = 0; i < AFTER_PLACES; i++)
		atomic_store_explicit(&places[i], 0, memory_order_relaxed);
	atomic_store(&owner, pid);
}

void after_note(const struct dest *d)
{
	uint64_t place = place_of(d);
	uint32_t pid = own_pid();

	if (atomic_load(&owner) != pid)
		own(pid);
	if (!is_noted(place))
		atomic_store_explicit(
			&places[atomic_fetch_add(&next, 1) % AFTER_PLACES],
			place, memory_order_relaxed);
}

bool after_knows(const struct dest *d)
{
	return atomic_load(&owner) != 0 && is_noted(place_of(d)) &&
	       atomic_load(&owner) == own_pid();
}

void after_never(void)
{
	atomic_store(&never, true);
}

void after_tell(void)
{
	uint32_t pid = atomic_load(&owner);
	uint64_t end;

	/* This comes first: a confined process must make no call. */
	if (pid == 0 || atomic_load(&never) || !say_may() || pid != own_pid())
		return;
	end = sys_clock_ms() + ASK_WAIT_MS;
	for (unsigned i = 0; i < AFTER_PLACES; i++) {
		uint64_t place = atomic_load(&places[i]);
		const struct dest d = { .address = (uint32_t)(place >> 16),
					.port = (uint16_t)place,
					.family = AF_INET };

		if (place != 0 && !ask_after(&d, end))
			return;
	}
}
