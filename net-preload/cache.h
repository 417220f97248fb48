/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache.h - caches the gateway's verdicts for as long as they are valid
 *
 * Two tables of 64-bit atomics without a lock, so it works in a signal handler,
 * in any number of threads, after fork(2), and in a child of vfork(2), which
 * shares the tables with its parent. An entry is read and written whole. If two
 * threads write one place at once, one verdict is lost and asked for again.
 */
#ifndef NET_PRELOAD_CACHE_H
#define NET_PRELOAD_CACHE_H

#include <stdbool.h>
#include <stdint.h>

/* 1 KiB; a new entry replaces what is in its place */
#define CACHE_ENTRIES 128u
#define CACHE_TOLD 48u /* distinct messages that a process shows */
#define CACHE_KEEP_MAX 60u /* seconds */

enum cache_verdict { CACHE_NONE, CACHE_GO, CACHE_DENY };

/* Returns a key that is unique for address, port and protocol. Port 0 stands
 * for all ports of the address. */
uint64_t cache_key(uint32_t address, uint16_t port, bool udp);

/* Returns the verdict for @key; CACHE_NONE if there is none or it has expired;
 * CACHE_GO while a thread is asking for it. @now: seconds of a clock that never
 * goes back. */
enum cache_verdict cache_get(uint64_t key, uint32_t now);

/* Stores a verdict for @keep seconds, at most CACHE_KEEP_MAX. Does nothing if
 * @keep is 0. */
void cache_put(uint64_t key, enum cache_verdict v, uint32_t now, unsigned keep);

/*
 * Reserves the question for the caller. Returns CACHE_NONE if the caller is to
 * ask; until it calls cache_put() or cache_drop(), but for at most two seconds,
 * other callers are told not to. Otherwise returns the verdict to use: one that
 * has arrived meanwhile, or CACHE_GO while another thread asks for this key or
 * one in the same place.
 */
enum cache_verdict cache_claim(uint64_t key, uint32_t now);

/* Gives up a reservation without a verdict, so that the next caller may ask.
 * Does nothing if a verdict is there. */
void cache_drop(uint64_t key);

/* Returns true if this is the first call with @what (a hash). Also false once
 * CACHE_TOLD other values were passed. */
bool cache_tell(uint64_t what);

/* Returns the FNV-1a hash of @data appended to @h; begin with CACHE_HASH. */
#define CACHE_HASH 0xcbf29ce484222325u
uint64_t cache_hash(uint64_t h, const void *data, unsigned len);

#endif
