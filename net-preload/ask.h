/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.h - asks the gateway whether a destination is allowed
 */
#ifndef NET_PRELOAD_ASK_H
#define NET_PRELOAD_ASK_H

#include "net-preload/cache.h"
#include "net-preload/dest.h"

#ifndef ASK_WAIT_MS /* a test allows more */
#define ASK_WAIT_MS 200u /* for an answer, in total */
#endif
/* after a timeout no question is sent for so long; see below */
#define ASK_PAUSE_S 5u

/* Returns false while questions are suspended: to all addresses because no
 * answer came, or to @d's because it refused one. @now: sys_clock_ms() in
 * seconds. */
bool ask_is_open(const struct dest *d, uint32_t now);

/*
 * Asks the gateway, caches the answer and tells the user of a denial; if the
 * process has connected there before (after.h), of a failed connection too.
 * Returns CACHE_DENY, or CACHE_GO for everything else:
 * - another thread is asking: the network decides on this call;
 * - no answer within ASK_WAIT_MS: no questions at all for ASK_PAUSE_S, so that
 *   no program hangs where there is no gateway;
 * - the address refuses the question or cannot be reached (a sandbox's own
 *   address without a listener): no questions about this address for
 *   ASK_PAUSE_S;
 * - an answer without a verdict: no questions about this port of it for
 *   ASK_PAUSE_S;
 * - no descriptor or memory available: the next call tries again.
 *
 * May change errno. Uses one descriptor above 2 and blocks all signals of this
 * thread meanwhile: a handler that left by longjmp(3) would leave the
 * descriptor open.
 */
enum cache_verdict ask(const struct dest *d, unsigned protocol);

/* Asks how a connection to @d (TCP) went, and tells the user if it failed.
 * Returns true if the gateway answered; false if no usable answer came before
 * @end (sys_clock_ms()), the question could not be sent, or questions are
 * suspended. Errno, descriptor and signals as for ask(). */
bool ask_after(const struct dest *d, uint64_t end);

#endif
