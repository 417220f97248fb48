/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decide.h - does this call go to the kernel?
 */
#ifndef NET_PRELOAD_DECIDE_H
#define NET_PRELOAD_DECIDE_H

#include "net-preload/dest.h"

/*
 * 0: make the real call. Else the errno to fail with, ECONNREFUSED; the user
 * has been told then. errno itself is kept. Of TCP alone: a connect(2) of UDP
 * sends nothing, so there is nothing to judge.
 *
 * May wait for the gateway, ASK_WAIT_MS at the most (ask.h). What the kernel
 * would refuse for a reason of its own is never denied here.
 *
 * Signals wait as long. One that a program sent itself to break connect(2) off
 * (an alarm of some milliseconds) may so have run its handler before the real
 * call begins, which then is not interrupted.
 */
int decide_connect(int fd, const struct dest *d);

/* The same for a message with an address: EHOSTUNREACH for UDP. With
 * MSG_FASTOPEN it connects (RFC 7413); TCP without it does not look at the
 * address. */
int decide_send(int fd, const struct dest *d, int flags);

/* DEST_TCP (MPTCP too), DEST_UDP, or 0 for what is neither. May change errno. */
unsigned decide_protocol(int fd);

#endif
