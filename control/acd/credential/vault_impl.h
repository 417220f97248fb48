/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_impl.h - inside of vault.c and vault_entry.c; nobody else includes it
 */
#ifndef CONTROL_ACD_CREDENTIAL_VAULT_IMPL_H
#define CONTROL_ACD_CREDENTIAL_VAULT_IMPL_H

#include "control/acd/credential/vault.h"

const char *vault_machine(const struct vault *v); /* borrowed path, or NULL */

/* The hosts of a kind when none were named. -EINVAL: they have to be. */
int vault_default_hosts(const char *machine, enum secret_kind kind,
			struct strv *ret, struct err *err);

#endif
