/* SPDX-License-Identifier: Apache-2.0 */
/*
 * after.h - what came of the connections that were allowed
 *
 * To a program that speaks TLS through the gateway an alert is all that can be
 * said of a host that cannot be reached, which shows as "Internal error". The
 * gateway knows more, but not before the program has connected: so it is asked
 * once more, before the program connects there again, and when it ends.
 */
#ifndef NET_PRELOAD_AFTER_H
#define NET_PRELOAD_AFTER_H

#include "net-preload/dest.h"

#define AFTER_PLACES 8u /* the last ones of a process */

/* Notes that the gateway allows this process to connect to @d (TCP). */
void after_note(const struct dest *d);
/* Returns true if that was noted in this process. */
bool after_knows(const struct dest *d);

/*
 * Called when the process ends. Asks about each host that was noted, and tells
 * the user which could not be reached. Takes ASK_WAIT_MS at most (ask.h). Asks
 * nothing if nothing was noted, if the user could not be told, in a child by
 * fork(2) or vfork(2) of the process that noted it, and after after_never().
 * May change errno.
 */
void after_tell(void);
/* Called when the process begins to confine itself. From now on after_tell()
 * does nothing: a seccomp filter could end the process for any call. */
void after_never(void);

#endif
