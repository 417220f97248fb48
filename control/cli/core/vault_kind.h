/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_kind.h - the kinds that a credential may have (vault/surrogate.c)
 */
#ifndef CONTROL_CLI_CORE_VAULT_KIND_H
#define CONTROL_CLI_CORE_VAULT_KIND_H

#include <stdbool.h>

#define VAULT_KINDS 12u

extern const char *const vault_kinds[VAULT_KINDS];

/* Returns all as "a, b or c" in a string that the caller frees, or NULL without
 * memory. */
char *vault_kinds_text(void);

/* Returns true if @kind is one of them. */
bool vault_kind_known(const char *kind);

#endif
