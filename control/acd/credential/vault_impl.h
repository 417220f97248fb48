/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_impl.h - shared by the vault*.c files, for these only
 */
#ifndef CONTROL_ACD_CREDENTIAL_VAULT_IMPL_H
#define CONTROL_ACD_CREDENTIAL_VAULT_IMPL_H

#include "control/acd/credential/vault.h"

/* Returns the path @machine of vault_new(), borrowed; may be NULL. */
const char *vault_machine(const struct vault *v);

/* Appends the hosts that a credential of this @kind has if none is named; those
 * of npm and PyPI are registries in the file @machine. Returns 0, -EINVAL if
 * the user must name them, or -ENOMEM. */
int vault_default_hosts(const char *machine, enum secret_kind kind,
			struct strv *ret, struct err *err);

/* Replaces the names of services in @hosts by their hosts and ports. Returns 0
 * or -ENOMEM. */
int vault_service_hosts(struct strv *hosts, struct err *err);
/* Checks the ports of @hosts: each is a service's, whose requests can be read,
 * in clear only if @insecure. Returns 0 or -EINVAL. */
int vault_check_services(const struct strv *hosts, bool insecure,
			 struct err *err);

#endif
