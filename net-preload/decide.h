/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decide.h - decides whether a hooked call is passed to the kernel
 */
#ifndef NET_PRELOAD_DECIDE_H
#define NET_PRELOAD_DECIDE_H

#include "net-preload/dest.h"

/*
 * Returns 0 if the real call is to be made, else the errno to fail with,
 * ECONNREFUSED; the user was told then. Keeps errno itself. Looks at TCP only:
 * connect(2) of UDP sends nothing. Never denies what the kernel would refuse
 * for its own reasons.
 *
 * May wait for the gateway, at most ASK_WAIT_MS (ask.h), and signals wait as
 * long. So a signal that a program sent itself to interrupt connect(2), such as
 * an alarm of some milliseconds, may run its handler before the real call
 * begins, which is then not interrupted.
 */
int decide_connect(int fd, const struct dest *d);

/* Like decide_connect() for a message with an address; EHOSTUNREACH for UDP.
 * TCP is looked at only with MSG_FASTOPEN, which connects (RFC 7413); without
 * it TCP ignores the address. */
int decide_send(int fd, const struct dest *d, int flags);

/* Returns DEST_TCP (MPTCP included), DEST_UDP, or 0 for any other descriptor.
 * May change errno. */
unsigned decide_protocol(int fd);

#endif
