/* SPDX-License-Identifier: Apache-2.0 */
/*
 * after.h - reports allowed connections that then failed
 *
 * If an allowed host cannot be reached, all that the gateway can send to a TLS
 * client is an alert, which shows as "Internal error". The gateway knows the
 * reason only after the program has connected. So it is asked again before the
 * program connects there once more, and when the program ends.
 */
#ifndef NET_PRELOAD_AFTER_H
#define NET_PRELOAD_AFTER_H

#include "net-preload/dest.h"

#define AFTER_PLACES 8u /* most recent destinations of a process */

/* Notes that the gateway allowed this process to connect to @d (TCP). Only the
 * last AFTER_PLACES are kept. */
void after_note(const struct dest *d);
/* Returns true if @d was noted in this process and is still kept. */
bool after_knows(const struct dest *d);

/*
 * Called when the process ends. Asks the gateway about each noted host, until
 * one question gets no answer, and tells the user which could not be reached.
 * Takes at most ASK_WAIT_MS (ask.h) in total.
 *
 * Does nothing if no host was noted, if the user could not be told, in a child
 * by fork(2) or vfork(2) of the process that noted them, or after
 * after_never(). May change errno.
 */
void after_tell(void);
/* Called when the process begins to confine itself; makes after_tell() do
 * nothing from now on, as a seccomp filter could kill the process for any
 * system call. */
void after_never(void);

#endif
