/* SPDX-License-Identifier: Apache-2.0 */
/*
 * say.h - messages to the user on standard error
 *
 * Nothing is written
 * - if AC_NET_QUIET is set to anything but "" and "0",
 * - in a program with more rights than the user who started it,
 * - if descriptor 2 is not the same file as at the program's start,
 * - if writing would block, or
 * - on a terminal that the program draws on.
 */
#ifndef NET_PRELOAD_SAY_H
#define NET_PRELOAD_SAY_H

#include "net-preload/dest.h"
#include "net-preload/wire.h"

/* Records which file descriptor 2 is and whether it may be used. Called once at
 * the program's start. */
void say_start(void);

/* Returns true if a message would be written now. May change errno. */
bool say_may(void);

/* Writes the text of an answer, once per process for each name (or address, if
 * there is no name) and kind: a denial, or a failed connection. Other ports of
 * the same host are not reported. May change errno. */
void say_answer(const struct dest *d, const struct wire_answer *a);

/* Writes that IPv6 does not leave the sandbox, once per process. May change
 * errno. */
void say_ipv6(void);

#endif
