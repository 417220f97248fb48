/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.h - the gateway's word on a destination
 */
#ifndef NET_PRELOAD_ASK_H
#define NET_PRELOAD_ASK_H

#include "net-preload/cache.h"
#include "net-preload/dest.h"

#ifndef ASK_WAIT_MS /* a test has longer */
#define ASK_WAIT_MS 200u /* for an answer, in all */
#endif
#define ASK_PAUSE_S 5u /* nobody is asked after none came; see below */

/* False while nobody answers, at all or at this address. @now: seconds of
 * sys_clock_ms(). */
bool ask_is_open(const struct dest *d, uint32_t now);

/*
 * Asks, notes the answer in the cache and tells the user of a denial; where the
 * process has connected there before (after.h), of a failure too.
 * CACHE_DENY, or CACHE_GO for everything else:
 * - another thread is asking: the network decides on this call;
 * - no answer within ASK_WAIT_MS: for ASK_PAUSE_S nobody is asked anything, so
 *   that no program hangs where there is no gateway;
 * - the address refuses the question, or there is no way to it (a sandbox's
 *   own address, on which nothing listens): nor is that address, for as long;
 * - an answer that says nothing: nor is that port of it;
 * - no descriptor or memory to be had: the next call tries again.
 *
 * May change errno. Uses one descriptor above 2 for as long as it takes, and
 * holds all signals back from this thread: a handler that left by longjmp(3)
 * would leave the descriptor open.
 */
enum cache_verdict ask(const struct dest *d, unsigned protocol);

/* How did it go to connect to @d (TCP)? Tells the user of a failure. False: no
 * answer before @end (sys_clock_ms()), or nobody to ask. The rest as above. */
bool ask_after(const struct dest *d, uint64_t end);

#endif
