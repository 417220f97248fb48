/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.h - the system calls that vaultd may make: an allow list
 */
#ifndef VAULT_FILTER_H
#define VAULT_FILTER_H

#include "lib/attr.h"

/* Sets no_new_privs and the filter for this process, irrevocably: every system
 * call that is not listed fails with EPERM. Returns 0, or -errno without the
 * filter. */
int filter_load(void) ATTR_WUR;

#endif
