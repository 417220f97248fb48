/* SPDX-License-Identifier: Apache-2.0 */
/*
 * denied.h - requests that no policy can allow
 *
 * The gateway decides (ac-policy(5)). Checking here avoids a rule without
 * effect, and tells the user what helps instead. No function has side effects;
 * each returns 0, or -EINVAL with the advice in @err.
 */
#ifndef CONTROL_ACD_EGRESS_DENIED_H
#define CONTROL_ACD_EGRESS_DENIED_H

#include "lib/err.h"

/* Fails if all of @host, an address or a range, is denied to every sandbox. */
int egress_denied_address(const char *host, struct err *err);
/* Fails if @host (NAME, .NAME or +NAME) is denied to every sandbox, or is a
 * name without a dot: only services have such names. */
int egress_denied_name(const char *host, struct err *err);
/* Fails if the address @host is one of @own, the machine's own, one a line. */
int egress_denied_own(const char *host, const char *own, struct err *err);

#endif
