/* SPDX-License-Identifier: Apache-2.0 */
/*
 * addresses.h - the addresses of the user's machine, as a client tells them
 */
#ifndef CONTROL_ACD_EGRESS_ADDRESSES_H
#define CONTROL_ACD_EGRESS_ADDRESSES_H

#include <jansson.h>

#include "lib/err.h"

#define ADDRESSES_MAX 1024u

/* Makes a text of @list (strings of IPv4 and IPv6 addresses), one a line, in
 * order and each once, so that the same list is the same text. The caller frees
 * *ret. Fails with -EINVAL. */
int addresses_text(const json_t *list, char **ret, struct err *err);

#endif
