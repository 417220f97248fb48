/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.h - what vaultd may ask of the kernel: an allow list
 */
#ifndef VAULT_FILTER_H
#define VAULT_FILTER_H

#include "lib/attr.h"

/* For good, with no_new_privs. Whatever is not listed fails with EPERM.
 * 0 or -errno. */
int filter_load(void) ATTR_WUR;

#endif
