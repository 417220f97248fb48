/* SPDX-License-Identifier: Apache-2.0 */
/*
 * say.h - what the user reads on standard error
 *
 * Nothing is written when AC_NET_QUIET is set to anything but "" and "0", in
 * a program with more rights than who started it, when descriptor 2 is not
 * what it was at the program's start, when it would have to be waited for, or
 * when it is a terminal that the program draws on.
 */
#ifndef NET_PRELOAD_SAY_H
#define NET_PRELOAD_SAY_H

#include "net-preload/dest.h"
#include "net-preload/wire.h"

/* At the program's start: which file is descriptor 2, and may it be used? */
void say_start(void);

/* Would anything be written now? May change errno. */
bool say_may(void);

/* The text of an answer, once for each name (address, without one) in a
 * process, of a denial and of what could not be reached: of its other ports
 * nothing is told. May change errno. */
void say_answer(const struct dest *d, const struct wire_answer *a);

/* That IPv6 leads nowhere, once in a process. May change errno. */
void say_ipv6(void);

#endif
