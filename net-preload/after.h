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

/* This process may connect to @d (TCP): the gateway does not deny it. */
void after_note(const struct dest *d);
/* Was that noted in this process? */
bool after_knows(const struct dest *d);

/*
 * The process ends: asks about what was noted, ASK_WAIT_MS in all (ask.h), and
 * tells the user of what could not be reached. Asks nothing where nothing was
 * noted or could be told, in a child by fork(2) or vfork(2) of who noted it,
 * and after after_never(). May change errno.
 */
void after_tell(void);
/* The process begins to confine itself: after_tell() does nothing from now on,
 * since a seccomp filter might end the process for any call. */
void after_never(void);

#endif
