/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_entries.h - entries of a vault for tests
 */
#ifndef TESTS_UNIT_CONTROL_ACD_CREDENTIAL_VAULT_ENTRIES_H
#define TESTS_UNIT_CONTROL_ACD_CREDENTIAL_VAULT_ENTRIES_H

#include <stdlib.h>
#include <string.h>

#include "vault/store.h"

/* Returns an entry with one host and a value, for vstore_entry_free(). */
static inline struct vstore_entry *entry_new(const char *host,
					     const char *value)
{
	struct vstore_entry *e = vstore_entry_new();

	if (!e || strv_push(&e->hosts, host) < 0 ||
	    vstore_entry_set_value(e, value, strlen(value)) < 0)
		abort();
	return e;
}

#endif
