/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache.h - what the gateway said, for as long as it said
 *
 * Two tables of 64-bit atomics and nothing else: no lock, so it is right in a
 * signal handler, in any number of threads, after fork(2), and in a child of
 * vfork(2), which shares them with its parent. An entry is read and written
 * whole. What two threads write at once, one of them loses: it is asked for
 * again.
 */
#ifndef NET_PRELOAD_CACHE_H
#define NET_PRELOAD_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#define CACHE_ENTRIES 128u /* 1 KiB; one in the same place goes */
#define CACHE_TOLD 48u /* different destinations a process tells of */
#define CACHE_KEEP_MAX 60u /* seconds */

enum cache_verdict { CACHE_NONE, CACHE_GO, CACHE_DENY };

/* A key that no other address, port and protocol has. Port 0 stands for all
 * ports of the address. */
uint64_t cache_key(uint32_t address, uint16_t port, bool udp);

/* CACHE_NONE: not there, or @now (seconds of a clock that only goes forward)
 * is past it. What somebody is asking for goes. */
enum cache_verdict cache_get(uint64_t key, uint32_t now);

/* For @keep seconds from now on, at most CACHE_KEEP_MAX; 0: not at all. */
void cache_put(uint64_t key, enum cache_verdict v, uint32_t now, unsigned keep);

/*
 * May the caller ask for the verdict? CACHE_NONE: yes, and until it puts or
 * drops one, two seconds at the most, nobody else may. Else the verdict to go
 * by: what has come meanwhile, or CACHE_GO while somebody asks, for this key
 * or for another in its place.
 */
enum cache_verdict cache_claim(uint64_t key, uint32_t now);

/* The caller asked and has no verdict to put: whoever comes next may ask. Does
 * nothing when one is there. */
void cache_drop(uint64_t key);

/* Is this the first time for @what (a hash)? False too once CACHE_TOLD others
 * have been told. */
bool cache_tell(uint64_t what);

/* FNV-1a, to be begun with CACHE_HASH. */
#define CACHE_HASH 0xcbf29ce484222325u
uint64_t cache_hash(uint64_t h, const void *data, unsigned len);

#endif
