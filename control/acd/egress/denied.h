/* SPDX-License-Identifier: Apache-2.0 */
/*
 * denied.h - what a user asks to have allowed and no policy can allow
 *
 * The gateway's own judgement is the one that counts (ac-policy(5)); this one
 * spares a rule that allows nothing, and says what helps instead. Pure.
 */
#ifndef CONTROL_ACD_EGRESS_DENIED_H
#define CONTROL_ACD_EGRESS_DENIED_H

#include "lib/err.h"

/* @host: an address or a range. Fails with -EINVAL if all of it is denied. */
int egress_denied_address(const char *host, struct err *err);
/* @host: NAME, .NAME or +NAME. Fails with -EINVAL if it is denied, or is a bare
 * word, which nothing but a service can be called. */
int egress_denied_name(const char *host, struct err *err);
/* Fails with -EINVAL if the address @host is in @own, one a line. */
int egress_denied_own(const char *host, const char *own, struct err *err);

#endif
