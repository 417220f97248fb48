/* SPDX-License-Identifier: Apache-2.0 */
/*
 * addresses.h - the addresses of the user's machine, as clients report them
 */
#ifndef CONTROL_ACD_EGRESS_ADDRESSES_H
#define CONTROL_ACD_EGRESS_ADDRESSES_H

#include <jansson.h>

#include "lib/err.h"

#define ADDRESSES_MAX 1024u

/* Makes a text of @list (strings of IPv4 and IPv6 addresses): one a line,
 * sorted, without repetition, so equal lists give equal texts. The caller frees
 * *ret. Returns 0; -EINVAL if @list is no list, has more than ADDRESSES_MAX
 * entries or one that is no address; or -ENOMEM. */
int addresses_text(const json_t *list, char **ret, struct err *err);

#endif
